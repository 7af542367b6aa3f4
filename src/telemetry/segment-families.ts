/** The metrics of those who watch segments: how well they see, and what they found. */
import { type Family, headOf, sample } from './exposition.ts'
import { families } from './families.ts'

/** Of one database whose segments are watched. */
export interface WatchedSegments {
  readonly backend: string
  readonly isTrusted: boolean
  /** Undefined before the first good look. */
  readonly ageSeconds: number | undefined
  readonly segments: number
  readonly marked: number
}

export function segmentFamilies(watched: readonly WatchedSegments[]): string {
  const each = (of: Family, value: (one: WatchedSegments) => number | undefined): string =>
    headOf(of) + watched.map((one) => sampleOf(of, one.backend, value(one))).join('')
  return (
    each(families.segmentsTrusted, ({ isTrusted }) => (isTrusted ? 1 : 0)) +
    each(families.segmentsAge, ({ ageSeconds }) => ageSeconds) +
    each(families.segmentsWatched, ({ segments }) => segments) +
    each(families.segmentsMarked, ({ marked }) => marked)
  )
}

const sampleOf = ({ name }: Family, backend: string, value: number | undefined): string =>
  value === undefined ? '' : sample(name, ['backend', backend], value)
