/** Curves of a day: something that swings, how much work it sums up to, and trouble that comes in bursts. */
import type { EpochMs } from '../core/clock.ts'
import { roll } from './arrivals.ts'

interface Swing {
  /** Share of the mean; all together stay below one, so that a rate stays positive. */
  readonly share: number
  readonly periodMs: number
  readonly phase: number
}

export interface Wave {
  /** Per second, where it is a rate. */
  readonly mean: number
  readonly swings: readonly Swing[]
}

const minute = 60_000
const hour = 60 * minute

/** The daily curve, a slow and a quick ripple; each place has its own ripples, the day is everybody's. */
export function waveOf(seed: number, mean: number): Wave {
  const phase = (place: number): number => 2 * Math.PI * roll(seed, place, 10)
  return {
    mean,
    swings: [
      { share: 0.55, periodMs: 24 * hour, phase: -2 },
      { share: 0.16, periodMs: 97 * minute, phase: phase(1) },
      { share: 0.1, periodMs: 11 * minute, phase: phase(2) },
    ],
  }
}

export function level({ mean, swings }: Wave, at: EpochMs): number {
  let sum = 1
  for (const { share, periodMs, phase } of swings)
    sum += share * Math.sin((2 * Math.PI * at) / periodMs + phase)
  return mean * sum
}

/** The integral of a wave: the value at an instant of a counter that starts at `from`. Never falls. */
export function counterOf({ mean, swings }: Wave, from: EpochMs): (at: EpochMs) => number {
  const parts = swings.map(({ share, periodMs, phase }) => {
    const angle = (2 * Math.PI) / periodMs
    return { angle, phase, size: share / angle, atStart: Math.cos(angle * from + phase) }
  })
  return (at) => {
    let sum = at - from
    for (const { angle, phase, size, atStart } of parts)
      sum += size * (atStart - Math.cos(angle * at + phase))
    return (mean * sum) / 1000
  }
}

const burstChance = 0.3
const burstRate = 6

/** Errors since `from`: in some hours, for some minutes, several per second. Good for a life of hours, not of years. */
export function burstsOf(seed: number, from: EpochMs): (at: EpochMs) => number {
  const bursts: { readonly start: EpochMs; readonly end: EpochMs }[] = []
  let slot = Math.floor(from / hour)
  const drawUntil = (at: EpochMs): void => {
    for (; slot * hour < at; slot++) {
      if (roll(seed, slot, 11) >= burstChance) continue
      const start = Math.max(from, slot * hour + Math.floor(roll(seed, slot, 12) * 45 * minute))
      bursts.push({ start, end: start + (3 + 9 * roll(seed, slot, 13)) * minute })
    }
  }
  return (at) => {
    drawUntil(at)
    let lasted = 0
    for (const { start, end } of bursts) lasted += Math.max(0, Math.min(at, end) - start)
    return (burstRate * lasted) / 1000
  }
}
