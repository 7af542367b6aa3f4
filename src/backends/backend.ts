/**
 * The seam to one database dialect. A backend is pure: no I/O, no clock, safe to call concurrently. It decides which
 * requests are range queries, maps them to a grid, narrows requests to a part, and converts bytes to panes and back.
 */
import type { EpochMs } from '../core/clock.ts'
import type { PlanningReason, ReasonWords } from '../core/decision.ts'
import type { Grid } from '../core/grid.ts'
import type { Interval } from '../core/interval.ts'
import type { Pane, PaneBody } from '../core/pane.ts'
import type { TimeSpan } from '../core/witness.ts'
import type { SegmentWatch } from './segment-watch.ts'
import type { WholeAnswers } from './whole-answers.ts'

/** name, value, name, value … in the order they came. Names of requests are in lower case. */
export type HeaderList = readonly string[]

export interface WireRequest {
  readonly method: string
  /** The path without the query string, as sent by the client. */
  readonly path: string
  /** The raw query string without '?', undecoded. */
  readonly search: string
  readonly headers: HeaderList
  readonly body: Uint8Array
}

/** `Own`: the reasons that the database declares (its kind has their texts) besides the common ones. */
export interface Bypass<Own extends string = never> {
  readonly bypass: PlanningReason | Own
  /** For people: the exact finding. Never a metric label. */
  readonly detail?: string
}

export interface Plan {
  /** The query as it was written. */
  readonly text: string
  /** The query without its time range: the input of the key, and the text in lists. */
  readonly shape: string
  readonly grid: Grid
  /** From the first requested bucket to the last, partially requested ones included. */
  readonly window: Interval
  /** The whole requested buckets, in runs, in time order: they are looked up and stored. */
  readonly whole: readonly Interval[]
  /** The other buckets. None where a client can only request whole buckets. */
  readonly edges?: Edges
  /**
   * The requested instants, where `Backend.over` supports other ones: in time order, disjoint; half-open on a cell grid,
   * inclusive on a point grid; infinite where the request has no end.
   */
  readonly asked?: readonly TimeSpan[]
  /** The exception through which this is not the plan of the client's own request, as `Cache-Status` names it (`edges=whole`). */
  readonly rewritten?: string
  /** Metric names or data sources the question reads, where known. */
  readonly sources: readonly string[]
  /** False where it may read others too: a change of any data then concerns it. */
  readonly knowsAllSources: boolean
  /**
   * How far before its beginning (an instant is its own) the data lies that a bucket is computed from. Infinite where
   * that is not bounded, or where a bucket may be computed from data of a fixed time.
   */
  readonly lookbackMs: number
  /**
   * How far after its end the data lies that a bucket is computed from; 0 unless given, as nearly always. The age of a bucket
   * counts from there: until then it is not over.
   */
  readonly lookaheadMs?: number
  /** Parameters outside the shape that can make one execution fail (a timeout), as text. */
  readonly terms: string
  /** By which the client can cancel the query, and find it in the database's own records; narrowed requests keep it. */
  readonly queryId?: string | undefined
  /**
   * False where the answer to the narrowed request for everything is not yet the answer itself (it is cut, or put in
   * another order). Where it is, equal panes of one key give equal bytes.
   */
  readonly isVerbatim: boolean
  /** Not verbatim, but equal panes of one key still give equal bytes: the shape contains the limit and the order. */
  readonly isFixedByPanes?: boolean
  /** Opt-in exceptions from the database's own answer that this one depends on, by their configuration keys: named in Cache-Status. */
  readonly exceptions?: readonly string[]
  readonly request: WireRequest
}

/** Partially requested buckets: never stored as whole buckets. */
export interface Edges {
  /** In runs, in time order, disjoint from the whole ones. */
  readonly buckets: readonly Interval[]
  /** The part of each: only requests with equal parts can share a fetch. */
  readonly parts: string
  /**
   * The bytes of a part depend on its bucket, `parts` and the data alone, so that parts can be kept. Without it, parts are
   * fetched for every request.
   */
  readonly isStorable?: true
}

