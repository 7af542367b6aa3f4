/**
 * The vocabulary in which the configuration is defined. A definition is data: the loader, the environment and flag
 * names, the printed configuration, the JSON Schema, the reference page and the reload plan are all read from it.
 *
 * Not a schema library, because a key here carries attributes that no library has: whether it is a secret, whether a
 * change needs a restart, the human notation of a number, and the origin of its value.
 */
import { choice } from './scalars.ts'
import type { Secret } from './secret.ts'

export type JsonSchema = { readonly [keyword: string]: unknown }

/** The values of a YAML scalar, an environment variable or a flag. */
export type Plain = string | number | boolean

/** Why a value was refused, where "expected …, got …" is not enough. */
export interface RefusedValue {
  readonly refused: string
}

/** `S` is the suffix of the property's name: a key `maxStale: 15m` is read as `maxStaleMs`. */
interface Typed<T, S extends string> {
  readonly suffix: S
  /** Carries the type of the value; never set. */
  readonly phantom?: T
}

export interface Scalar<T = unknown, S extends string = string> extends Typed<T, S> {
  readonly kind: 'scalar'
  /** One word for tables. */
  readonly label: string
  /** Completes "expected …". */
  readonly expected: string
  readonly json: JsonSchema
  /** Undefined where the value has another type than expected. */
  parse(value: Plain): T | RefusedValue | undefined
  /** The human notation; parsing it gives the value again. */
  show(value: T): Plain
  /** Environment and flags hold text; this is how it becomes a number or a boolean. */
  fromText?(text: string): Plain
  /** The closed list of values, for suggestions. */
  readonly choices?: readonly string[]
  /** The likely intention of a refused value. */
  guess?(value: Plain): string | undefined
  /** The section whose names are the possible values. */
  readonly refersTo?: string
  /** Why the value holds credentials, if it does: it may then come from the environment only. */
  credentials?(value: Plain): string | undefined
}

export type Report = (key: string, sentence: string) => void

export interface Check {
  /** Runs only if nothing is wrong with these keys (default: with any key of the section). */
  readonly needs?: readonly string[]
  run(value: never, report: Report): void
}

export interface Section<T = unknown> extends Typed<T, ''> {
  readonly kind: 'section'
  readonly keys: Keys
  readonly checks: readonly Check[]
  /** Keys that people try and that will not be: each with the reason. */
  readonly refused: Readonly<Record<string, string>>
  /** The key that a single value stands for: `assume: prometheus` is `assume: { server: prometheus }`. */
  readonly shorthand?: string
}

/** A map from names that the operator chooses. */
export interface Named<T = unknown> extends Typed<T, ''> {
  readonly kind: 'named'
  readonly entry: Section | Variants | List
  /** Entries that exist without being written. */
  readonly builtIn: readonly string[]
  readonly expected: string
  readonly min: number
}

export interface List<T = unknown> extends Typed<T, ''> {
  readonly kind: 'list'
  readonly item: Type
  readonly min: number
}

/** One of several sections, distinguished by their key `type`. */
export interface Variants<T = unknown> extends Typed<T, ''> {
  readonly kind: 'variants'
  readonly tag: Key
  readonly cases: Readonly<Record<string, Section>>
  /** The case that is meant when no type is written. */
  readonly usual: string
  readonly shorthand?: Shorthand
  readonly implied?: ImpliedType
}

/** A key that implies the type where none is written. */
export interface ImpliedType {
  readonly key: string
  readonly type: string
}

/** A key of every case whose text sets `type` and other keys at once. */
export interface Shorthand {
  readonly key: string
  /** The values by key, `type` among them, or why the text cannot be read. */
  expand(text: string): ReadonlyMap<string, string> | (RefusedValue & { readonly suggestion?: string })
}

export type Type = Scalar | Section | Named | List | Variants

/**
 * How a reload applies a change of a key. `live`: the next request sees it; `reopen`: the backend is opened anew, and requests under
 * way finish on the old one; `restart`: not at all, the process must be started again.
 */
export type Apply = 'live' | 'reopen' | 'restart'

