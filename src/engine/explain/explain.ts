/**
 * Explains the decision about a planned request at this moment, without any effect: no fetch, no write, no change in
 * the order of use. It follows the path of interval-cache.ts, through the same functions.
 */

import type { Bypass, Plan } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import { cover } from '../../core/coverage.ts'
import type { BucketState, CoverageRun } from '../../core/coverage-runs.ts'
import { inTime } from '../../core/deadline.ts'
import type { Outcome, ReasonWords } from '../../core/decision.ts'
import { type Grid, startOf } from '../../core/grid.ts'
import {
  countOf,
  hullOf,
  type Interval,
  type Intervals,
  intersect,
  lengthOf,
  nothing,
} from '../../core/interval.ts'
import { type Key, keyOf } from '../../core/key.ts'
import type { BucketMark, MarkKind } from '../../core/mark.ts'
import type { Pane } from '../../core/pane.ts'
import { peekInto } from '../../stores/peek.ts'
import type { Found } from '../../stores/store.ts'
import type { GapFiller } from '../fill.ts'
import { wholeIn } from '../flights.ts'
import { askedBy, gapsIn, lapsingIn, missOf } from '../gaps.ts'
import type { Forbidden } from '../http/answer-terms.ts'
import { coverParts } from '../parts.ts'
import { readRuns, withOneFrame } from '../stored.ts'
import { type CacheRequest, type IntervalCacheOptions, policyOver } from '../trip.ts'
import { vouchedOver } from '../witness.ts'
import { clocksOf, type FreshnessRules, type RunClocks, type Ttls, ttlsOf } from './runs.ts'
import { bypassSentence, fillSentence, hitSentence, refusedSentence } from './sentence.ts'
import { type ShownQuery, shownQuery } from './shown-query.ts'

export type ExplainedRequest = Omit<CacheRequest, 'client' | 'target'>

/** Half-open, in milliseconds. */
export interface ExplainedInterval {
  readonly from: EpochMs
  readonly to: EpochMs
  readonly buckets: number
}

export interface ExplainedRun extends ExplainedInterval, RunClocks {
  readonly state: BucketState
  readonly settled: boolean
  /** Why stored buckets are absent or stale before their time. */
  readonly mark?: { readonly kind: MarkKind; readonly at: EpochMs }
  /** Past their TTLs, and fresh because a witness states that they have not changed. */
  readonly vouched?: true
}

export interface ExplainedEdge extends ExplainedInterval {
  readonly state: BucketState
}

/** A mark on the window; it concerns buckets fetched at or before `at`. */
export interface ExplainedMark extends ExplainedInterval {
  readonly kind: MarkKind
  readonly at: EpochMs
}

export interface ExplainedQuery extends ExplainedInterval, ShownQuery {}

export interface ExplainedTtl extends ExplainedInterval, Ttls {}

export interface Explanation {
  /** The outcome, if the database answers. */
  readonly outcome: Outcome
  readonly reason?: string
  readonly detail?: string
  readonly now: EpochMs
  readonly key?: Key
  readonly shape?: string
  readonly sources?: readonly string[]
  readonly grid?: Grid
  readonly policy?: string
  /** The name of the rule that makes an exception of the request. */
  readonly rule?: string
  /** From the first to the last bucket, and the number of requested ones. */
  readonly window?: ExplainedInterval
  /** The whole requested buckets, in runs of one state, in time order. */
  readonly runs?: readonly ExplainedRun[]
  /** How many there are beyond those listed. */
  readonly moreRuns?: number
  /** The partially requested buckets, and the state of the requested parts. */
  readonly edges?: readonly ExplainedEdge[]
  /** The exception through which the answer is that to another request, as `Cache-Status` names it. */
  readonly rewritten?: string
  /** Purges and changes in force over the window, the latest first. */
  readonly marks?: readonly ExplainedMark[]
  /** From the first to the last bucket that has to be fetched, and how many do. */
  readonly gap?: ExplainedInterval
  /** Fetches under way that would be waited for. */
  readonly joined?: readonly (ExplainedInterval & { readonly startedAt: EpochMs })[]
  /** The query that would be sent to the database. */
  readonly asked?: ExplainedQuery
  /** Why the last answer to the question was not stored, where the database forbade it. */
  readonly unstored?: Forbidden
  /** The TTLs that its buckets would get. */
  readonly ttls?: readonly ExplainedTtl[]
  readonly sentence: string
}

const maxRuns = 500
const maxMarks = 20

type Filler = Pick<GapFiller, 'preview' | 'whyUnstored' | 'parts'>

/** A request, under the policy of its shape. */
interface ExplainContext {
  readonly options: IntervalCacheOptions
  readonly request: ExplainedRequest
  readonly key: Key
  readonly filler: Filler
  readonly rules: FreshnessRules
}

export async function explainPlan(
  options: IntervalCacheOptions,
  request: ExplainedRequest,
  filler: Filler,
): Promise<Explanation> {
  const { plan, identity } = request
  const key = keyOf({ backend: options.name, identity, shape: plan.shape, grid: plan.grid })
  const about = { key, ...aboutPlan(plan) }
  try {
    const found = await look(options, key, plan.whole)
    const policy = policyOver(options, request, key)
    const vouched = vouchedOver(options, plan)
    const rules = { grid: plan.grid, policy, now: options.clock.now(), vouched }
    return { ...about, ...explain({ options, request, key, filler, rules }, found) }
  } catch {
    return { ...about, ...explainBypass({ bypass: 'store_failed' }, options.clock.now()) }
  }
}

