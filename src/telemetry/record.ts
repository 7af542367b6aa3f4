/**
 * The record of one answered request, for metrics, logs, the recorder and the admin API. Made once from the decision,
 * when the response is complete. It is flat, and it keeps no reference to the request: its strings are bounded, and are
 * copies where they might keep a longer one alive.
 */
import type { Plan, WireRequest } from '../backends/backend.ts'
import type { Calendar } from '../core/calendar.ts'
import type { EpochMs } from '../core/clock.ts'
import type { Decision, Outcome, UnstoredReason } from '../core/decision.ts'
import { bucketsBetween, startOf } from '../core/grid.ts'
import { countOf, nothing } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { copyOf } from '../core/memo.ts'
import { shorten } from '../core/text.ts'
import type { SpanIds } from './channels.ts'
import { type BucketSource, bucketsAsked, piecesOf, type RecordRun } from './record-runs.ts'

/** The data about a request whose response is complete. */
export interface Visit {
  readonly decision: Decision
  readonly method: string
  readonly path: string
  /** Where the request turned out to be one that can be cached. */
  readonly plan: Plan | undefined
  /** Where it was taken for a range query. */
  readonly wire: WireRequest | undefined
  /**
   * The text that people recognise the request by, where it was not planned and its backend has a better one than path
   * and query.
   */
  readonly question?: string | undefined
  /** Of an answer that is kept as a whole. */
  readonly endpoint?: string | undefined
  /** It was passed on as it came. */
  readonly isForwarded: boolean
  /** Where it is traced. */
  readonly trace?: SpanIds | undefined
  /** `gone`: the client left; `broken`: the answer could not be completed. */
  readonly ending: 'whole' | 'gone' | 'broken'
  readonly status: number
  /** Bytes of the body as given to the client. */
  readonly bytes: number
  readonly totalMs: number
  readonly endedAt: EpochMs
}

export interface RequestRecord {
  /** When the request came. */
  readonly at: EpochMs
  readonly backend: string
  readonly method: string
  readonly outcome: Outcome
  readonly reason: string | undefined
  readonly detail: string | undefined
  /** The question without its time range; where it was not planned, path and query. */
  readonly shape: string
  readonly key: Key | undefined
  /** Of the grid; 0 where the request was not planned, and then there is no window. */
  readonly stepMs: number
  /** Where the grid's buckets lie within the step: equal questions on grids of unequal phase share nothing. */
  readonly phaseMs: number
  /** Where its buckets are days or months; the step is then how long they are on average. */
  readonly calendar: Calendar | undefined
  /** The window, half-open. */
  readonly from: EpochMs
  readonly to: EpochMs
  /** Buckets in it: fewer than it is long where the request has several ranges. */
  readonly buckets: number
  /** From the first to the last bucket that was not in the store; empty where from = to. And how many there were. */
  readonly gapFrom: EpochMs
  readonly gapTo: EpochMs
  readonly gapBuckets: number
  /** From where to where it could be answered, and how many buckets could not. */
  readonly knownFrom: EpochMs
  readonly knownTo: EpochMs
  readonly missingBuckets: number
  /** The window in runs, where those bounds cannot express them. */
  readonly pieces?: readonly RecordRun[] | undefined
  /** Buckets that this request fetched from the database; the rest of the gaps came with other requests. */
  readonly asked: number
  readonly bytes: number
  readonly status: number
  readonly upstreamStatus: number | undefined
  readonly planMs: number
  readonly lookupMs: number
  readonly fetchMs: number
  readonly totalMs: number
  readonly ageSeconds: number | undefined
  readonly ttlSeconds: number | undefined
  /** Of an answer that is kept as a whole. */
  readonly endpoint: string | undefined
  readonly isForwarded: boolean
  readonly isCollapsed: boolean
  readonly isStored: boolean
  /** Why the database forbids storing its response. */
  readonly unstored: UnstoredReason | undefined
}

export const maxShapeChars = 1024
const maxDetailChars = 256

