/**
 * SQL queries: decomposable where rows are grouped by a bucket of time and bounded in time, and sorted by the bucket or by
 * columns that buckets can be merged by.
 * The clock is pinned: CURRENT_TIMESTAMP in a bound becomes the instant of planning, in every query that follows from it.
 */
import type { EpochMs } from '../../core/clock.ts'
import { bucketAt, type Grid, startOf } from '../../core/grid.ts'
import { countOf, nothing, subtractAll, uniteAll } from '../../core/interval.ts'
import type { Plan, WireRequest } from '../backend.ts'
import { rememberSql } from './body-memo.ts'
import { bucketsOf, type Touched } from './buckets.ts'
import type { DruidOptions, DruidPlan, Span } from './druid-plan.ts'
import { gridOf } from './granularity.ts'
import { type Bypass, invalid } from './reasons.ts'
import { readQuestion, type SqlQuestion } from './sql-question.ts'
import { shapeWith } from './wire.ts'

export function createSqlPlanner(options: DruidOptions) {
  const { maxBuckets } = options
  const questionIn = rememberSql((kind, text) => readQuestion(kind, text, options))
  return (request: WireRequest, now: EpochMs): DruidPlan | Bypass => {
    const question = questionIn(request)
    if ('bypass' in question) return question
    const spans = question.bounds.at(now)
    if (spans === undefined) return invalid('a local time that does not exist')
    return layoutOver({ question, request, maxBuckets }, spans, now)
  }
}

interface Asking {
  readonly question: SqlQuestion
  readonly request: WireRequest
  readonly maxBuckets: number
}

function layoutOver(asking: Asking, asked: readonly Span[], now: EpochMs): DruidPlan | Bypass {
  const layout = layOut(asking.question, asked, now)
  if ('bypass' in layout) return layout
  const buckets = touch(layout, asking.maxBuckets)
  if ('bypass' in buckets) return buckets
  return refuseTopN(asking.question, buckets) ?? planOf(asking, { ...layout, ...buckets, asked })
}

interface Layout {
  readonly grid: Grid
  readonly spans: readonly Span[]
  /**
   * Where the last span has no end: the first of the buckets that are not over before now, and the end that we set for
   * it.
   */
  readonly open?: { readonly from: number; readonly end: EpochMs }
}

const tenMinutes = 600_000
const twoDays = 172_800_000

function layOut({ granularity }: SqlQuestion, spans: readonly Span[], now: EpochMs): Layout | Bypass {
  const [first, last] = [spans[0], spans.at(-1)]
  if (first === undefined || last === undefined) return invalid('an empty range')
  if (first.from === Number.NEGATIVE_INFINITY) {
    return { bypass: 'too_many_buckets', detail: '__time has no lower bound' }
  }
  const isOpen = last.to === Number.POSITIVE_INFINITY
  const latest = isOpen ? Math.max(now, last.from) : last.to
  if (!Number.isFinite(latest)) return invalid('a bound that is no instant')
  const grid = gridOf(granularity, { from: first.from, to: isOpen ? latest + twoDays : latest })
  if ('bypass' in grid) return grid
  if (!isOpen) return { grid, spans }
  const from = bucketAt(grid, latest) + 1
  const end = startOf(grid, Math.max(from, bucketAt(grid, latest + tenMinutes)) + 1)
  return { grid, spans: [...spans.slice(0, -1), { from: last.from, to: end }], open: { from, end } }
}

/**
 * Without an upper bound, rows may lie in any bucket to come. So these buckets are an edge: fetched each time, without
 * an upper bound, and never stored. A row even later than the edge is found when the answer is read.
 */
function touch({ grid, spans, open }: Layout, maxBuckets: number): Touched | Bypass {
  const touched = bucketsOf(grid, spans, maxBuckets)
  if ('bypass' in touched || open === undefined) return touched
  const { window, whole, edges } = touched
  const future = { from: open.from, to: window.to }
  const buckets = uniteAll(edges?.buckets ?? nothing, [future])
  return {
    ...{ window, whole: subtractAll(whole, [future]) },
    edges: { buckets, parts: `${edges?.parts ?? ''}|${open.from}`, isStorable: true },
  }
}

/** A topN is exact if no server drops a bucket: each keeps as many as the limit, and at least 1,000. */
const leastKept = 1_000

function refuseTopN({ order, limit }: SqlQuestion, touched: Touched): Bypass | undefined {
  if (order?.isTopN !== true || bucketCount(touched) <= Math.max(leastKept, limit)) return undefined
  return { bypass: 'limit', detail: `an approximate choice from more than ${leastKept} buckets` }
}

const bucketCount = ({ whole, edges }: Touched): number => countOf(whole) + countOf(edges?.buckets ?? nothing)

function planOf(asking: Asking, layout: Layout & Touched & Required<Pick<Plan, 'asked'>>): DruidPlan {
  const { question, request } = asking
  const { text, sources, terms, format, isDescending, limit, order, queryId, frame, bounds } = question
  const { open, ...places } = layout
  const isCut = limit < (question.isAlone ? bucketCount(layout) : Number.POSITIVE_INFINITY)
  const isVerbatim = order === undefined && !isCut
  return {
    ...places,
    text,
    shape: shapeWith(question.shape, request),
    sources,
    knowsAllSources: true,
    lookbackMs: 0,
    terms,
    isVerbatim,
    // The shape contains order and limit.
    isFixedByPanes: true,
    isAsSent: isVerbatim && !bounds.isRelative && open === undefined,
    request,
    format,
    isDescending,
    limit: isCut ? limit : Number.POSITIVE_INFINITY,
    isUnlimited: isCut && !question.isAlone,
    order,
    queryId,
    rewrite: (parts) =>
      Buffer.from(frame.head + conditionOf(parts, question.isSteady, open?.end) + frame.tail),
    layoutOver: (others, now) => layoutOver(asking, others, now),
  }
}

/**
 * Druid makes a local time of MILLIS_TO_TIMESTAMP(…), and where clocks are put back it then reads an hour too early;
 * milliseconds it compares as they are. Both become intervals of the native query.
 */
function conditionOf(spans: readonly Span[], isSteady: boolean, openEnd: EpochMs | undefined): string {
  const limit = (operator: string, at: EpochMs): string =>
    isSteady
      ? `__time ${operator} MILLIS_TO_TIMESTAMP(${at})`
      : `TIMESTAMP_TO_MILLIS(__time) ${operator} ${at}`
  const conditions = spans.map(({ from, to }) =>
    to === openEnd ? `(${limit('>=', from)})` : `(${limit('>=', from)} AND ${limit('<', to)})`,
  )
  return conditions.length === 1 ? conditions[0]! : `(${conditions.join(' OR ')})`
}
