/** Native queries: the requested time is cut out, the rest is parsed once and memoised, both make a plan. */
import { hullOf } from '../../core/interval.ts'
import { Memo } from '../../core/memo.ts'
import { longestRemembered, remembered, rememberNative } from './body-memo.ts'
import { bucketsOf } from './buckets.ts'
import type { DruidOptions, DruidPlan, Span } from './druid-plan.ts'
import { gridOf } from './granularity.ts'
import { printIntervals, readIntervals } from './intervals.ts'
import { type JsonNode, readJson, readJsonObject } from './json.ts'
import { type Cut, cutIntervals, placeholder } from './native-cut.ts'
import { type LimitPlace, type NativeQuery, readNative } from './native-query.ts'
import { nativePath } from './paths.ts'
import { type Bypass, malformed } from './reasons.ts'

/** A plan without the request. */
export type Layout = Omit<DruidPlan, 'request'>

interface NativeQuestion extends NativeQuery {
  readonly shape: string
  /** Where the intervals stand in its text. */
  readonly intervalsAt: number
  readonly rewrite: DruidPlan['rewrite']
}

/** Long questions have a memory of their own, so that they do not push out the many short ones. */
const rememberedLong = { maxTexts: 64, maxCharacters: 4 << 20 }

export function createNativePlanner({ maxBuckets, ignoredContext }: DruidOptions) {
  const questions = new Memo(remembered, (text) => readQuestion(text, ignoredContext))
  const longQuestions = new Memo(rememberedLong, (text) => readQuestion(text, ignoredContext))
  return rememberNative<Layout>((body) => {
    const cut = cutIntervals(body)
    if (cut === undefined) return withoutIntervals(body)
    const isShort = cut.question.length <= longestRemembered
    const question = (isShort ? questions : longQuestions).get(cut.question)
    return 'bypass' in question ? question : layOut(question, cut, maxBuckets)
  })
}

function withoutIntervals(body: string): Bypass {
  const node = readJsonObject(body)
  if ('bypass' in node) return node
  // Other types have none, or none that count.
  const question = readNative(node)
  if ('bypass' in question && question.bypass === 'other_query_type') return question
  return { bypass: 'missing_parameter', detail: 'no intervals' }
}

function readQuestion(text: string, ignored?: readonly string[]): NativeQuestion | Bypass {
  const node = readJsonObject(text)
  if ('bypass' in node) return node
  const query = readNative(node, ignored)
  if ('bypass' in query) return query
  const intervals = node.members.get('intervals')
  if (intervals === undefined) return malformed('no intervals where they were found')
  const shape = `["${nativePath}",${query.text}]`
  return {
    ...query,
    shape,
    intervalsAt: intervals.start,
    rewrite: rewriterOf(text, intervals, query.limitAt),
  }
}

/** The client's own text with other intervals, and without a limit: it holds for all rows, not for those of a part. */
function rewriterOf(text: string, intervals: JsonNode, limit: LimitPlace | undefined): DruidPlan['rewrite'] {
  const { start: from, end: to } = limit?.node ?? { start: text.length, end: text.length }
  const none = limit?.none ?? ''
  const unlimited = text.slice(0, from) + none + text.slice(to)
  const start = intervals.start + (from < intervals.start ? none.length - (to - from) : 0)
  const head = unlimited.slice(0, start)
  const tail = unlimited.slice(start + placeholder.length)
  return (spans) => Buffer.from(head + printIntervals(spans) + tail)
}

function layOut(question: NativeQuestion, { at, intervals }: Cut, maxBuckets: number): Layout | Bypass {
  if (at !== question.intervalsAt) return malformed('intervals in an odd place')
  const node = readJson(intervals)
  if ('bypass' in node) return node
  const spans = readIntervals(node)
  return 'bypass' in spans ? spans : layoutOver(question, spans, maxBuckets)
}

function layoutOver(question: NativeQuestion, spans: readonly Span[], maxBuckets: number): Layout | Bypass {
  const grid = gridOf(question.granularity, hullOf(spans))
  if ('bypass' in grid) return grid
  const buckets = bucketsOf(grid, spans, maxBuckets)
  if ('bypass' in buckets) return buckets
  const { text, shape, sources, format, isDescending, limit, queryId, terms, rewrite } = question
  const reads = { sources, knowsAllSources: true, lookbackMs: 0 }
  const isVerbatim = limit === Number.POSITIVE_INFINITY
  const isUnlimited = question.limitAt?.isOfRows === true
  const answer = { format, isDescending, limit, isVerbatim, isUnlimited, isAsSent: isVerbatim }
  return {
    ...{ text, shape, grid, ...buckets, ...reads, terms, ...answer, spans, asked: spans, queryId, rewrite },
    layoutOver: (asked) => layoutOver(question, asked, maxBuckets),
  }
}
