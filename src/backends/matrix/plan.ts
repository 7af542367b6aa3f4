/** Which requests are range queries, and how each lies on its grid. Fails closed: when unsure, a bypass. */
import type { EpochMs } from '../../core/clock.ts'
import { bucketAt, gridThrough } from '../../core/grid.ts'
import { lengthOf } from '../../core/interval.ts'
import { Memo } from '../../core/memo.ts'
import type { Backend, BackendCapabilities, Flavour, Plan, WireRequest } from '../backend.ts'
import type { BackendOptions } from '../kind.ts'
import { firstValue, onlyForm, type Pairs, readForm, readPairs, valuesByName } from './form.ts'
import { isRangeQuery, rangeQueryPath } from './paths.ts'
import type { Examine, Examined } from './promql.ts'
import { maxTextLength } from './query-text.ts'
import { type IsQuestionHeader, questionHeaders } from './question-headers.ts'
import { lookbackOf } from './reach.ts'
import type { PromqlBypass, PromqlReason } from './reasons.ts'
import type { MatrixPlan } from './single-step.ts'
import { parseStep, readRange, refuseLength, type TimeRange } from './time.ts'

export interface RangeQuery {
  readonly request: WireRequest
  readonly question: ParsedRange
}

/** The content of a request, apart from the client. */
export interface ParsedRange extends TimeRange {
  /** The PromQL text as submitted. */
  readonly text: string
  readonly pairs: Pairs
  /** How it lies on its grid, once that was found out: it is the same for everybody and for ever. */
  layout?: Layout | PromqlBypass
}

interface Layout {
  readonly examined: Examined
  readonly plan: Omit<MatrixPlan, 'request'>
}

type Late = Pick<BackendCapabilities, 'settledAgeMs'>

/** The rules in which databases differ. */
export interface Rules extends Late {
  readonly examine: Examine
  /** Parameters that are never part of the question, besides query, start, end, step and timeout. */
  readonly otherTerms: readonly string[]
  /** Which parameters, or spellings of them, the database reads in a way that is not known here. */
  refuse(pairs: Pairs): PromqlBypass | undefined
  /** Which request headers, in lower case, are part of the shape; none by default. */
  readonly isQuestionHeader?: IsQuestionHeader
  /** The exceptions that the plan of an examined query depends on, or why this server's answer to it cannot be cut. */
  exceptionsFor?(
    query: RangeQuery,
    examined: Examined,
    flavour: Flavour | undefined,
  ): Plan['exceptions'] | PromqlBypass
  /** Which of the requested buckets are whole; by default all are. */
  split?(buckets: PlannedBuckets, now: EpochMs): Split | undefined
}

export type PlannedBuckets = Pick<Plan, 'grid' | 'window' | 'whole' | 'asked'>
export type Split = Pick<Plan, 'whole' | 'edges'>
export type Planner = Required<Pick<Backend<RangeQuery, PromqlReason>, 'parse' | 'plan' | 'over'> & Late>

/** Forms that are memoised: many viewers request the same panel. */
const remembered = { maxTexts: 4_000, maxCharacters: 2 << 20 }
const longestRemembered = 8 << 10
/** The longest text that is parsed, with every character escaped, and as much again for the other parameters. */
const maxFormBytes = 2 * 3 * maxTextLength
const tooLong: PromqlBypass = { bypass: 'unparseable_query', detail: 'the query is too long' }

export function createPlanner(options: BackendOptions, rules: Rules): Planner {
  const questions = new Memo(remembered, (form) => read(readPairs(form)))
  const layouts = new LayoutRules(options, rules)
  const { settledAgeMs = 0 } = rules
  return {
    settledAgeMs,
    parse(request) {
      if (!isRangeQuery(request.method, request.path)) return undefined
      if (request.search.length + request.body.length > maxFormBytes) return tooLong
      const form = onlyForm(request)
      const isRemembered = form !== undefined && form.length <= longestRemembered
      const question = isRemembered ? questions.get(form) : read(readForm(request))
      return 'bypass' in question ? question : { request, question }
    },
    plan(query, now, flavour) {
      const { question, request } = query
      question.layout ??= layouts.of(question)
      if ('bypass' in question.layout) return question.layout
      const { examined, plan } = question.layout
      const settledBefore = now - Math.max(options.settledAgeMs, settledAgeMs)
      // An offset may make an expression read data after the time of its @.
      if (examined.atTimes.some((at) => at + examined.reach.aheadMs > settledBefore))
        return { bypass: 'recent_at_modifier' }
      const exceptions = rules.exceptionsFor?.(query, examined, flavour)
      if (exceptions !== undefined && 'bypass' in exceptions) return exceptions
      const planned = { ...withHeaders(plan, request, rules), request }
      const split = rules.split?.(plan, now)
      const own = split === undefined ? planned : { ...planned, ...split }
      return exceptions === undefined ? own : { ...own, exceptions }
    },
    over({ edges: _, ...plan }: MatrixPlan, [asked], now) {
      const { from: start, to: end } = asked!
      const range = { start, end, stepMs: plan.grid.step }
      const buckets = refuseLength(range) ?? bucketsOf(range, options.maxBuckets)
      if ('bypass' in buckets) return buckets
      return { ...plan, ...buckets, ...rules.split?.(buckets, now), isVerbatim: isVerbatim(plan, buckets) }
    },
  }
}

