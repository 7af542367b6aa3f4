/**
 * Names of entities, resources and limits, and the values of limits: what the registry accepts. `#` separates the parts of
 * keys in the store, so no name may contain it.
 */
import type { Limit } from './limit.ts'

/** The reserved resource under which an entity keeps its default limits. No valid resource begins with `_`. */
export const anyResource = '_default_'

interface NameRule {
  readonly maxLength: number
  readonly pattern: RegExp
  readonly characters: string
}

const rules = {
  entity: {
    maxLength: 256,
    pattern: /^[a-zA-Z0-9][a-zA-Z0-9_.\-:@]*$/,
    characters: 'letters, digits, _ . - : and @, and begins with a letter or a digit',
  },
  resource: {
    maxLength: 64,
    pattern: /^[a-zA-Z][a-zA-Z0-9_.\-/]*$/,
    characters: 'letters, digits, _ . - and /, and begins with a letter',
  },
  limit: {
    maxLength: 64,
    pattern: /^[a-zA-Z][a-zA-Z0-9_.-]*$/,
    characters: 'letters, digits, _ . and -, and begins with a letter',
  },
} as const satisfies Readonly<Record<string, NameRule>>

export type NameKind = keyof typeof rules

const maxShownLength = 80

/** Why a text is no valid name of this kind, as a sentence; undefined where it is one. */
export function nameMistake(kind: NameKind, name: unknown): string | undefined {
  if (typeof name !== 'string') return `the name of ${articles[kind]} is a text`
  const { maxLength, pattern, characters } = rules[kind]
  if (name.length > maxLength)
    return `the name of ${articles[kind]} has at most ${maxLength} characters, and this one has ${name.length}`
  if (pattern.test(name)) return undefined
  return `${JSON.stringify(name.slice(0, maxShownLength))} is no name of ${articles[kind]}: it consists of ${characters}`
}

const articles: Readonly<Record<NameKind, string>> = {
  entity: 'an entity',
  resource: 'a resource',
  limit: 'a limit',
}

/** A cheap test for names that come with requests: longer ones are not looked up, and never kept as keys. */
export const isEntityLength = (name: string): boolean => name.length <= rules.entity.maxLength

/** Limits of one set. More would make the row of a bucket larger than one write of the narrowest store. */
const maxLimits = 16

/** Why these limits cannot be stored, as a sentence; undefined where they can. */
export function limitsMistake(limits: readonly Limit[]): string | undefined {
  if (limits.length === 0) return 'a set of limits has at least one limit; delete it to remove all'
  if (limits.length > maxLimits)
    return `a set has at most ${maxLimits} limits, and this one has ${limits.length}`
  const names = limits.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) return `limit ${twice} is given twice`
  return limits.map(limitMistake).find((mistake) => mistake !== undefined)
}

const counts = ['capacity', 'refillAmount', 'refillPeriodSeconds'] as const

function limitMistake(limit: Limit): string | undefined {
  const ofName = nameMistake('limit', limit.name)
  if (ofName !== undefined) return ofName
  const odd = counts.find((count) => !(Number.isSafeInteger(limit[count]) && limit[count] > 0))
  if (odd !== undefined) return `${odd} of limit ${limit.name} is a whole number above 0`
  return isCountable(limit)
    ? undefined
    : `capacity and refill of limit ${limit.name} are too large to be counted exactly`
}

/** Buckets count in units of which both a token and the credit of a millisecond are whole numbers. */
function isCountable({ capacity, refillAmount, refillPeriodSeconds }: Limit): boolean {
  const periodMs = refillPeriodSeconds * 1000
  if (!Number.isSafeInteger(periodMs)) return false
  return Number.isSafeInteger(capacity * (periodMs / greatestCommonDivisor(refillAmount, periodMs)) * 2)
}

const greatestCommonDivisor = (a: number, b: number): number =>
  b === 0 ? a : greatestCommonDivisor(b, a % b)

export const areSameLimits = (a: readonly Limit[], b: readonly Limit[]): boolean =>
  a.length === b.length && a.every((limit, i) => isSameLimit(limit, b[i]!))

const isSameLimit = (a: Limit, b: Limit): boolean =>
  a.name === b.name && counts.every((count) => a[count] === b[count])
