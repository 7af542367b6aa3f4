/** How testBackend tries one backend out: a request, a world and an answer at a time. */
import assert from 'node:assert/strict'
import type { Backend, Plan, Recomposed, Run, WireRequest } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { type Interval, type Intervals, nothing, uniteAll } from '../core/interval.ts'
import { keyOf } from '../core/key.ts'
import type { Pane } from '../core/pane.ts'
import { isBypass } from '../engine/http/plan-request.ts'
import { askedBy, checkEdges, checkRuns, type Span } from './backend-runs.ts'
import { chunksOf, pieces } from './mutations.ts'
import { mixSeeds, type Random, seededRandom, wholeNumber } from './random.ts'

export type RequestPair = readonly [WireRequest, WireRequest]

export interface BackendLaws<Query> {
  readonly backend: Backend<Query>
  /** When the generated requests are planned. */
  readonly now: EpochMs
  /** A request that this backend plans, of few enough buckets to be tried often. */
  request(random: Random): WireRequest
  /**
   * The database's response, byte by byte, to `narrow(plan, intervals)` in the world of this number. Worlds do not
   * change: the response for an interval is the part of the response for a longer one. There is one interval unless the
   * backend takes several.
   */
  answer(world: number, plan: Plan, intervals: Intervals): Uint8Array
  /** The response to the request itself, where it differs: where plans are not verbatim. */
  direct?(world: number, plan: Plan): Uint8Array
  /**
   * The requested time, half-open, disjoint and in order: where requests may include parts of buckets. Without this, no
   * plan may have edges.
   */
  spans?(request: WireRequest): readonly Span[]
  /** Requests with the same shape on the same grid, over any range. */
  readonly equivalent: readonly RequestPair[]
  readonly different: readonly RequestPair[]
  /** Where two answers of the database itself may differ in bytes (an order that it rolls): one form for all. */
  canonical?(answer: Buffer): Uint8Array
  /** How often every law is tried; 100 by default. */
  readonly rounds?: number
}

/** The clock of all buckets of all panes. */
export const fetchedAt = 1_234_567

export class Suite<Query> {
  readonly laws: BackendLaws<Query>

  constructor(laws: BackendLaws<Query>) {
    this.laws = laws
  }

  tryOut(seed: number, check: (round: Round<Query>) => void): void {
    try {
      check(new Round(this, seed))
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause)
      throw new Error(`with seed ${seed}: ${message}`, { cause })
    }
  }

  plan(request: WireRequest): Plan {
    const { backend, now } = this.laws
    assert.ok(backend.claims(request.method, request.path), 'a request of its own is not claimed')
    const query = backend.parse(request)
    assert.ok(
      query !== undefined && !isBypass(query),
      `not parsed: ${request.search} ${JSON.stringify(query)}`,
    )
    const plan = backend.plan(query, now)
    assert.ok(!isBypass(plan), `not planned: ${request.search} ${JSON.stringify(plan)}`)
    return plan
  }

  key(request: WireRequest): string {
    const { shape, grid } = this.plan(request)
    return keyOf({ backend: this.laws.backend.name, identity: '', shape, grid })
  }

  survives(request: WireRequest): void {
    const { backend, now } = this.laws
    const query = backend.parse(request)
    if (query === undefined || isBypass(query)) return
    assert.ok(backend.claims(request.method, request.path), 'parsed, but not claimed')
    for (const instant of [now, 0, Number.NaN]) {
      const plan = backend.plan(query, instant)
      if (!isBypass(plan)) checkRuns(plan)
    }
  }
}

/** One request, one world, one answer. */
export class Round<Query> {
  readonly random: Random
  readonly request: WireRequest
  /** Of the narrowed request for everything, where the answer to that is another than the client's. */
  readonly plan: Plan
  /** Of the client's own request. */
  readonly own: Plan
  /** The requested buckets, whole or in part. */
  readonly asked: Intervals
  readonly bytes: Buffer
  readonly #suite: Suite<Query>
  readonly #world: number

  constructor(suite: Suite<Query>, seed: number) {
    this.#suite = suite
    this.#world = seed
    this.random = seededRandom(mixSeeds(seed, 1))
    this.request = suite.laws.request(this.random)
    this.own = suite.plan(this.request)
    this.asked = askedBy(this.own)
    this.plan = this.own.isVerbatim ? this.own : this.narrowed(this.asked)
    this.bytes = this.answer(this.asked)
  }

  get panes(): readonly Pane[] {
    return this.fetch(this.asked)
  }

  get identity() {
    return { shape: this.plan.shape, grid: this.plan.grid }
  }

