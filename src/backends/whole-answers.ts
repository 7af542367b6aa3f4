/** The seam for answers that are cached as a whole, because they cannot be cut into buckets. */
import type { EpochMs } from '../core/clock.ts'
import type { TimeSpan } from '../core/witness.ts'
import type { ResponseEnds, WireRequest } from './backend.ts'

/** A request whose answer is cached as a whole, because it cannot be cut into buckets. */
export interface WholePlan {
  /** Which of `WholeAnswers.endpoints` it is. */
  readonly endpoint: string
  /** The question, with everything that the answer depends on but `at`. Equal texts have equal answers. */
  readonly text: string
  /** Metric names or data sources the question reads, where known. */
  readonly sources: readonly string[]
  readonly knowsAllSources: boolean
  /** The data that it reads, where that is bounded: a witness can vouch for it. */
  readonly span?: TimeSpan
  /** The query as it was written, where there is one. */
  readonly query?: string
  /** The instant that it is evaluated at, where clients give one that never repeats. Not part of the text. */
  readonly at?: EpochMs
  /**
   * Where clients give bounds that move with the clock: the question without them. While the database fails, an answer between
   * other bounds may be served.
   */
  readonly moving?: { readonly text: string; readonly from: EpochMs; readonly to: EpochMs }
  /** By which the client can cancel the query, and find it in the database's own records. */
  readonly queryId?: string | undefined
  readonly request: WireRequest
}

/** The default caching of an endpoint's answers. Seconds. */
export interface EndpointTerms {
  /** Its description, for the configuration reference. */
  readonly meaning: string
  /** 0: concurrent equal requests share one answer, and nothing is kept. */
  readonly revalidateSeconds: number
  readonly staleWhileRevalidateSeconds: number
  /** `maxStale`: as long as buckets. Where `maxStale` is 0, nothing is served stale, whatever this value is. */
  readonly staleIfErrorSeconds: number | 'maxStale'
}

/** Which requests have answers that are cached as a whole. */
export interface WholeAnswers {
  readonly endpoints: Readonly<Record<string, EndpointTerms>>
  /** Whether `plan` may return a plan for such a request: called before its body is read. */
  claims(method: string, path: string): boolean
  /** Undefined where it is not known to be a pure read whose answer may be kept. Never throws. */
  plan(request: WireRequest, now: EpochMs): WholePlan | undefined
  /** Whether the body of a successful answer, free of content encoding, is complete: others are not stored. */
  isComplete?(body: Uint8Array, plan: WholePlan, response: ResponseEnds): boolean
}
