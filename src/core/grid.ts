/**
 * Where buckets begin. Buckets are counted: number 0 begins at the grid's origin, and every other module
 * speaks of bucket numbers; only a grid turns them into instants. Byte order of the number is time order.
 */
import {
  type Calendar,
  calendarBucket,
  calendarStart,
  calendarThrough,
  isSameCalendar,
  nominalMs,
  readCalendar,
} from './calendar.ts'
import type { EpochMs } from './clock.ts'
import { offsetAt, transitionsIn, type Zone } from './zone.ts'

/**
 * `point`: a bucket is one evaluation instant (its end is the instant itself).
 * `cell`: a bucket is [start, start + step).
 * `origin` lies in [0, step): it is the phase of the grid.
 * With a `calendar`, the calendar alone defines where buckets begin: they are cells, `step` is their mean length, and
 * `origin` is 0.
 */
export interface Grid {
  readonly kind: 'point' | 'cell'
  readonly step: number
  readonly origin: EpochMs
  readonly calendar?: Calendar
}

/** The grid of the given step that has a bucket beginning at `start`. */
export function gridThrough(kind: Grid['kind'], step: number, start: EpochMs): Grid {
  return { kind, step, origin: ((start % step) + step) % step }
}

/** The grid of a calendar that has a bucket beginning at its `origin`; undefined where there is no such calendar. */
export function calendarGrid(calendar: Calendar): Grid | undefined {
  const known = calendarThrough(calendar)
  return known && { kind: 'cell', step: nominalMs(known), origin: 0, calendar: known }
}

/** A grid as a record has it; undefined for anything else. */
export function readGrid(value: unknown): Grid | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { kind, step, origin, calendar } = value as Partial<Record<keyof Grid, unknown>>
  if ((kind !== 'point' && kind !== 'cell') || typeof step !== 'number' || typeof origin !== 'number')
    return undefined
  if (calendar !== undefined) {
    const known = readCalendar(calendar)
    const grid = known && calendarGrid(known)
    return grid?.kind === kind && grid.step === step && origin === 0 ? grid : undefined
  }
  return step > 0 && Number.isFinite(step) && origin >= 0 && origin < step
    ? { kind, step, origin }
    : undefined
}

/** Whether both have the same buckets under the same numbers. */
export const isSameGrid = (a: Grid, b: Grid): boolean =>
  a.kind === b.kind && a.step === b.step && a.origin === b.origin && isSameCalendar(a.calendar, b.calendar)

/** The number of the last bucket that begins at or before `instant`. */
export const bucketAt = (grid: Grid, instant: EpochMs): number =>
  grid.calendar === undefined
    ? Math.floor((instant - grid.origin) / grid.step)
    : calendarBucket(grid.calendar, instant)

/** The number of the first bucket that begins at or after `instant`. */
export function bucketFrom(grid: Grid, instant: EpochMs): number {
  if (grid.calendar === undefined) return Math.ceil((instant - grid.origin) / grid.step)
  const bucket = calendarBucket(grid.calendar, instant)
  return calendarStart(grid.calendar, bucket) < instant ? bucket + 1 : bucket
}

export const startOf = (grid: Grid, bucket: number): EpochMs =>
  grid.calendar === undefined ? grid.origin + bucket * grid.step : calendarStart(grid.calendar, bucket)

/** The instant from which a bucket's age counts: the end of a cell, an instant itself. */
export const endOf = (grid: Grid, bucket: number): EpochMs =>
  startOf(grid, grid.kind === 'cell' ? bucket + 1 : bucket)

/** The first bucket that is younger than `ageMs` at an instant, counted from its end. */
export function firstYoungerThan(grid: Grid, ageMs: number, at: EpochMs): number {
  const last = bucketAt(grid, at - ageMs)
  return grid.kind === 'point' ? last + 1 : last
}

export const isAligned = (grid: Grid, instant: EpochMs): boolean =>
  grid.calendar === undefined
    ? (instant - grid.origin) % grid.step === 0
    : calendarStart(grid.calendar, calendarBucket(grid.calendar, instant)) === instant

/** How many buckets there are between two beginnings. */
export const bucketsBetween = (grid: Grid, from: EpochMs, to: EpochMs): number =>
  bucketAt(grid, to) - bucketAt(grid, from)

/**
 * The phase of the grid on which local time is cut into pieces of `step`, where all of a range lies on one: while no
 * change of the clocks moves it, or cuts a piece in two.
 */
export function phaseOf(
  zone: Zone,
  step: number,
  range: { readonly from: EpochMs; readonly to: EpochMs },
): EpochMs | undefined {
  const { origin } = gridThrough('cell', step, -offsetAt(zone, range.from))
  // A piece may begin before the range and end after it.
  for (const { at, after } of transitionsIn(zone, range.from - step, range.to + step)) {
    const isMoved = (after + origin) % step !== 0
    if (isMoved || (at - origin) % step !== 0) return undefined
  }
  return origin
}
