/**
 * Limits as integers. Rate and period are divided by their greatest common divisor: one token is `unitsPerToken` units, and
 * each millisecond credits `creditPerMs` of them. No credit has a remainder, so that no rounding can add up.
 */
import { WindowpaneError } from '../core/errors.ts'
import { type BucketLimit, limitName, maxLimits } from '../stores/cells.ts'
import type { Limit } from './limit.ts'

/** Whole milliseconds in which `refillAmount` tokens are credited. */
const periodMs = ({ refillPeriodSeconds }: Limit): number => refillPeriodSeconds * 1000

/**
 * The limit as it is counted in a row. A part of it has a share of the capacity, and gets its refill that many times more
 * slowly; see shards.ts.
 */
export function bucketLimit(limit: Limit, part?: { capacity: number; slower: number }): BucketLimit {
  const period = periodMs(limit) * (part?.slower ?? 1)
  const divisor = greatestCommonDivisor(limit.refillAmount, period)
  return {
    name: limit.name,
    capacity: part?.capacity ?? limit.capacity,
    unitsPerToken: period / divisor,
    creditPerMs: limit.refillAmount / divisor,
  }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

/** Throws where limits cannot be counted: that is a mistake in the program. */
export function checkLimits(limits: readonly Limit[]): void {
  const problem = problemOf(limits)
  if (problem !== undefined) throw badLimits(problem)
}

export const badLimits = (problem: string): WindowpaneError =>
  new WindowpaneError('WINDOWPANE_BAD_OPTION', problem, {
    remedy: 'docs/extend/limiter.md has the rules for limits, entities and resources.',
  })

/** Why limits cannot be counted, as a sentence; undefined where they can. */
export function problemOf(limits: readonly Limit[]): string | undefined {
  if (limits.length === 0) return 'There are no limits.'
  if (limits.length > maxLimits)
    return `There are ${limits.length} limits; one row holds at most ${maxLimits}.`
  for (const [i, limit] of limits.entries()) {
    const problem = problemOfLimit(limit)
    if (problem !== undefined) return problem
    if (limits.findIndex(({ name }) => name === limit.name) !== i)
      return `Two limits have the name ${JSON.stringify(limit.name)}.`
  }
  return undefined
}

export const limitFigures = ['capacity', 'refillAmount', 'refillPeriodSeconds'] as const

function problemOfLimit(limit: Limit): string | undefined {
  const name = JSON.stringify(limit.name)
  if (typeof limit.name !== 'string' || !limitName.test(limit.name))
    return `The limit name ${name} is not a letter followed by at most 63 letters, digits, "_", "." and "-".`
  const bad = limitFigures.find((figure) => !(Number.isSafeInteger(limit[figure]) && limit[figure] > 0))
  if (bad !== undefined) return `${bad} of the limit ${name} is ${limit[bad]}, not a whole number above 0.`
  const { capacity, unitsPerToken } = bucketLimit(limit)
  const isExact = Number.isSafeInteger(periodMs(limit)) && Number.isSafeInteger(capacity * unitsPerToken)
  return isExact
    ? undefined
    : `The limit ${name} cannot be counted exactly: capacity times period is too large for its refill amount.`
}
