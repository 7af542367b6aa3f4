/** Values that stand for several keys, or for a key below: `url: lmdb:/x?size=1GiB` is `type: lmdb`, `path: /x` and `size: 1GiB`. */
import type { Plain, Section, Type, Variants } from './definition.ts'
import { type Raw, type RawEntry, type RawMap, rawText } from './source.ts'
import { shownRaw } from './words.ts'

export interface ShorthandProblem {
  readonly key: string
  readonly message: string
  readonly suggestion?: string
}

/** The map with the type that one of its keys implies, where none is written. */
export function withImpliedType({ implied }: Variants, map: RawMap): RawMap {
  const given = implied && map.entries.get(implied.key)?.value
  if (implied === undefined || given === undefined || map.entries.has('type')) return map
  const entry = { keySource: given.source, value: rawText(implied.type, given.source) }
  return { ...map, entries: new Map([...map.entries, ['type', entry]]) }
}

/** The map that a single value stands for, in a section that has a shorthand. */
export function withSingleValue({ shorthand }: Section, raw: Raw | undefined): Raw | undefined {
  if (shorthand === undefined || raw?.kind !== 'scalar' || raw.value === null) return raw
  const entry: RawEntry = { keySource: raw.source, value: raw }
  return { kind: 'map', entries: new Map([[shorthand, entry]]), source: raw.source }
}

/** The map with the keys that its shorthand sets, each with the shorthand as its source. */
export function withShorthand(type: Variants, map: RawMap): RawMap | ShorthandProblem {
  const { shorthand } = type
  const raw = shorthand && map.entries.get(shorthand.key)?.value
  if (shorthand === undefined || raw?.kind !== 'scalar' || typeof raw.value !== 'string') return map
  const { key } = shorthand
  const keys = shorthand.expand(raw.value)
  if ('refused' in keys) {
    const { refused: message, suggestion } = keys
    return { key, message, ...(suggestion !== undefined && { suggestion }) }
  }
  const entries = new Map<string, RawEntry>(map.entries)
  for (const [name, text] of keys) {
    const own = map.entries.get(name)?.value
    const value = rawText(text, raw.source)
    if (own === undefined) entries.set(name, { keySource: raw.source, value })
    else if (isSecret(type, keys.get('type'), name)) {
      return { key: name, message: `is set as well by "${key}": set one of them` }
    } else if (!isSame(typeOf(type, keys.get('type'), name), own, text)) {
      const both = `is ${shownRaw(own)}, and "${key}" sets it to ${shownRaw(value)}`
      return { key: name, message: `${both}: set one of them` }
    }
  }
  return { ...map, entries }
}

const typeOf = ({ tag, cases }: Variants, chosen: string | undefined, name: string): Type | undefined =>
  name === 'type' ? tag.type : cases[chosen ?? '']?.keys[name]?.type

/** Neither of two values of such a key may be shown. */
const isSecret = ({ cases }: Variants, chosen: string | undefined, name: string): boolean =>
  cases[chosen ?? '']?.keys[name]?.isSecret === true

/** Whether both mean the same value: `1GiB` and `1024MiB` do. */
function isSame(type: Type | undefined, own: Raw, text: string): boolean {
  if (own.kind !== 'scalar' || own.value === null) return false
  const meaning = (value: Plain): unknown => {
    const parsed = type?.kind === 'scalar' ? type.parse(type.fromText?.(String(value)) ?? value) : undefined
    return parsed ?? value
  }
  return meaning(own.value) === meaning(text)
}
