/** The metrics of the segment watchers: their health, and their findings. */
import { type Family, headOf, sample } from './exposition.ts'
import { families } from './families.ts'

/** Of one database whose segments are watched. */
export interface WatchedSegments {
  readonly backend: string
  readonly isTrusted: boolean
  /** Since the last good look; since the start, where there was none. */
  readonly ageSeconds: number
  readonly segments: number
  readonly marked: number
}

export function segmentFamilies(watched: readonly WatchedSegments[]): string {
  const each = (of: Family, value: (one: WatchedSegments) => number): string =>
    headOf(of) + watched.map((one) => sample(of.name, ['backend', one.backend], value(one))).join('')
  return (
    each(families.segmentsTrusted, ({ isTrusted }) => (isTrusted ? 1 : 0)) +
    each(families.segmentsAge, ({ ageSeconds }) => ageSeconds) +
    each(families.segmentsWatched, ({ segments }) => segments) +
    each(families.segmentsMarked, ({ marked }) => marked)
  )
}
