import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interval } from '../core/interval.ts'
import type { FetchResult } from './fetch.ts'
import { type Flight, type FlightSpec, Flights, type Requirements } from './flights.ts'

const result: FetchResult = { kind: 'abandoned' }
const whenever: Requirements = {
  notBefore: Number.NEGATIVE_INFINITY,
  marks: [],
  edges: undefined,
  along: 0,
  takesSeveral: false,
}
const since = (notBefore: number): Requirements => ({ ...whenever, notBefore })

type Departing = Pick<FlightSpec, 'intervals' | 'edges'>

/** A flight that ends under the control of the test. */
class Scripted {
  land: () => void = () => {}
  crash: () => void = () => {}
  cancelled = 0
  readonly flight: Flight

  constructor(flights: Flights, interval: Interval | Departing, startedAt = 0, key = 'key') {
    const what = 'from' in interval ? { intervals: [interval], edges: undefined } : interval
    const { promise, resolve, reject } = Promise.withResolvers<FetchResult>()
    this.land = () => resolve(result)
    this.crash = () => reject(new Error('crashed'))
    const cancel = () => void this.cancelled++
    this.flight = flights.open({ key, ...what, startedAt, terms: '' }, { result: promise, cancel })
  }
}

const span = (from: number, to: number): Interval => ({ from, to })

interface Case {
  readonly name: string
  readonly gap: Interval
  readonly open: readonly Interval[]
  /** Which of the open ones is joined. */
  readonly joins: number | undefined
  readonly rest?: Interval
}

const table: readonly Case[] = [
  { name: 'nothing is open', gap: span(0, 10), open: [], joins: undefined },
  { name: 'the same', gap: span(0, 10), open: [span(0, 10)], joins: 0 },
  { name: 'around the gap', gap: span(2, 8), open: [span(0, 10)], joins: 0 },
  { name: 'a beginning', gap: span(0, 10), open: [span(0, 6)], joins: 0, rest: span(6, 10) },
  { name: 'the longer end', gap: span(0, 10), open: [span(5, 10)], joins: 0, rest: span(0, 5) },
  { name: 'the shorter end', gap: span(0, 10), open: [span(6, 10)], joins: undefined },
  { name: 'from before into it', gap: span(5, 10), open: [span(0, 6)], joins: 0, rest: span(6, 10) },
  { name: 'from inside beyond', gap: span(0, 10), open: [span(4, 20)], joins: 0, rest: span(0, 4) },
  { name: 'the middle', gap: span(0, 10), open: [span(3, 6)], joins: undefined },
  { name: 'just before', gap: span(5, 10), open: [span(0, 5)], joins: undefined },
  { name: 'just behind', gap: span(0, 5), open: [span(5, 10)], joins: undefined },
  { name: 'exactly four times as wide', gap: span(0, 5), open: [span(0, 20)], joins: 0 },
  { name: 'more than four times as wide', gap: span(0, 5), open: [span(0, 21)], joins: undefined },
  {
    name: 'too wide beside one that is not',
    gap: span(0, 5),
    open: [span(0, 30), span(0, 4)],
    joins: 1,
    rest: span(4, 5),
  },
  {
    name: 'the one that leaves least',
    gap: span(0, 10),
    open: [span(0, 3), span(2, 10), span(0, 7)],
    joins: 1,
    rest: span(0, 2),
  },
  { name: 'all of it rather than a part', gap: span(0, 10), open: [span(0, 9), span(0, 12)], joins: 1 },
  {
    name: 'two halves: one is joined, no chain',
    gap: span(0, 10),
    open: [span(0, 5), span(5, 10)],
    joins: 0,
    rest: span(5, 10),
  },
]

for (const { name, gap, open, joins, rest } of table) {
  test(`join: ${name}`, () => {
    const flights = new Flights()
    const scripted = open.map((interval) => new Scripted(flights, interval))
    const joined = flights.join('key', [gap], whenever)
    assert.equal(joined && scripted.findIndex(({ flight }) => flight === joined.flight), joins)
    assert.deepEqual(joined?.rest, joined && (rest === undefined ? [] : [rest]))
  })
}

test('the rest of a joined flight is joined only where one flight brings all of it, and is not too wide', () => {
  const flights = new Flights()
  const part = new Scripted(flights, span(0, 5))
  const whole = new Scripted(flights, span(4, 10), 100)
  new Scripted(flights, span(0, 100), 200)
  assert.equal(flights.joinForRest('key', [span(5, 10)], whenever), whole.flight)
  assert.equal(flights.joinForRest('key', [span(5, 10)], since(101)), undefined)
  assert.equal(flights.joinForRest('key', [span(3, 6)], whenever), undefined)
  assert.equal(flights.joinForRest('other', [span(5, 10)], whenever), undefined)
  whole.flight.leave()
  assert.equal(whole.cancelled, 0, 'a request that joined for the rest is a member')
  part.flight.leave()
  assert.equal(part.cancelled, 1, 'a request that did not join is none')
})

test('a flight of another key is not joined', () => {
  const flights = new Flights()
  new Scripted(flights, span(0, 10), 0, 'other')
  assert.equal(flights.join('key', [span(0, 10)], whenever), undefined)
})

test('a flight that began before the demanded instant is not joined, one that began at it is', () => {
  const flights = new Flights()
  const early = new Scripted(flights, span(0, 10), 100)
  assert.equal(flights.join('key', [span(0, 10)], since(101)), undefined)
  assert.equal(flights.join('key', [span(0, 10)], since(100))?.flight, early.flight)
  const late = new Scripted(flights, span(0, 8), 101)
  assert.equal(flights.join('key', [span(0, 10)], since(101))?.flight, late.flight)
})

