/** The results of background queries; queries that were not sent, because others were in progress, are not counted. */
export interface ProbeCounts {
  /** The fetched buckets equal the stored ones. */
  same: number
  changed: number
  /** The database did not answer, or not with buckets that can be compared. */
  failed: number
}

export const noProbes: Readonly<ProbeCounts> = { same: 0, changed: 0, failed: 0 }

/** By their purpose. */
export type BackgroundCounts = Readonly<Record<'sample' | 'sentinel' | 'refresh', Readonly<ProbeCounts>>>