  answer(intervals: Intervals): Buffer {
    return Buffer.from(this.#suite.laws.answer(this.#world, this.plan, intervals))
  }

  /** The database's response to the client's own request. */
  get direct(): Buffer {
    const { direct } = this.#suite.laws
    assert.ok(this.own.isVerbatim || direct !== undefined, 'a plan that is not verbatim needs `direct`')
    return this.own.isVerbatim ? this.bytes : Buffer.from(direct!(this.#world, this.own))
  }

  /** The plan of a part. */
  narrowed(intervals: Intervals): Plan {
    return this.#suite.plan(this.#suite.laws.backend.narrow(this.own, intervals))
  }

  fetch(intervals: Intervals): readonly Pane[] {
    const panes = this.cut([this.answer(intervals)], intervals)
    assert.ok(panes !== undefined, `the answer about ${JSON.stringify(intervals)} is unusable`)
    return panes
  }

  /** Returns undefined where the answer is unusable. */
  cut(chunks: readonly Uint8Array[], intervals = this.asked): readonly Pane[] | undefined {
    const sink = this.#suite.laws.backend.decompose(this.plan, intervals)
    for (const chunk of chunks) sink.write(chunk)
    const result = sink.end(fetchedAt, { headers: [], trailers: [] })
    return 'unusable' in result ? undefined : result.panes
  }

  compose(panes: readonly Pane[] | undefined, plan = this.plan): Buffer {
    assert.ok(panes !== undefined, 'the answer is unusable')
    const answer = this.#suite.laws.backend.recompose(plan, panes)
    const target = Buffer.alloc(answer.length)
    answer.write(target)
    if (answer.walk !== undefined)
      assert.ok(walked(answer).equals(target), 'walk gives other bytes than write')
    return target
  }

  expectSame(actual: Buffer, expected: Buffer): void {
    const form = this.#suite.laws.canonical ?? ((answer: Buffer) => answer)
    const [got, wanted] = [actual, expected].map((answer) => Buffer.from(form(answer)))
    // The texts are compared only to be shown: they are not the bytes.
    if (!got!.equals(wanted!)) assert.equal(got!.toString(), wanted!.toString())
    assert.ok(got!.equals(wanted!), 'the bytes differ where the texts do not')
  }

  chunkings(): Uint8Array[][] {
    const whole = [this.bytes]
    return [whole, chunksOf(this.bytes, () => 1), chunksOf(this.bytes, () => wholeNumber(this.random, 0, 40))]
  }

  /** Every run of requested buckets, in one to four pieces, none empty. */
  intervals(): Interval[] {
    return this.asked.flatMap((run) => pieces(this.random, run))
  }

  /** Those pieces, by the query that is to bring them: each by its own, or some together where a query takes several. */
  queries(): Intervals[] {
    const intervals = this.intervals()
    if (!this.#suite.laws.backend.capabilities.severalIntervals)
      return intervals.map((interval) => [interval])
    const queries: Interval[][] = [[], [], []]
    for (const interval of intervals) queries[wholeNumber(this.random, 0, 2)]!.push(interval)
    return queries.filter((query) => query.length > 0).map((query) => uniteAll(query, nothing))
  }

  /** The panes of several queries, in time order. */
  mixture(): readonly Pane[] {
    const panes = this.queries().flatMap((query) => this.fetch(query))
    return panes.toSorted((a, b) => a.from - b.from)
  }

  /** The edges are the buckets that are requested in part, and no others. */
  checkEdges(): void {
    const { spans } = this.#suite.laws
    if (spans === undefined) assert.equal(this.own.edges, undefined)
    else checkEdges(this.own, spans(this.request))
  }

  /** Every length of a short answer, some of a long one. */
  lengths(): number[] {
    const { length } = this.bytes
    if (length <= 300) return [...Array(length).keys()]
    const some = Array.from({ length: 30 }, () => wholeNumber(this.random, 0, length - 1))
    return [0, 1, length - 1, length - 2, ...some]
  }

  interleave(): void {
    const { backend } = this.#suite.laws
    const sinks = [0, 1].map(() => backend.decompose(this.plan, this.asked))
    for (const chunk of chunksOf(this.bytes, () => wholeNumber(this.random, 1, 60))) {
      for (const sink of sinks) {
        const borrowed = Buffer.from(chunk)
        sink.write(borrowed)
        borrowed.fill(0xee)
      }
    }
    for (const sink of sinks) {
      const result = sink.end(fetchedAt, { headers: [], trailers: [] })
      assert.ok(!('unusable' in result))
      this.expectSame(this.compose(result.panes), this.bytes)
    }
  }

  measures(): void {
    const answer = this.#suite.laws.backend.recompose(this.plan, this.panes)
    const [zeros, ones] = [0, 0xff].map((filling) => {
      const target = Buffer.alloc(answer.length + 16, filling)
      answer.write(target)
      assert.ok(
        target.subarray(answer.length).every((byte) => byte === filling),
        'written past the end',
      )
      return target.subarray(0, answer.length)
    })
    assert.ok(zeros!.equals(ones!), 'not every byte was written')
  }
}

/** The answer as a listener receives it, concatenated. */
function walked(answer: Recomposed): Buffer {
  const parts: Buffer[] = []
  const literal = (bytes: Uint8Array, start: number, end: number) =>
    void parts.push(Buffer.from(bytes.subarray(start, end)))
  const run = ({ body, column, lane, from, to, end }: Run) => {
    const stop = body.offsetOf(column, lane, to)
    assert.ok(end === stop || end === stop - 1, 'a run that ends elsewhere than its last bucket')
    literal(body.bytes, body.slabAt + body.offsetOf(column, lane, from), body.slabAt + end)
  }
  answer.walk!({ literal, run })
  return Buffer.concat(parts)
}