test('a flight that began at or before a mark on its buckets is not joined', () => {
  const flights = new Flights()
  const early = new Scripted(flights, span(0, 10), 100)
  const after = (at: number, { from, to }: Interval, kind: 'purge' | 'stale' = 'purge') =>
    flights.join('key', [span(0, 10)], { ...whenever, marks: [{ kind, from, to, at }] })?.flight
  assert.equal(after(99, span(0, 10)), early.flight)
  assert.equal(after(100, span(0, 10)), undefined)
  assert.equal(after(100, span(0, 10), 'stale'), undefined)
  assert.equal(after(100, span(9, 99)), undefined)
  assert.equal(after(100, span(10, 99)), early.flight, 'the mark is about other buckets')
  const requirements = { ...whenever, marks: [{ kind: 'purge', ...span(2, 3), at: 100 } as const] }
  assert.equal(flights.joinForRest('key', [span(0, 10)], requirements), undefined)
})

test('the last to disconnect cancels, and no request joins a cancelled flight', () => {
  const flights = new Flights()
  const scripted = new Scripted(flights, span(0, 10))
  flights.join('key', [span(0, 10)], whenever)
  flights.join('key', [span(0, 10)], whenever)
  scripted.flight.leave()
  scripted.flight.leave()
  assert.deepEqual([scripted.cancelled, flights.count], [0, 1])
  scripted.flight.leave()
  assert.deepEqual([scripted.cancelled, flights.count], [1, 0])
  assert.equal(flights.join('key', [span(0, 10)], whenever), undefined)
})

test('a flight that has been looked at and not joined has no more members', () => {
  const flights = new Flights()
  const scripted = new Scripted(flights, span(3, 6))
  flights.join('key', [span(0, 10)], whenever)
  scripted.flight.leave()
  assert.equal(scripted.cancelled, 1)
})

for (const end of ['land', 'crash'] as const) {
  test(`after a flight nothing is left (${end})`, async () => {
    const flights = new Flights()
    const scripted = [new Scripted(flights, span(0, 10)), new Scripted(flights, span(10, 20))]
    assert.equal(flights.count, 2)
    for (const each of scripted) {
      each[end]()
      await each.flight.result.catch(() => {})
    }
    assert.equal(flights.count, 0)
    assert.equal(flights.join('key', [span(0, 10)], whenever), undefined)
  })
}

test('a flight is removed from the list before its end is reported', async () => {
  const flights = new Flights()
  const scripted = new Scripted(flights, span(0, 10))
  const heard = flights.join('key', [span(0, 10)], whenever)!.flight.result.then(() => flights.count)
  scripted.land()
  assert.equal(await heard, 0)
})

const several: Requirements = { ...whenever, takesSeveral: true }

test('where a query takes several intervals, a flight in the middle of the gaps is joined for its part', () => {
  const flights = new Flights()
  const middle = new Scripted(flights, { intervals: [span(3, 5), span(8, 9)], edges: undefined })
  const joined = flights.join('key', [span(0, 4), span(6, 10)], several)
  assert.equal(joined?.flight, middle.flight)
  assert.deepEqual(joined?.brings, [span(3, 4), span(8, 9)])
  assert.deepEqual(joined?.rest, [span(0, 3), span(6, 8), span(9, 10)])
})

test('a flight is not too wide for a request of the same width', () => {
  const flights = new Flights()
  new Scripted(flights, span(0, 20))
  assert.equal(flights.join('key', [span(0, 1)], { ...several, along: 3 }), undefined)
  assert.deepEqual(flights.join('key', [span(0, 1)], { ...several, along: 4 })?.brings, [span(0, 1)])
})

test('a part of a bucket is shared only by requests for the same part', () => {
  const flights = new Flights()
  const edges = (parts: string) => ({ buckets: [span(9, 10)], parts })
  new Scripted(flights, { intervals: [span(0, 10)], edges: edges('until :30') })
  const requirements = (parts: string): Requirements => ({ ...several, edges: edges(parts) })
  assert.deepEqual(flights.join('key', [span(5, 10)], requirements('until :30'))?.rest, [])
  assert.deepEqual(flights.join('key', [span(5, 10)], requirements('until :45'))?.rest, [span(9, 10)])
  assert.deepEqual(
    flights.join('key', [span(5, 10)], several)?.rest,
    [span(9, 10)],
    'the whole bucket is wanted',
  )
  assert.equal(flights.join('key', [span(9, 10)], several), undefined)
})

test('a whole bucket is useless to a request for a part of it', () => {
  const flights = new Flights()
  new Scripted(flights, span(0, 10))
  const edges = { buckets: [span(9, 10)], parts: 'until :30' }
  assert.deepEqual(flights.join('key', [span(5, 10)], { ...several, edges })?.rest, [span(9, 10)])
})

test('parts with the same text are shared only where they are of the same bucket', () => {
  const flights = new Flights()
  const edgesAt = (from: number) => ({ buckets: [span(from, from + 1)], parts: 'until :30' })
  new Scripted(flights, { intervals: [span(0, 10)], edges: edgesAt(9) })
  const requirements: Requirements = { ...several, edges: edgesAt(10) }
  assert.deepEqual(flights.join('key', [span(5, 11)], requirements)?.brings, [span(5, 9)])
})