/** `backend` is the name of the database in the configuration. */
export function recordOf(backend: string, visit: Visit): RequestRecord {
  const { decision, plan, ending, totalMs } = visit
  const { timings, gaps = nothing, known } = decision
  const isOver = ending === 'whole' || decision.outcome === 'error'
  const outcome = isOver ? decision.outcome : 'error'
  const grid = plan?.grid
  const to = grid === undefined ? 0 : startOf(grid, plan!.window.to)
  const from = grid === undefined ? 0 : startOf(grid, plan!.window.from)
  const buckets = plan === undefined ? 0 : bucketsAsked(plan)
  const hasGap = grid !== undefined && gaps.length > 0
  const pieces = plan && piecesOf(plan, decision)
  const before = timings.plan + timings.lookup
  return {
    at: visit.endedAt - totalMs,
    backend,
    method: visit.method,
    outcome,
    reason: reasonOf(visit),
    detail: detailOf(decision),
    shape: shapeOf(visit),
    key: decision.key,
    stepMs: grid === undefined ? 0 : grid.step,
    phaseMs: grid === undefined ? 0 : grid.origin,
    calendar: grid?.calendar,
    from,
    to,
    buckets,
    gapFrom: hasGap ? startOf(grid, gaps[0]!.from) : to,
    gapTo: hasGap ? startOf(grid, gaps.at(-1)!.to) : to,
    gapBuckets: countOf(gaps),
    knownFrom: known === undefined || grid === undefined ? from : startOf(grid, known.from),
    knownTo: known === undefined || grid === undefined ? to : startOf(grid, known.to),
    missingBuckets: decision.missingBuckets ?? 0,
    pieces,
    asked: decision.asked ?? (visit.isForwarded ? buckets : 0),
    bytes: visit.bytes,
    status: visit.status,
    upstreamStatus: decision.upstreamStatus,
    planMs: timings.plan,
    lookupMs: timings.lookup,
    // While an answer is streamed, fetching and replying are one.
    fetchMs: Math.min(timings.fetch, Math.max(0, totalMs - before)),
    totalMs,
    ageSeconds: decision.ageSeconds,
    ttlSeconds: decision.ttlSeconds,
    endpoint: visit.endpoint,
    isForwarded: visit.isForwarded,
    isCollapsed: decision.collapsed === true,
    isStored: decision.stored === true,
    unstored: decision.unstored,
  }
}

/** Names the exception first; a request that was forwarded was not rewritten. */
function detailOf({ outcome, rewritten, detail }: Decision): string | undefined {
  const exception = outcome === 'bypass' ? undefined : rewritten
  const texts = [exception, detail].filter((text) => text !== undefined)
  return texts.length === 0 ? undefined : shorten(texts.join('; '), maxDetailChars)
}

function shapeOf(visit: Visit): string {
  const text = visit.plan?.shape ?? visit.question
  return text === undefined ? questionOf(visit, maxShapeChars) : shorten(text, maxShapeChars)
}

/** Enough for display; a body of megabytes is not read for it. */
const maxReadBytes = 8192

/** The text that people recognise an unplanned request by: its path and, where it has one, its query. */
function questionOf({ path, wire }: Pick<Visit, 'path' | 'wire'>, max: number): string {
  const query = wire === undefined ? null : (queryIn(wire.search) ?? queryIn(beginningOf(wire.body)))
  return copyOf((query === null ? path : `${path} ${query}`).slice(0, max))
}

const queryIn = (form: string): string | null =>
  form.includes('query=') ? new URLSearchParams(form.slice(0, maxReadBytes)).get('query') : null

const beginningOf = (body: Uint8Array): string =>
  Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, maxReadBytes)).toString()

function reasonOf({ decision, ending }: Visit): string | undefined {
  const { outcome, reason } = decision
  if (ending === 'whole' || (outcome === 'error' && reason !== undefined)) {
    return outcome === 'error' ? (reason ?? 'internal') : reason
  }
  return ending === 'gone' ? 'client_gone' : 'database_unreachable'
}

type GridFields = Pick<RequestRecord, 'stepMs' | 'phaseMs' | 'calendar'>

/** How many buckets there are between two beginnings, in a request that was planned. */
export function countBuckets({ stepMs, phaseMs, calendar }: GridFields, from: EpochMs, to: EpochMs): number {
  if (calendar === undefined) return (to - from) / stepMs
  return bucketsBetween({ kind: 'cell', step: stepMs, origin: phaseMs, calendar }, from, to)
}

/** How many buckets of the answer came from where; nothing was answered where there was an error. */
export function bucketsOf(record: RequestRecord, source: BucketSource): number {
  const { stepMs, outcome, buckets, gapBuckets, missingBuckets } = record
  if (stepMs === 0 || outcome === 'error' || outcome === 'refused') return 0
  if (source === 'missing') return missingBuckets
  if (outcome === 'bypass') return source === 'origin' ? buckets : 0
  return source === 'origin' ? gapBuckets : buckets - gapBuckets - missingBuckets
}

/** The window in runs, in time order: cached beginning, fetched, cached end, missing. */
export function runsOf(record: RequestRecord): readonly RecordRun[] {
  const { outcome, from, to, gapFrom, gapTo, knownFrom, knownTo, pieces } = record
  if (record.stepMs === 0 || outcome === 'error' || outcome === 'refused') return []
  if (pieces !== undefined) return pieces
  if (outcome === 'bypass') return [{ source: 'origin', from, to }]
  const runs: RecordRun[] = [
    { source: 'missing', from, to: knownFrom },
    { source: 'cache', from: knownFrom, to: Math.min(gapFrom, knownTo) },
    { source: 'origin', from: gapFrom, to: gapTo },
    { source: 'cache', from: gapTo, to },
    { source: 'missing', from: knownTo, to },
  ]
  return runs.filter((run) => run.from < run.to)
}

/** The assumed memory of a record. */
export const sizeOf = (record: RequestRecord): number =>
  640 + 2 * (record.shape.length + (record.detail?.length ?? 0)) + 64 * (record.pieces?.length ?? 0)
