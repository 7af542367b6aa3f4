/**
 * Where buckets begin. Buckets are counted: number 0 begins at the grid's origin, and every other module
 * speaks of bucket numbers; only a grid turns them into instants. Byte order of the number is time order.
 */
import type { EpochMs } from './clock.ts'

/**
 * `point`: a bucket is one evaluation instant (its end is the instant itself).
 * `cell`: a bucket is [start, start + step).
 * `origin` lies in [0, step): it is the phase of the grid.
 */
export interface Grid {
  readonly kind: 'point' | 'cell'
  readonly step: number
  readonly origin: EpochMs
}

/** The grid of the given step that has a bucket beginning at `start`. */
export function gridThrough(kind: Grid['kind'], step: number, start: EpochMs): Grid {
  return { kind, step, origin: ((start % step) + step) % step }
}

/** The number of the last bucket that begins at or before `instant`. */
export const bucketAt = (grid: Grid, instant: EpochMs): number =>
  Math.floor((instant - grid.origin) / grid.step)

export const startOf = (grid: Grid, bucket: number): EpochMs => grid.origin + bucket * grid.step

/** The instant from which a bucket's age counts: the end of a cell, an instant itself. */
export const endOf = (grid: Grid, bucket: number): EpochMs =>
  grid.origin + (grid.kind === 'cell' ? bucket + 1 : bucket) * grid.step

export const isAligned = (grid: Grid, instant: EpochMs): boolean => (instant - grid.origin) % grid.step === 0