/** Where the bytes of a successful answer go; splitting begins before the last byte. */
export interface Sink {
  /** Takes the next bytes, already free of transport encoding. The sink copies the bytes that it keeps. */
  write(chunk: Uint8Array): void
  /** Bytes held so far, for the memory budget. */
  readonly held: number
  /** After the last byte. */
  end(fetchedAt: EpochMs, response: ResponseEnds): Decomposed | Unusable
}

/** The status and headers before a body, and the trailers behind it. */
export interface ResponseEnds {
  readonly headers: HeaderList
  readonly trailers: HeaderList
}

export interface Decomposed {
  /** One for each requested interval, which it spans exactly, every clock set to `fetchedAt`. */
  readonly panes: readonly Pane[]
  /** False where the answer is true but may not be stored (truncated, partial). */
  readonly storable: boolean
}

export interface Unusable {
  readonly unusable: string
}

/** A measured answer: `length` bytes, which `write` puts at the beginning of `target`. */
export interface Recomposed {
  readonly length: number
  /**
   * How many pieces it is put together from, where it knows: many small ones cost more than their bytes. Infinity where
   * counting them takes as long as putting them together, which `length` then does.
   */
  readonly parts?: number
  write(target: Uint8Array): void
  /**
   * The same bytes in place, one piece behind the other, where there are few; they must not be overwritten as long as
   * they can be reached.
   */
  views?(): readonly Uint8Array[] | undefined
  /** The same bytes as a sequence of events; for consumers that derive another form from the same parts. */
  walk?(listener: AnswerListener): void
}

/** Receives the parts of an answer, in order. An argument is valid only during the call. */
export interface AnswerListener {
  /** bytes[start .. end). */
  literal(bytes: Uint8Array, start: number, end: number): void
  run(run: Run): void
}

/** The bytes of buckets [from, to) of one column and lane. */
export interface Run extends Interval {
  readonly body: PaneBody
  readonly column: number
  readonly lane: number
  /** Where they end in the slab: a byte early where the answer has something else for the last separator. */
  readonly end: number
}

export interface RecomposeOptions {
  /** Sentences that the client must see in the answer itself, where the format has a place for them. */
  readonly warnings: readonly string[]
}

/** How an answer differs from another one: not at all, only in its notes, or in its data. */
export type AnswerDifference = 'none' | 'notes' | 'data'

/** The self-description of the server behind an API. */
export interface Flavour {
  /** Whether its answers are known to follow the rules of this backend. */
  readonly isKnown: boolean
  /**
   * The response is none of such a server, but an error or the page of an intermediary: it does not describe the
   * database, and the known flavour stays.
   */
  readonly isUnreadable?: true
  /** Declared by the configuration, not by the server itself. */
  readonly isAssumed?: true
  /** For people: name and version. */
  readonly label: string
  /** Major, minor, patch, where it is reported. */
  readonly version?: readonly number[]
  /** Further facts that its backend plans by. */
  readonly traits?: readonly string[]
  /** Why it has not answered at all; set by the caller, not by backends. */
  readonly silence?: 'unreachable' | 'server_error'
}

export interface ErrorAnswer {
  readonly contentType: string
  readonly body: string
}

/** The request that detects the server behind the API, and the reader of its response. */
export interface FlavourProbe {
  readonly path: string
  read(status: number, body: string): Flavour
}

/** Differences between databases that callers act on. Declared here, never inferred from a name. */
export interface BackendCapabilities {
  /** Whether one request can have several intervals. Where it cannot, the buckets between two gaps are fetched too. */
  readonly severalIntervals: boolean
  /** Response headers, in lower case, that a stored answer carries besides the usual ones. */
  readonly keptHeaders: readonly string[]
  /** Request headers, in lower case, that the database names in Vary although they only select the content encoding. */
  readonly encodingHeaders?: readonly string[]
  /**
   * Execution members: members of a JSON answer that describe one execution of the query and not the data, such as
   * `stats` or `analysis`. `decompose` drops them, so they are neither stored nor compared; a recomposed answer omits
   * them. A database that adds them only on request may bypass such requests instead, and declare none.
   */
  readonly executionMembers?: readonly string[]
  /**
   * Statuses by which the database refuses a narrowed request because it is stricter than the client's: it wants all of the
   * data or none. The client's own request is then passed on.
   */
  readonly strictStatuses?: readonly number[]
  /** The age from which on data no longer changes, where that is later than policies assume: they are stretched to it. */
  readonly settledAgeMs?: number
}