/** Headers follow as an object: a parameter of any name is an array. */
function withHeaders(
  plan: Layout['plan'],
  { headers }: WireRequest,
  { isQuestionHeader }: Rules,
): Layout['plan'] {
  const asked = isQuestionHeader === undefined ? [] : questionHeaders(headers, isQuestionHeader)
  if (asked.length === 0) return plan
  return { ...plan, shape: `${plan.shape.slice(0, -1)},${JSON.stringify(Object.fromEntries(asked))}]` }
}

function read(pairs: Pairs | PromqlBypass): ParsedRange | PromqlBypass {
  if ('bypass' in pairs) return pairs
  const [text, start, end, step] = ['query', 'start', 'end', 'step'].map((name) => firstValue(pairs, name))
  if (text === undefined || start === undefined || end === undefined || step === undefined) {
    return { bypass: 'missing_parameter' }
  }
  const range = readRange(start, end, step)
  return 'bypass' in range ? range : { text, pairs, ...range }
}

/** A single step of a sorted answer is fetched with a neighbour. */
const isVerbatim = (
  { isSorted }: { readonly isSorted?: boolean },
  { window }: Pick<MatrixPlan, 'window'>,
): boolean => isSorted !== true || lengthOf(window) > 1

/** Where a range lies on its grid. */
function bucketsOf({ start, end, stepMs }: TimeRange, maxBuckets: number): PlannedBuckets | PromqlBypass {
  const grid = gridThrough('point', stepMs, start)
  const window = { from: bucketAt(grid, start), to: bucketAt(grid, end) + 1 }
  if (lengthOf(window) > maxBuckets) return { bypass: 'too_many_buckets' }
  return { grid, window, whole: [window], asked: [{ from: start, to: end }] }
}

class LayoutRules {
  readonly #rules: Rules
  readonly #maxBuckets: number
  readonly #outsideTheQuestion: ReadonlySet<string>

  constructor({ maxBuckets }: BackendOptions, rules: Rules) {
    this.#rules = rules
    this.#maxBuckets = maxBuckets
    this.#outsideTheQuestion = new Set(['query', 'start', 'end', 'step', 'timeout', ...rules.otherTerms])
  }

  of(question: ParsedRange): Layout | PromqlBypass {
    const { text, pairs } = question
    const refusal = this.#rules.refuse(pairs) ?? refuseTimeout(pairs)
    if (refusal !== undefined) return refusal
    const examined = this.#rules.examine(text)
    if ('bypass' in examined) return examined
    const buckets = bucketsOf(question, this.#maxBuckets)
    if ('bypass' in buckets) return buckets
    const plan = {
      text,
      shape: this.#shapeOf(question),
      ...buckets,
      sources: examined.metrics,
      knowsAllSources: examined.namesAll,
      lookbackMs: Math.max(...deltas.map((name) => lookbackOf(examined.reach, firstValue(pairs, name)))),
      ...(examined.reach.aheadMs > 0 && { lookaheadMs: examined.reach.aheadMs }),
      terms: firstValue(pairs, 'timeout') ?? '',
      isVerbatim: isVerbatim(examined, buckets),
      ...(examined.isSorted && { isSorted: true }),
    }
    return { examined, plan }
  }

  /** JSON, because it is unambiguous and people read it: path, PromQL, step in ms, then the other parameters. */
  #shapeOf({ text, stepMs, pairs }: ParsedRange): string {
    return JSON.stringify([rangeQueryPath, text, stepMs, ...this.#otherParameters(pairs)])
  }

  /** Every parameter that may change the answer, however the request was written. */
  #otherParameters(pairs: Pairs): readonly (readonly string[])[] {
    const others = valuesByName(pairs).filter(([name]) => !this.#outsideTheQuestion.has(name!))
    return others.flatMap((entry) => {
      const [name, value] = entry
      if (name !== 'lookback_delta') return [entry]
      // Of several the first counts, and an empty one is as good as none.
      return value === '' ? [] : [[name, value!]]
    })
  }
}

/** The second is M3's. Of a name that a database ignores, the reach may be too far. */
const deltas = ['lookback_delta', 'lookback']

/** A timeout that the database refuses must fail, also where the answer is stored. */
function refuseTimeout(pairs: Pairs): PromqlBypass | undefined {
  const timeout = firstValue(pairs, 'timeout')
  if (timeout === undefined || (parseStep(timeout) ?? 0) > 0) return undefined
  return { bypass: 'invalid_parameter', detail: 'timeout is not a positive duration that we read' }
}
