/** Which requests are range queries, and how each lies on its grid. Fails closed: when unsure, a bypass. */
import { bucketAt, gridThrough } from '../../core/grid.ts'
import { lengthOf } from '../../core/interval.ts'
import { Memo } from '../../core/memo.ts'
import type { Backend, Bypass, Flavour, Plan, WireRequest } from '../backend.ts'
import { firstValue, onlyForm, type Pairs, readForm, readPairs } from '../matrix/form.ts'
import { rangeQueryPath } from '../matrix/paths.ts'
import { parseStep, readRange, type TimeRange } from '../matrix/time.ts'
import { createExaminer, type Examine, type Examined } from './promql.ts'
import { lookbackOf } from './reach.ts'

export interface RangeQuery {
  readonly request: WireRequest
  readonly question: Question
}

/** What a request asks, whoever asks it. */
interface Question extends TimeRange {
  /** The PromQL text as submitted. */
  readonly text: string
  readonly pairs: Pairs
  /** How it lies on its grid, once that was found out: it is the same for everybody and for ever. */
  layout?: Layout | Bypass
}

interface Layout {
  readonly examined: Examined
  readonly plan: Omit<Plan, 'request'>
}

export interface PlannerOptions {
  /** Data of this age no longer changes: an @ modifier may point to it. */
  readonly settledAgeMs: number
  /** The most buckets that one request may have. */
  readonly maxBuckets: number
  readonly examine?: Examine
}

type Planner = Pick<Backend<RangeQuery>, 'parse' | 'plan'>

/** Parameters that are not part of the question: its range, or spoken of elsewhere in the shape or the plan. */
const outsideTheQuestion = new Set(['query', 'start', 'end', 'step', 'timeout', 'limit', 'stats'])

/** Forms that are remembered as read: a panel is asked for by many viewers. */
const remembered = { maxTexts: 4_000, maxCharacters: 2 << 20 }
const longestRemembered = 8 << 10

export function createPlanner(options: PlannerOptions): Planner {
  const examine = options.examine ?? createExaminer()
  const questions = new Memo(remembered, (form) => read(readPairs(form)))
  return {
    parse(request) {
      if (!isRangeQuery(request.method, request.path)) return undefined
      const form = onlyForm(request)
      const isRemembered = form !== undefined && form.length <= longestRemembered
      const question = isRemembered ? questions.get(form) : read(readForm(request))
      return 'bypass' in question ? question : { request, question }
    },
    plan({ request, question }, now, flavour) {
      question.layout ??= layOut(question, examine(question.text), options.maxBuckets)
      if ('bypass' in question.layout) return question.layout
      const { examined, plan } = question.layout
      const settledBefore = now - options.settledAgeMs
      if (examined.atTimes.some((at) => at > settledBefore)) return { bypass: 'recent_at_modifier' }
      if (examined.rewritesLabels && !checksLabelsPerStep(flavour)) {
        return { bypass: 'unsafe_function', detail: 'label functions need Prometheus 3.9 or later' }
      }
      return { ...plan, request }
    },
  }
}

/**
 * Before 3.9 two series that label_replace or label_join make equal were an error even where they never coexist:
 * the parts of such a query succeed where the whole fails.
 */
function checksLabelsPerStep(flavour: Flavour | undefined): boolean {
  const [major = 0, minor = 0] = flavour?.version ?? []
  return major > 3 || (major === 3 && minor >= 9)
}

export const isRangeQuery = (method: string, path: string): boolean =>
  path === rangeQueryPath && (method === 'GET' || method === 'POST')

function read(pairs: Pairs | Bypass): Question | Bypass {
  if ('bypass' in pairs) return pairs
  const text = firstValue(pairs, 'query')
  const start = firstValue(pairs, 'start')
  const end = firstValue(pairs, 'end')
  const step = firstValue(pairs, 'step')
  if (text === undefined || start === undefined || end === undefined || step === undefined) {
    return { bypass: 'missing_parameter' }
  }
  const range = readRange(start, end, step)
  if ('bypass' in range) return range
  return { text, pairs, start: range.start, end: range.end, stepMs: range.stepMs }
}

function refuseParameters(pairs: Pairs): Bypass | undefined {
  const limit = firstValue(pairs, 'limit')
  if (limit !== undefined && limit !== '0') return { bypass: 'limit' }
  if (firstValue(pairs, 'stats') !== undefined) return { bypass: 'stats' }
  const timeout = firstValue(pairs, 'timeout')
  // A timeout that the database refuses must fail, also where the answer is stored.
  if (timeout === undefined || isPositive(parseStep(timeout))) return undefined
  return { bypass: 'invalid_parameter', detail: 'timeout is not a positive duration that we read' }
}

const isPositive = (value: number | undefined): boolean => value !== undefined && value > 0

function layOut(question: Question, examined: Examined | Bypass, maxBuckets: number): Layout | Bypass {
  const { text, pairs } = question
  const refusal = refuseParameters(pairs)
  if (refusal !== undefined) return refusal
  if ('bypass' in examined) return examined
  const grid = gridThrough('point', question.stepMs, question.start)
  const window = { from: bucketAt(grid, question.start), to: bucketAt(grid, question.end) + 1 }
  if (lengthOf(window) > maxBuckets) return { bypass: 'too_many_buckets' }
  const plan = {
    text,
    shape: shapeOf(question),
    grid,
    window,
    whole: [window],
    sources: examined.metrics,
    knowsAllSources: examined.namesAll,
    lookbackMs: lookbackOf(examined.reach, firstValue(pairs, 'lookback_delta')),
    terms: firstValue(pairs, 'timeout') ?? '',
    isVerbatim: true,
  }
  return { examined, plan }
}

/** JSON, because it is unambiguous and people read it: path, PromQL, step in ms, then the other parameters. */
function shapeOf({ text, stepMs, pairs }: Question): string {
  return JSON.stringify([rangeQueryPath, text, stepMs, ...otherParameters(pairs)])
}

/** Name and values of every parameter that may change the answer, by name, however the request was written. */
function otherParameters(pairs: Pairs): readonly (readonly string[])[] {
  const others = new Map<string, string[]>()
  for (let i = 0; i < pairs.length; i += 2) {
    const [name, value] = [pairs[i]!, pairs[i + 1]!]
    if (outsideTheQuestion.has(name)) continue
    const entry = others.get(name)
    if (entry === undefined) others.set(name, [name, value])
    else if (name !== 'lookback_delta') entry.push(value)
  }
  if (others.get('lookback_delta')?.[1] === '') others.delete('lookback_delta')
  return [...others.values()].sort((a, b) => (a[0]! < b[0]! ? -1 : 1))
}
