/**
 * How far refetches deviate from the expectation of the rates in force: neighbours that change together, and rates that
 * have risen.
 */

/** An alarm means that changes are more likely to come this many times as often as at the rate in force. */
const alarmRatio = 3
/** One refetch alone does not raise an alarm. */
const largestStep = 3
export const alarmLevel = 7

/** Of the buckets of one refetch. */
interface Seen {
  readonly changed: number
  /** How many of them were expected to change. */
  readonly expected: number
}

interface Deviation {
  readonly seen: number
  readonly expected: number
}

/** The deviation of a refetch from its expectation. A refetch with hardly any expected change has little weight. */
export function deviationOf({ changed, expected, variance }: Seen & { variance: number }): Deviation {
  if (!(variance > 1e-9)) return { seen: 0, expected: 0 }
  const weight = Math.min(1, variance)
  return { seen: (weight * (changed - expected) ** 2) / variance, expected: weight }
}

/** 1 for independent changes, at most the mean number of buckets of a refetch; two quiet refetches are always assumed. */
export function dispersionOf({ seen, expected }: Deviation, meanBuckets: number): number {
  return Math.max(1, Math.min(Math.max(1, meanBuckets || 1), (seen + 2) / (expected + 2)))
}

/** One step of a cumulative sum test: it rises when more changed than expected, and at its level the rate has risen. */
export function nextAlarm(alarm: number, seen: Seen & { dispersion: number }): number {
  const evidence = seen.changed * Math.log(alarmRatio) - (alarmRatio - 1) * seen.expected
  return Math.max(0, alarm + Math.min(largestStep, evidence / seen.dispersion))
}