export interface Key<T = unknown, S extends string = string> {
  readonly type: Type
  readonly meaning: string
  readonly isRequired: boolean
  readonly isSecret: boolean
  readonly fallback?: T
  /** The key whose value is taken when this one is not set. */
  readonly inherits?: string
  readonly apply: Apply
  /** The name of the property, where it is not the key's name and suffix. */
  readonly property?: string
  readonly phantom?: { readonly value: T; readonly suffix: S }
}

export type Keys = Readonly<Record<string, Key>>

type ValueOf<K> = K extends Key<infer T, string> ? T : never
type PropertyOf<N extends string, K> = K extends Key<unknown, infer S> ? `${N}${S}` : never
export type SectionValue<K extends Keys> = {
  readonly [N in keyof K & string as PropertyOf<N, K[N]>]: ValueOf<K[N]>
}
export type TypeValue<D> = D extends Typed<infer T, string> ? T : never

export interface KeyOptions {
  readonly apply?: Apply
  readonly property?: string
}

const keyOf = (type: Type, meaning: string, options: Partial<Key>): Key => ({
  type,
  meaning,
  isRequired: false,
  isSecret: false,
  apply: 'live',
  ...options,
})

export const key = <T, S extends string>(
  type: Type & Typed<T, S>,
  fallback: T,
  given: KeyOptions & { readonly meaning: string },
): Key<T, S> => keyOf(type, given.meaning, { ...given, fallback }) as Key<T, S>

export const required = <T, S extends string>(
  type: Type & Typed<T, S>,
  meaning: string,
  options: KeyOptions = {},
): Key<T, S> => keyOf(type, meaning, { ...options, isRequired: true }) as Key<T, S>

export const optional = <T, S extends string>(
  type: Type & Typed<T, S>,
  meaning: string,
  options: KeyOptions = {},
): Key<T | undefined, S> => keyOf(type, meaning, options) as Key<T | undefined, S>

/** A key that has the value of another one where it is not set. */
export const inherited = <T, S extends string>(
  type: Type & Typed<T, S>,
  inherits: string,
  meaning: string,
): Key<T, S> => keyOf(type, meaning, { inherits }) as Key<T, S>

/** A key whose own keys have the defaults. */
export const nested = <T>(type: Type & Typed<T, ''>, meaning: string, options: KeyOptions = {}): Key<T, ''> =>
  keyOf(type, meaning, options) as Key<T, ''>

/** Read from the environment only, and never shown. */
export const secret = (
  type: Scalar<Secret, ''>,
  meaning: string,
  options: KeyOptions = {},
): Key<Secret | undefined, ''> =>
  keyOf(type, meaning, { ...options, isSecret: true }) as Key<Secret | undefined, ''>

export type SectionOptions = Partial<Pick<Section, 'checks' | 'refused' | 'shorthand'>>

export const section = <K extends Keys>(
  keys: K,
  { checks = [], refused = {}, ...shorthand }: SectionOptions = {},
): Section<SectionValue<K>> => ({ kind: 'section', suffix: '', keys, checks, refused, ...shorthand })

export const named = <T>(
  entry: (Section | Variants | List) & Typed<T, ''>,
  given: Pick<Named, 'expected'> & Partial<Pick<Named, 'builtIn' | 'min'>>,
): Named<Readonly<Record<string, T>>> => ({
  ...{ kind: 'named', suffix: '', entry, builtIn: [], min: 0 },
  ...given,
})

export const list = <T>(item: Type & Typed<T, string>, min = 0): List<readonly T[]> => ({
  kind: 'list',
  suffix: '',
  item,
  min,
})

type CaseValue<C> = {
  [N in keyof C & string]: { readonly type: N } & TypeValue<C[N]>
}[keyof C & string]

export const variants = <C extends Readonly<Record<string, Section>>>(
  cases: C,
  usual: keyof C & string,
  more: Pick<Variants, 'shorthand' | 'implied'> = {},
): Variants<CaseValue<C>> => {
  const tag = key(choice(...Object.keys(cases)), usual, {
    meaning: 'which kind; the other keys depend on it',
  })
  return { kind: 'variants', suffix: '', tag, cases, usual, ...more }
}

export const propertyOf = (name: string, { type, property }: Key): string =>
  property ?? `${name}${type.suffix}`

/** Permitted names of backends, stores and policies: safe in paths, labels and variable names. */
export const namePattern = '^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$'

const nameMatcher = new RegExp(namePattern)
export const isName = (text: string): boolean => nameMatcher.test(text)