/** A request that would be passed on as it came. `own`: the reasons that the database itself declares. */
export const explainBypass = (
  why: Bypass<string>,
  now: EpochMs,
  own?: Readonly<Record<string, ReasonWords>>,
): Explanation => ({
  outcome: 'bypass',
  reason: why.bypass,
  ...(why.detail !== undefined && { detail: why.detail }),
  now,
  sentence: bypassSentence(why, own),
})

function look({ store, clock, storeTimeoutMs }: IntervalCacheOptions, key: Key, whole: Intervals) {
  const found = readRuns(whole, (run) => peekInto(store, key, run))
  return inTime(found, clock, storeTimeoutMs)
}

const aboutPlan = (plan: Plan) => {
  const { shape, sources, grid, rewritten } = plan
  return {
    ...{ shape, sources, grid, window: spanOfAll(grid, askedBy(plan)) },
    ...(rewritten !== undefined && { rewritten }),
  }
}

const spanOf = (grid: Grid, interval: Interval): ExplainedInterval => ({
  from: startOf(grid, interval.from),
  to: startOf(grid, interval.to),
  buckets: lengthOf(interval),
})

/** From the first to the last, and how many buckets of that are meant. */
const spanOfAll = (grid: Grid, intervals: Intervals): ExplainedInterval => ({
  ...spanOf(grid, hullOf(intervals)),
  buckets: countOf(intervals),
})

function explain(context: ExplainContext, found: Found | undefined): Explanation {
  const { options, request, key, filler } = context
  const { plan, demands } = request
  const panes = found === undefined ? [] : withOneFrame(found).panes
  const marks = options.marks.marksFor(key, plan)
  const rules = { ...context.rules, notBefore: demands.notBefore, marks }
  const { runs } = cover(plan.whole, panes, rules)
  const { capabilities } = options.backend
  const kept = filler.parts.peek({ key, plan })
  const parts = coverParts(plan, kept, { rules, frame: panes[0] })
  const gaps = gapsIn({ whole: plan.whole, edges: parts?.lacking }, runs, capabilities)
  const edges = parts?.coverage.runs ?? []
  const seen = { ...seenIn(runs, panes, rules), ...edgesIn(edges, plan.grid), ...marksIn(marks, plan) }
  if (gaps.length === 0) {
    // The TTLs of parts count for a hit.
    const parted = edges.map((run) => shownRun(run, parts?.panes ?? [], rules))
    return { outcome: 'hit', ...seen, sentence: hitSentence([...seen.runs, ...parted]) }
  }
  const lacking = countOf(parts?.lacking?.buckets ?? nothing)
  if (demands.onlyIfCached) {
    const sentence = refusedSentence(seen.runs, lacking)
    return { outcome: 'refused', reason: 'only_if_cached', ...seen, sentence }
  }
  const moving = kept === undefined ? plan.edges : undefined
  const lapsing = lapsingIn({ whole: plan.whole, edges: moving }, { panes, rules }, capabilities)
  const filling = fillingOf(context, gaps, lapsing)
  const miss = missOf(runs, gaps, request)
  const sentence = fillSentence({ ...miss, ...seen, ...filling, parts: lacking })
  return { ...miss, ...seen, ...filling, sentence }
}

const edgesIn = (runs: readonly CoverageRun[], grid: Grid): Pick<Explanation, 'edges'> =>
  runs.length === 0
    ? {}
    : { edges: runs.slice(0, maxRuns).map((run) => ({ ...spanOf(grid, run), state: run.state })) }

function seenIn(runs: readonly CoverageRun[], panes: readonly Pane[], rules: FreshnessRules) {
  const listed = runs.slice(0, maxRuns).map((run): ExplainedRun => {
    const { mark, vouched } = run
    const why = { ...(mark && { mark: { kind: mark.kind, at: mark.at } }), ...(vouched && { vouched }) }
    return { ...shownRun(run, panes, rules), ...why }
  })
  const more = runs.length - listed.length
  const { now, policy } = rules
  return { now, policy: policy.name, runs: listed, ...(more > 0 && { moreRuns: more }) }
}

function shownRun(run: CoverageRun, panes: readonly Pane[], rules: FreshnessRules): ExplainedRun {
  const { state, settled } = run
  return { ...spanOf(rules.grid, run), state, settled, ...clocksOf(run, panes, rules) }
}

function marksIn(marks: readonly BucketMark[], { grid, window }: Plan): Pick<Explanation, 'marks'> {
  const inside = marks
    .map((mark) => ({ ...spanOf(grid, intersect(mark, window)), kind: mark.kind, at: mark.at }))
    .filter(({ buckets }) => buckets > 0)
    .sort((a, b) => b.at - a.at)
  return inside.length === 0 ? {} : { marks: inside.slice(0, maxMarks) }
}

function fillingOf(context: ExplainContext, gaps: Intervals, lapsing: Intervals) {
  const { request, key, filler, options } = context
  const { plan } = request
  const { joined, asked } = filler.preview({ key, request }, gaps, lapsing)
  const unstored = filler.whyUnstored(key)
  const query = () => ({
    ...spanOfAll(plan.grid, asked),
    ...shownQuery(options.backend.narrow(plan, asked)),
  })
  return {
    gap: spanOfAll(plan.grid, gaps),
    joined: joined.map(({ intervals, startedAt }) => ({ ...spanOfAll(plan.grid, intervals), startedAt })),
    ...(asked.length > 0 && { asked: query(), ttls: ttlsIn(asked, context) }),
    ...(unstored && { unstored }),
  }
}

function ttlsIn(intervals: Intervals, { request, rules }: ExplainContext): readonly ExplainedTtl[] {
  const ttls = wholeIn(intervals, request.plan.edges).flatMap((interval) => ttlsOf(interval, rules))
  return ttls.slice(0, maxRuns).map(({ from, to, ...spreads }) => ({
    ...spanOf(rules.grid, { from, to }),
    ...spreads,
  }))
}
