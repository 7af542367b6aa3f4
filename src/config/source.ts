/** The origins of values, and the raw values before their meaning is known. */

export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'env'; readonly name: string }
  /** As it was typed, and the key that it stands for. */
  | { readonly kind: 'flag'; readonly name: string; readonly key?: string }
  /** An argument of the command line by itself. */
  | { readonly kind: 'argument'; readonly name: string; readonly key?: string }

export const byDefault: Source = { kind: 'default' }

export function describeSource(source: Source): string {
  switch (source.kind) {
    case 'default':
      return 'default'
    case 'file':
      return `${source.file}:${source.line}:${source.column}`
    default:
      return source.name
  }
}

export interface RawScalar {
  readonly kind: 'scalar'
  readonly value: string | number | boolean | null
  /** Text from the environment or a flag: it may stand for a number or a boolean. */
  readonly isText: boolean
  readonly source: Source
}

export interface RawList {
  readonly kind: 'list'
  readonly items: readonly Raw[]
  readonly source: Source
}

export interface RawMap {
  readonly kind: 'map'
  readonly entries: ReadonlyMap<string, RawEntry>
  readonly source: Source
}

export interface RawEntry {
  readonly keySource: Source
  readonly value: Raw
}

export type Raw = RawScalar | RawList | RawMap

/** Text that stands for a value of any type. */
export const rawText = (value: string, source: Source): RawScalar => ({
  ...{ kind: 'scalar', value, isText: true, source },
})

/** A map that is not written anywhere. */
export const emptyMap: RawMap = { kind: 'map', entries: new Map(), source: byDefault }

export const isNothing = (raw: Raw | undefined): boolean =>
  raw === undefined || (raw.kind === 'scalar' && raw.value === null)

/** A mistake, described so that it can be corrected. */
export interface Problem {
  /** The key at fault, such as `limits.maxStale`; empty for the file as a whole. */
  readonly path: string
  readonly source: Source
  readonly message: string
  /** The likely intention. */
  readonly suggestion?: string
}