/** For databases whose clients can cancel a query by its id. */
export interface Cancellation {
  /** The id of the query that a request cancels; undefined where it cancels none. */
  cancels(method: string, path: string): string | undefined
  /** The answer to the client of a cancelled query. */
  cancelledAnswer(plan: Plan): ErrorAnswer & { readonly status: number }
  /** Whether an error means that the query was cancelled, by any client. */
  isCancellation(status: number, body: Uint8Array): boolean
}

/** How answers look to clients and people, beyond the data itself. */
export interface Presentation<Own extends string = string> {
  /** Its own bypass reasons in words. */
  readonly reasons?: Readonly<Record<Own, ReasonWords>>
  /** An error of our own in the form that clients of this database understand; plain text without it. */
  errorAnswer?(status: number, message: string): ErrorAnswer
  /** Response headers that belong to one execution of a query: a stored answer gets new ones. */
  ownHeaders?(plan: Pick<Plan, 'queryId' | 'request'>, newId: () => string): HeaderList
  /** The text that people recognise an unplanned request by: the query without the parts that move with the time. */
  requestText?(request: WireRequest): string
  /**
   * How `answer` differs from the database's own answer. Notes in another order, or more of them, are no difference.
   * Without this method every other byte is a difference.
   */
  differenceFrom?(direct: Uint8Array, answer: Uint8Array): AnswerDifference
}

/**
 * One database dialect: five verbs (parse, plan, narrow, decompose, recompose), its declarations, and optional groups.
 */
export interface Backend<Query = unknown, Own extends string = string> {
  readonly name: string
  readonly capabilities: BackendCapabilities
  readonly flavour: FlavourProbe
  /** Whether `parse` may return a query for such a request: called before its body is read. */
  claims(method: string, path: string): boolean
  /** Reads a request. Returns undefined when it is not a range query of this database: it is forwarded untouched. */
  parse(request: WireRequest): Query | Bypass<Own> | undefined
  /**
   * Decides shape, grid and window. Fails closed: when unsure, a bypass with a reason. Never throws. Without a flavour,
   * only rules that hold for every version apply.
   */
  plan(query: Query, now: EpochMs, flavour?: Flavour): Plan | Bypass<Own>
  /**
   * The plan of the same request for other instants (`Plan.asked`), as if the client had sent it; a bypass where that request
   * is not eligible. A database without it has no `align` and no `edges`.
   */
  over?(plan: Plan, asked: readonly TimeSpan[], now: EpochMs): Plan | Bypass<Own>
  /**
   * The request whose answer holds exactly the buckets of `intervals` (of edges: their parts), in the same encoding as
   * the client's. The intervals are not empty, disjoint and in time order; there is one unless several can be taken.
   */
  narrow(plan: Plan, intervals: readonly Interval[]): WireRequest
  /** A sink for the answer to `narrow(plan, intervals)`. */
  decompose(plan: Plan, intervals: readonly Interval[]): Sink
  /**
   * The answer from disjoint panes in time order that cover the whole buckets and the edges, and no others (or, when
   * stale, the beginning of that).
   */
  recompose(plan: Plan, panes: readonly Pane[], options?: RecomposeOptions): Recomposed
  readonly presentation?: Presentation<Own>
  readonly cancellation?: Cancellation
  /** Which of its answers are cached as a whole. */
  readonly whole?: WholeAnswers
  /** How changes of settled data are detected, where the database exposes them. */
  readonly segments?: SegmentWatch
}
