import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import test, { type TestContext } from 'node:test'
import { NOW, visits } from '../../test/rigs/visits.ts'
import type { HeaderList } from '../backends/backend.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import {
  channelNames,
  type FetchMessage,
  fetchChannel,
  type RequestMessage,
  requestChannel,
} from './channels.ts'
import { Tracing, tracedHeaders } from './tracing.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const clientSpan = '00f067aa0ba902b7'
const sampled = ['traceparent', `00-${traceId}-${clientSpan}-01`]
const unsampled = ['traceparent', `00-${traceId}-${clientSpan}-00`]

function listen(t: TestContext, name: string): unknown[] {
  const heard: unknown[] = []
  const hear = (message: unknown) => void heard.push(message)
  subscribe(name, hear)
  t.after(() => unsubscribe(name, hear))
  return heard
}

/** Counts the dice, which every id needs. */
function newTracing(sampleRatio?: () => number) {
  const clock = fakeClock(NOW)
  let rolls = 0
  const counting = {
    ...clock,
    random: () => {
      rolls++
      return clock.random()
    },
  }
  const tracing = new Tracing({ clock: counting, backend: 'main', sampleRatio })
  return { tracing, clock, rolls: () => rolls }
}

const traced = (headers: HeaderList) => ({ method: 'GET', path: '/api/v1/query_range', headers })

test('without a subscriber, nothing is created', () => {
  const { tracing, rolls } = newTracing()
  assert.equal(requestChannel.hasSubscribers, false)
  assert.equal(fetchChannel.hasSubscribers, false)
  for (let i = 0; i < 100; i++) {
    assert.equal(tracing.begin(sampled), undefined)
    assert.equal(tracing.begin([]), undefined)
    assert.equal(tracing.beginFetch(traced(sampled)), undefined)
    tracing.end(visits.hit)
  }
  assert.equal(rolls(), 0)
})

test("a client's trace goes on", (t) => {
  const heard = listen(t, channelNames.request) as RequestMessage[]
  const { tracing } = newTracing(() => 0)
  const trace = tracing.begin([...sampled, 'TraceState', 'a=1'])!
  assert.deepEqual({ ...trace, spanId: '' }, { traceId, spanId: '', parentId: clientSpan, traceState: 'a=1' })
  assert.match(trace.spanId, /^[0-9a-f]{16}$/)
  tracing.end({ ...visits.partial, trace })
  assert.equal(heard.length, 1)
  const { record, startedAt, endedAt, path, ...ids } = heard[0]!
  assert.deepEqual(ids, trace)
  assert.deepEqual([startedAt, endedAt, path], [NOW - 10, NOW, '/api/v1/query_range'])
  assert.deepEqual([record.backend, record.outcome, record.asked], ['main', 'partial', 6])
})

test('the decision of a client counts: a request that it does not sample is not traced, whatever the ratio', (t) => {
  const heard = listen(t, channelNames.request)
  const { tracing, rolls } = newTracing(() => 1)
  assert.equal(tracing.begin(unsampled), undefined)
  assert.equal(tracing.beginFetch(traced(unsampled)), undefined)
  tracing.end(visits.hit)
  assert.deepEqual([heard.length, rolls()], [0, 0])
})

test('without a trace of the client, or with a broken one, the ratio decides', (t) => {
  listen(t, channelNames.request)
  const { tracing } = newTracing(() => 0.25)
  let count = 0
  for (let i = 0; i < 2000; i++) {
    const headers = i % 2 === 0 ? [] : ['traceparent', 'garbage', 'tracestate', 'a=1']
    const trace = tracing.begin(headers)
    if (trace === undefined) continue
    count++
    assert.deepEqual([trace.parentId, trace.traceState], [undefined, undefined])
    assert.notEqual(trace.traceId, traceId)
  }
  assert.ok(count > 400 && count < 600, `${count} of 2000`)
})

test('a tracestate that is too long is dropped', (t) => {
  listen(t, channelNames.request)
  const { tracing } = newTracing()
  assert.equal(tracing.begin([...sampled, 'tracestate', 'x'.repeat(513)])!.traceState, undefined)
})

test('a query for a traced request is a child of it', async (t) => {
  const heard = listen(t, channelNames.fetch) as FetchMessage[]
  const { tracing, clock } = newTracing()
  const trace = tracing.begin([...sampled, 'tracestate', 'a=1'])!
  const headers = tracedHeaders(['accept', '*/*', ...sampled, 'tracestate', 'a=1'], trace)
  assert.deepEqual(headers, [
    ...['accept', '*/*', 'tracestate', 'a=1'],
    ...['traceparent', `00-${traceId}-${trace.spanId}-01`],
  ])
  const span = tracing.beginFetch(traced(headers))!
  await clock.advance(7)
  span.status = 200
  span.bytes = 12
  span.end()
  span.end('given_up')
  assert.equal(heard.length, 1)
  const { spanId, ...rest } = heard[0]!
  assert.ok(span.headers.includes(`00-${traceId}-${spanId}-01`))
  assert.notEqual(spanId, trace.spanId)
  assert.deepEqual(rest, {
    ...{ traceId, parentId: trace.spanId, traceState: 'a=1', backend: 'main', method: 'GET' },
    ...{ path: '/api/v1/query_range', server: undefined, startedAt: NOW, endedAt: NOW + 7 },
    ...{ status: 200, bytes: 12, failure: undefined },
  })
})

test('a query without a request is sent without a span', (t) => {
  const heard = listen(t, channelNames.fetch)
  const { tracing } = newTracing()
  assert.equal(tracing.beginFetch(traced([])), undefined)
  assert.equal(heard.length, 0)
})

test('a trace that begins here does not take a state along that belonged to no parent', () => {
  const trace = { traceId, spanId: clientSpan, parentId: undefined, traceState: undefined }
  assert.deepEqual(tracedHeaders(['traceparent', 'garbage', 'tracestate', 'a=1'], trace), sampled)
})

test('spans keep their order when the wall clock is set', async (t) => {
  const heard = listen(t, channelNames.fetch) as FetchMessage[]
  const { tracing, clock } = newTracing()
  tracing.beginFetch(traced(sampled))!.end()
  clock.jump(NOW + 3_600_000)
  tracing.beginFetch(traced(sampled))!.end()
  assert.deepEqual(
    heard.map(({ startedAt }) => startedAt),
    [NOW, NOW + 3_600_000],
  )
})
