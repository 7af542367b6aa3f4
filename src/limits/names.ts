/**
 * Names and limits that the registry accepts. `#` separates the parts of keys in the store, so no name may contain it.
 * The limiter counts for more entities than these: an entity with another name has the limits of its resource.
 */
import type { Limit } from './limit.ts'
import { limitFigures, problemOf } from './token-bucket.ts'

/** The reserved resource under which an entity keeps its default limits. No valid resource begins with `_`. */
export const anyResource = '_default_'

const rules = {
  entity: {
    owner: 'an entity',
    maxLength: 256,
    pattern: /^[a-zA-Z0-9][a-zA-Z0-9_.\-:@]*$/,
    characters: 'letters, digits, _ . - : and @, and begins with a letter or a digit',
  },
  resource: {
    owner: 'a resource',
    maxLength: 64,
    pattern: /^[a-zA-Z][a-zA-Z0-9_.\-/]*$/,
    characters: 'letters, digits, _ . - and /, and begins with a letter',
  },
}

export type NameKind = keyof typeof rules

const maxShownLength = 80

/** Why a text is no valid name of this kind, as a sentence; undefined where it is one. */
export function nameMistake(kind: NameKind, name: unknown): string | undefined {
  const { owner, maxLength, pattern, characters } = rules[kind]
  if (typeof name !== 'string') return `the name of ${owner} is a text`
  if (name.length > maxLength)
    return `the name of ${owner} has at most ${maxLength} characters, and this one has ${name.length}`
  if (pattern.test(name)) return undefined
  return `${JSON.stringify(name.slice(0, maxShownLength))} is no name of ${owner}: it consists of ${characters}`
}

/** A cheap test for names that come with requests: longer ones are not looked up, and never kept as keys. */
export const isEntityLength = (name: string): boolean => name.length <= rules.entity.maxLength

/**
 * Why these limits cannot be stored, as a sentence; undefined where they can. Names may come from any client: the
 * sentence is bounded.
 */
export const limitsMistake = (limits: readonly Limit[]): string | undefined =>
  problemOf(limits)?.slice(0, maxSentenceLength)

const maxSentenceLength = 300

export const areSameLimits = (a: readonly Limit[], b: readonly Limit[]): boolean =>
  a.length === b.length && a.every((limit, i) => isSameLimit(limit, b[i]!))

const isSameLimit = (a: Limit, b: Limit): boolean =>
  a.name === b.name && limitFigures.every((figure) => a[figure] === b[figure])
