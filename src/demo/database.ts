/**
 * A database for demonstrations and tests: invented metrics behind the API of Prometheus. Its answer is a pure function
 * of the query and of the time of the query, so the truth at any other time is known too.
 */

import type { WireRequest } from '../backends/backend.ts'
import { firstValue, type Pairs, readForm } from '../backends/matrix/form.ts'
import { parseTime, readRange, type TimeRange } from '../backends/matrix/time.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import { headerOf } from '../core/headers.ts'
import { Memo } from '../core/memo.ts'
import { arrivalsAt, evaluate, type Matrix, stepsOf } from './evaluate.ts'
import { createMetrics } from './metrics.ts'
import { failure, printMatrix, printNumber, printVector, success } from './print.ts'
import { parseQuery, type Query } from './promql.ts'

export interface DemoQuery extends TimeRange {
  readonly query: string
}

export interface Answer {
  readonly status: number
  readonly body: string
  /** The time of the evaluation. */
  readonly costMs: number
  /** The range query that was answered, unless it was a probe. */
  readonly question?: DemoQuery
}

/** The range queries to the database. A bucket-second is one second of data in an answer: buckets × step. */
export interface Load {
  bucketSeconds: number
}

/** Marks the queries of the measurement itself: they are not the load that is measured. */
export const probeHeader = 'x-demo-probe'

/** Viewers number their requests, so that the view can show which part of each was fetched. */
export const requestIdHeader = 'x-demo-request'

/** A real database is slow where it has to read much. */
const costOf = ({ points }: Matrix): number => 6 + 0.02 * points

const buildInfo = {
  version: '3.5.0',
  revision: '8be3a9560fbdd18a94dedec4b747c35178177202',
  branch: 'HEAD',
  buildUser: 'windowpane demo',
  buildDate: '20250714-16:15:23',
  goVersion: 'go1.24.5',
}

export class DemoDatabase {
  readonly clock: Clock
  readonly load: Load = { bucketSeconds: 0 }
  readonly #metrics
  /** A few texts repeat; other clients may send many. */
  readonly #queries = new Memo({ maxTexts: 1000, maxCharacters: 1 << 20 }, parseQuery)

  constructor({ clock, seed = 1 }: { readonly clock: Clock; readonly seed?: number }) {
    this.clock = clock
    this.#metrics = createMetrics(seed)
  }

  /** The truth about a question as it was at `knownAt`; undefined for a question that the database refuses. */
  truth({ query, ...range }: DemoQuery, knownAt: EpochMs): Matrix | undefined {
    const parsed = this.#queries.get(query)
    return 'error' in parsed ? undefined : this.#matrix(parsed, range, knownAt)
  }

  /** The instants up to `until`, newest first, at which the truth about one instant may have changed. */
  changes(query: string, at: EpochMs, until: EpochMs): EpochMs[] {
    const parsed = this.#queries.get(query)
    return 'metric' in parsed ? arrivalsAt(this.#metrics, parsed, { at, until }) : []
  }

  /** Answers now, and counts a range query as load unless it is a probe. */
  answer(request: WireRequest): Answer {
    const label = /^\/api\/v1\/label\/(\w+)\/values$/.exec(request.path)
    if (label !== null)
      return this.#list((labels) => labels.filter(([name]) => name === label[1]).map(([, value]) => value))
    switch (request.path) {
      case '/api/v1/status/buildinfo':
        return quick(success(JSON.stringify(buildInfo)))
      case '/api/v1/labels':
        return this.#list((labels) => labels.map(([name]) => name))
      case '/api/v1/metadata':
        return this.#metadata()
      case '/api/v1/query':
        return this.#withForm(request, (pairs) => this.#instant(pairs))
      case '/api/v1/query_range':
        return this.#withForm(request, (pairs) => this.#range(pairs, isProbe(request)))
      default:
        return { status: 404, body: '404 page not found\n', costMs: 0 }
    }
  }

  #withForm(request: WireRequest, read: (pairs: Pairs) => Answer): Answer {
    const pairs = readForm(request)
    return 'bypass' in pairs ? badData(`error parsing form values: ${pairs.detail}`) : read(pairs)
  }

  #range(pairs: Pairs, isProbing: boolean): Answer {
    const text = (name: string): string => firstValue(pairs, name) ?? ''
    const range = readRange(text('start'), text('end'), text('step'))
    if ('bypass' in range) return badData(`invalid parameter: ${range.detail}`)
    const query = this.#queries.get(text('query'))
    if ('error' in query) return badData(`invalid parameter "query": 1:1: parse error: ${query.error}`)
    const matrix = this.#matrix(query, range, this.clock.now())
    const answer = { status: 200, body: printMatrix(matrix), costMs: costOf(matrix) }
    if (isProbing) return answer
    this.load.bucketSeconds += (stepsOf(range) * range.stepMs) / 1000
    return { ...answer, question: { ...range, query: text('query') } }
  }

  #instant(pairs: Pairs): Answer {
    const query = this.#queries.get(firstValue(pairs, 'query') ?? '')
    if ('error' in query) return badData(`invalid parameter "query": 1:1: parse error: ${query.error}`)
    const text = firstValue(pairs, 'time')
    const at = text === undefined ? this.clock.now() : parseTime(text)?.ms
    if (at === undefined)
      return badData(`invalid parameter "time": cannot parse "${text}" to a valid timestamp`)
    if ('scalar' in query) {
      return quick(success(`{"resultType":"scalar","result":[${at / 1000},"${printNumber(query.scalar)}"]}`))
    }
    const matrix = this.#matrix(query, { start: at, end: at, stepMs: 1000 }, this.clock.now())
    return { status: 200, body: printVector(matrix.rows, at), costMs: costOf(matrix) }
  }

  #matrix(query: Query, range: TimeRange, knownAt: EpochMs): Matrix {
    if ('metric' in query) return evaluate(this.#metrics, query, { range, knownAt })
    const values = new Float64Array(stepsOf(range)).fill(query.scalar)
    return { range, rows: [{ labels: [], values }], points: values.length }
  }

  #list(pick: (labels: readonly (readonly [string, string])[]) => readonly string[]): Answer {
    const found = new Set<string>()
    const now = this.clock.now()
    for (const metric of this.#metrics.values()) {
      for (const { labels } of metric.series(now, now)) for (const text of pick(labels)) found.add(text)
    }
    return quick(success(JSON.stringify([...found].sort())))
  }

  #metadata(): Answer {
    const entries = [...this.#metrics.values()].map(({ name, type, help }) => [
      name,
      [{ type, help, unit: '' }],
    ])
    return quick(success(JSON.stringify(Object.fromEntries(entries))))
  }
}

const isProbe = ({ headers }: WireRequest): boolean => headerOf(headers, probeHeader) !== undefined

const quick = (body: string): Answer => ({ status: 200, body, costMs: 0 })

const badData = (error: string): Answer => ({ status: 400, body: failure('bad_data', error), costMs: 0 })
