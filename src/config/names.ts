/**
 * The names of every key: `limits.maxStale` in the file, `WINDOWPANE_LIMITS_MAX_STALE` in the environment,
 * `--limits.max-stale` as a flag. Names and indices of entries replace `<name>` and `<n>`.
 */
import { isName, type Key, type Keys, type Type, type Variants } from './definition.ts'
import { join } from './words.ts'

export const environmentPrefix = 'WINDOWPANE_'

const words = (name: string): string[] => name.replaceAll(/[A-Z]/g, '-$&').toLowerCase().split('-')
const kebab = (name: string): string => words(name).join('-')

export const environmentName = (path: string): string =>
  environmentPrefix + path.split('.').flatMap(words).join('_').toUpperCase()

export const flagName = (path: string): string => `--${path.split('.').map(kebab).join('.')}`

export interface Row {
  readonly path: string
  readonly key: Key
  /** The types of which the key is one, in a section of several types. */
  readonly of: readonly string[]
  /** By itself, or because of the section in which it is. */
  readonly needsRestart: boolean
}

/** Every key of the definition that holds values itself, in order; `<name>` and `<n>` stand for entries. */
export function rowsOf(type: Type, path = '', of: readonly string[] = []): Row[] {
  switch (type.kind) {
    case 'section':
      return rowsOfKeys(type.keys, path, of)
    case 'named':
      return rowsOf(type.entry, join(path, '<name>'), of)
    case 'variants':
      return rowsOfVariants(type, path)
    case 'list':
      return type.item.kind === 'scalar' ? [] : rowsOf(type.item, join(path, '<n>'), of)
    case 'scalar':
      return []
  }
}

function rowsOfKeys(keys: Keys, path: string, of: readonly string[]): Row[] {
  return Object.entries(keys).flatMap(([name, key]) => {
    const at = join(path, name)
    const { type } = key
    const isValue = type.kind === 'scalar' || (type.kind === 'list' && type.item.kind === 'scalar')
    const needsRestart = key.apply === 'restart'
    if (isValue) return [{ path: at, key, of, needsRestart }]
    return rowsOf(type, at, of).map((row) => (needsRestart ? { ...row, needsRestart } : row))
  })
}

/** A key that several types have is one row. */
function rowsOfVariants({ tag, cases }: Variants, path: string): Row[] {
  const rows = new Map<string, Row>([
    ['', { path: join(path, 'type'), key: tag, of: [], needsRestart: tag.apply === 'restart' }],
  ])
  for (const [name, type] of Object.entries(cases)) {
    for (const row of rowsOf(type, path, [name])) {
      const id = `${row.path} ${row.key.meaning}`
      rows.set(id, { ...row, of: [...(rows.get(id)?.of ?? []), name] })
    }
  }
  return [...rows.values()]
}

/** The keys that can stand below a type, whichever of several types it is. */
function keysBelow(type: Type): ReadonlyMap<string, Type> {
  if (type.kind === 'section')
    return new Map(Object.entries(type.keys).map(([name, key]) => [name, key.type]))
  if (type.kind !== 'variants') return new Map()
  const all = Object.values(type.cases).flatMap((one) => [...keysBelow(one)])
  return new Map([['type', type.tag.type], ...all])
}

export interface Target {
  readonly path: readonly string[]
  readonly type: Type
}

/** All keys that a variable can mean. A name of several words makes it ambiguous: shorter names first. */
export function environmentTargets(type: Type, tokens: readonly string[]): Target[] {
  if (tokens.length === 0) return [{ path: [], type }]
  const under = (name: string, next: Type, used: number): Target[] =>
    environmentTargets(next, tokens.slice(used)).map((target) => ({
      ...target,
      path: [name, ...target.path],
    }))
  switch (type.kind) {
    case 'scalar':
      return []
    case 'list':
      return /^\d{1,4}$/.test(tokens[0]!) ? under(String(Number(tokens[0])), type.item, 1) : []
    case 'named':
      return tokens.slice(1).flatMap((_, i) => {
        const name = tokens
          .slice(0, i + 1)
          .join('-')
          .toLowerCase()
        return isName(name) ? under(name, type.entry, i + 1) : []
      })
    default:
      return [...keysBelow(type)].flatMap(([name, next]) => {
        const own = words(name)
        const fits = own.every((word, i) => word.toUpperCase() === tokens[i])
        return fits ? under(name, next, own.length) : []
      })
  }
}

/** The key that a flag means, by its segments; undefined if there is none. */
export function flagTarget(type: Type, segments: readonly string[]): Target | undefined {
  const [first, ...rest] = segments
  if (first === undefined) return { path: [], type }
  const next = nextByFlag(type, first)
  const target = next && flagTarget(next.type, rest)
  return target && { ...target, path: [next.name, ...target.path] }
}

function nextByFlag(type: Type, segment: string): { name: string; type: Type } | undefined {
  if (type.kind === 'list') return /^\d{1,4}$/.test(segment) ? { name: segment, type: type.item } : undefined
  if (type.kind === 'named') return { name: segment, type: type.entry }
  for (const [name, next] of keysBelow(type)) if (kebab(name) === segment) return { name, type: next }
  return undefined
}
