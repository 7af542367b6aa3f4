/**
 * Decides which process or thread fetches, where several share one store: before a query is sent its intervals are
 * claimed, and a request for buckets that another one is fetching waits until they have landed and reads the store
 * again. Between threads claims are messages (workers/claims.ts), between nodes they are leased rows (cell-claims.ts).
 */
import type { EpochMs } from '../core/clock.ts'
import type { Look } from './fetch.ts'
import type { FlightSpec, Requirements } from './flights.ts'

/** `go`: no other flight covers this. Otherwise one does, or did: the request reads the store again. */
export type Verdict = 'go' | Look

/** `unstored`: the database failed, or its answer must not be stored. `abandoned`: another flight may take its place. */
export type FlightEnd = 'stored' | 'unstored' | 'abandoned'

export interface Claims {
  claim(wanted: Wanted): Claim
}

export interface Claim {
  readonly verdict: Promise<Verdict>
  /** Called once. */
  release(end: FlightEnd): void
}

export interface Wanted extends Requirements, Pick<FlightSpec, 'key' | 'intervals' | 'startedAt'> {
  /** The newest clock that the lookup found among these buckets: a later fetch is news. */
  readonly newestSeen: EpochMs
  /** It has waited often enough: it is to go whatever others do. */
  readonly isImpatient: boolean
}
