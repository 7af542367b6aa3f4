/** Limits as one writes them in a command line: `requests:100/min:200` is 100 a minute, at most 200 at once. */
import type { Limit } from './limit.ts'

const periods = [
  ['sec', 1],
  ['min', 60],
  ['hour', 3600],
  ['day', 86_400],
] as const

export const limitForm = 'name:rate[/sec|/min|/hour|/day][:burst]'

/** The period of a rate is a minute by default. Names and sizes are checked where limits are stored. */
export function readLimitText(text: string): Limit | { readonly mistake: string } {
  const [, name, rate, unit = 'min', burst] = /^([^:]+):(\d+)(?:\/([a-z]+))?(?::(\d+))?$/.exec(text) ?? []
  const period = periods.find(([each]) => each === unit)
  if (name === undefined || period === undefined) {
    return { mistake: `${JSON.stringify(text.slice(0, 80))} is no limit; write it as ${limitForm}` }
  }
  const refillAmount = Number(rate)
  const capacity = burst === undefined ? refillAmount : Number(burst)
  return { name, capacity, refillAmount, refillPeriodSeconds: period[1] }
}

/** Without its name: `100/min`, `100/min, burst 200`, `7 per 90 s`. */
export function rateText({ capacity, refillAmount, refillPeriodSeconds }: Limit): string {
  const period = periods.find(([, seconds]) => seconds === refillPeriodSeconds)
  const rate =
    period === undefined ? `${refillAmount} per ${refillPeriodSeconds} s` : `${refillAmount}/${period[0]}`
  return capacity === refillAmount ? rate : `${rate}, burst ${capacity}`
}
