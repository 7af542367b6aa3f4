/**
 * Where a query has one interval, buckets that lapse at different times cost a query each that spans almost the whole
 * window. So TTLs are rounded down to periods of q, 2q, 4q …, and a bucket lapses when its period ends: every period
 * ends together with all shorter ones, and all buckets that are due by then are fetched at once.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Grid } from '../../core/grid.ts'
import { hashOf } from '../../core/hash.ts'

export interface Epochs {
  /** The shortest period. TTLs below two of them are not rounded. */
  readonly quantumMs: number
  /** Shifts all periods, so that not all shapes are fetched at the same time. */
  readonly phaseMs: number
}

export const quantumMs = 10_000

/** The longest period that is not longer than the TTL; the TTL itself where it is too short for periods. */
export function periodOf(ttlMs: number, quantum: number): number {
  if (!(ttlMs >= 2 * quantum && ttlMs < Number.POSITIVE_INFINITY)) return ttlMs
  const period = quantum * 2 ** Math.floor(Math.log2(ttlMs / quantum))
  // The logarithm may be off by one rounding where the TTL is a period.
  if (period > ttlMs) return period / 2
  return period * 2 <= ttlMs ? period * 2 : period
}

/**
 * A TTL as a table has it. TTLs that are too short for periods are rounded to the floor, or to a doubling of it: the newest
 * buckets are fetched once per floor, and buckets that lapse in between would cost a query each.
 */
export function roundedTtl(ttlMs: number, floorMs: number): number {
  if (ttlMs >= 2 * quantumMs) return periodOf(ttlMs, quantumMs)
  const doublings = Math.floor(Math.log2(ttlMs / (floorMs * slack)))
  return doublings < 1 ? floorMs : floorMs * slack * 2 ** doublings
}

/** A viewer that refreshes every two floors would find a bucket lapsed at every refresh if its TTL were exactly that. */
const slack = 1.002

/** When a bucket that was fetched then lapses: after its fetch, and not after its TTL. */
export function lapseAt(fetchedAt: EpochMs, ttlMs: number, { quantumMs, phaseMs }: Epochs): EpochMs {
  if (!(ttlMs >= 2 * quantumMs)) return fetchedAt + ttlMs
  const period = periodOf(ttlMs, quantumMs)
  return (Math.floor((fetchedAt - phaseMs) / period) + 1) * period + phaseMs
}

/** Phases are below this, which is longer than any period that matters. */
const phases = 2 ** 32

/**
 * Every node and thread finds the same phase for a shape. Where buckets begin, one has to be fetched in any case: the
 * periods that divide the step end there too, and need no query of their own.
 */
export function phaseOf(shapeKey: string, { step, origin }: Pick<Grid, 'step' | 'origin'>): number {
  const steps = Math.max(1, Math.floor(phases / step))
  return origin + step * (hashOf(shapeKey) % steps)
}
