/**
 * Who fetches, where several fetch for one store: before a query is sent its intervals are claimed, and a request that wants
 * what somebody else is fetching waits until that has landed and looks again. Between threads claims are messages
 * (workers/claims.ts), between nodes they are leased rows (cell-claims.ts).
 */
import type { EpochMs } from '../core/clock.ts'
import type { Intervals } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { Wish } from './flights.ts'

/** `go`: nobody else is fetching this. Otherwise somebody was, or has: the request looks into the store again. */
export type Verdict = 'go' | Look

export interface Look {
  /**
   * What was fetched at or after this is accepted even if its TTL ran out on the way: the request waited for it. Infinite
   * where it did not wait.
   */
  readonly acceptFrom: EpochMs
}

export interface Claims {
  claim(wanted: Wanted): Claim
}

export interface Claim {
  readonly verdict: Promise<Verdict>
  /** The flight is over, or was given up; whether what it brought was stored. Called once. */
  release(isStored: boolean): void
}

export interface Wanted extends Wish {
  readonly key: Key
  readonly intervals: Intervals
  readonly startedAt: EpochMs
  /** The newest clock that the lookup found among these buckets: what was fetched later is news. */
  readonly newestSeen: EpochMs
  /** It has waited often enough: it is to go whatever others do. */
  readonly isImpatient: boolean
}
