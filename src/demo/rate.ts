/** rate() and increase() of Prometheus for a counter without resets: the slope, drawn out to the window's edges. */
import type { EpochMs } from '../core/clock.ts'

interface Sample {
  readonly at: EpochMs
  readonly value: number
}

export interface Window {
  readonly at: EpochMs
  readonly windowMs: number
  readonly first: Sample
  readonly last: Sample
  readonly count: number
  readonly isPerSecond: boolean
}

/** The operations and their order are those of extrapolatedRate, so that the same doubles come out. */
export function extrapolatedRate({ at, windowMs, first, last, count, isPerSecond }: Window): number {
  const increase = last.value - first.value
  const sampled = (last.at - first.at) / 1000
  const between = sampled / (count - 1)
  const threshold = between * 1.1
  let toStart = (first.at - (at - windowMs)) / 1000
  let toEnd = (at - last.at) / 1000
  if (toStart >= threshold) toStart = between / 2
  // A counter was not below zero before it began.
  if (increase > 0 && first.value >= 0) toStart = Math.min(toStart, sampled * (first.value / increase))
  if (toEnd >= threshold) toEnd = between / 2
  const factor = (sampled + toStart + toEnd) / sampled
  return increase * (isPerSecond ? factor / (windowMs / 1000) : factor)
}
