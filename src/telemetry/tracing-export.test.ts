import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { NOW, visits } from '../../test/rigs/visits.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { type FetchMessage, fetchChannel, type RequestMessage, requestChannel } from './channels.ts'
import { recordOf } from './record.ts'
import { type Posted, TraceExporter } from './tracing-export.ts'
import type { OtlpSpan } from './tracing-otlp.ts'

const ids = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  parentId: 'aaaaaaaaaaaaaaaa',
  traceState: undefined,
}

const fetched: FetchMessage = {
  ...ids,
  ...{ startedAt: NOW - 5, endedAt: NOW - 1.5, backend: 'main', method: 'GET', path: '/api/v1/query_range' },
  ...{ server: { address: 'db', port: 9090 }, status: 200, bytes: 10, failure: undefined },
}

function requested(visit: (typeof visits)[keyof typeof visits]): RequestMessage {
  const record = recordOf('main', visit)
  return { ...ids, startedAt: NOW - record.totalMs, endedAt: NOW, path: visit.path, record }
}

function start(t: TestContext, answer: () => Posted | Promise<Posted> = () => ({ kind: 'taken' })) {
  const clock = fakeClock(NOW)
  const bodies: string[] = []
  const told: Posted[] = []
  const exporter = new TraceExporter({
    clock,
    version: '1.2.3',
    onPosted: (posted) => void told.push(posted),
    post: async (body) => {
      bodies.push(body)
      return answer()
    },
  })
  t.after(async () => {
    const closed = exporter.close()
    await clock.advance(10_000)
    await closed
  })
  return { clock, bodies, told, exporter }
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpSpan['attributes'] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

const spansIn = (body: string): readonly OtlpSpan[] =>
  (JSON.parse(body) as Sent).resourceSpans.flatMap((each) => each.scopeSpans.flatMap(({ spans }) => spans))

const attributesOf = ({ attributes }: Pick<OtlpSpan, 'attributes'>): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

test('while it runs there is a subscriber, and after that none', async (t) => {
  const { exporter } = start(t)
  assert.deepEqual([requestChannel.hasSubscribers, fetchChannel.hasSubscribers], [true, true])
  await exporter.close()
  assert.deepEqual([requestChannel.hasSubscribers, fetchChannel.hasSubscribers], [false, false])
})

test('a request is one span, and its phases are children that fill it', async (t) => {
  const { clock, bodies } = start(t)
  requestChannel.publish(requested(visits.partial))
  await clock.advance(5000)
  assert.equal(bodies.length, 1)
  const resource = attributesOf((JSON.parse(bodies[0]!) as Sent).resourceSpans[0]!.resource)
  assert.deepEqual(resource, { 'service.name': 'windowpane', 'service.version': '1.2.3' })
  const [root, ...phases] = spansIn(bodies[0]!)
  assert.deepEqual(
    [root!.traceId, root!.spanId, root!.parentSpanId, root!.kind, root!.name, root!.status],
    [ids.traceId, ids.spanId, ids.parentId, 2, 'GET /api/v1/query_range', {}],
  )
  assert.deepEqual(attributesOf(root!), {
    'http.request.method': 'GET',
    'url.path': '/api/v1/query_range',
    'http.response.status_code': '200',
    'http.response.body.size': '6000',
    'windowpane.backend': 'main',
    'windowpane.outcome': 'partial',
    'windowpane.reason': 'expired',
    'windowpane.key': 'k',
    'windowpane.buckets': '60',
    'windowpane.asked': '6',
  })
  assert.deepEqual(
    phases.map(({ name }) => name),
    ['plan', 'lookup', 'fetch', 'reply'],
  )
  let end = root!.startTimeUnixNano
  for (const phase of phases) {
    assert.deepEqual([phase.parentSpanId, phase.traceId, phase.kind], [ids.spanId, ids.traceId, 1])
    assert.equal(phase.startTimeUnixNano, end)
    end = phase.endTimeUnixNano
  }
  assert.equal(end, root!.endTimeUnixNano)
  assert.equal(BigInt(end), BigInt(NOW) * 1_000_000n)
  assert.equal(new Set([root, ...phases].map((span) => span!.spanId)).size, 5)
})

test('a query to the database is a span of a client', async (t) => {
  const { clock, bodies } = start(t)
  fetchChannel.publish(fetched)
  fetchChannel.publish({ ...fetched, status: 422 })
  fetchChannel.publish({ ...fetched, status: undefined, failure: 'database_timeout' })
  fetchChannel.publish({ ...fetched, status: undefined, failure: 'given_up', server: undefined })
  await clock.advance(5000)
  const [good, refused, late, left] = spansIn(bodies[0]!)
  assert.deepEqual([good!.kind, good!.parentSpanId, good!.status], [3, ids.parentId, {}])
  assert.equal(BigInt(good!.endTimeUnixNano) - BigInt(good!.startTimeUnixNano), 3_500_000n)
  assert.deepEqual(attributesOf(good!), {
    'http.request.method': 'GET',
    'url.path': '/api/v1/query_range',
    'server.address': 'db',
    'server.port': '9090',
    'http.response.status_code': '200',
    'http.response.body.size': '10',
    'windowpane.backend': 'main',
  })
  assert.deepEqual(refused!.status, { code: 2, message: '422' })
  assert.deepEqual(late!.status, { code: 2, message: 'database_timeout' })
  assert.equal(attributesOf(left!)['error.type'], 'given_up')
  assert.deepEqual(left!.status, {})
})

test('errors are failed spans; refusals of a query and clients that left are not', async (t) => {
  const { clock, bodies } = start(t)
  for (const visit of [visits.hit, visits.refused, visits.gone, visits.bypass])
    requestChannel.publish(requested(visit))
  await clock.advance(5000)
  const roots = spansIn(bodies[0]!).filter(({ kind }) => kind === 2)
  assert.deepEqual(
    roots.map(({ status, name }) => [status.message, name]),
    [
      [undefined, 'GET /api/v1/query_range'],
      ['overloaded', 'GET'],
      [undefined, 'GET /api/v1/query_range'],
      [undefined, 'GET'],
    ],
  )
})

test('texts of clients are bounded, and odd methods have one name', async (t) => {
  const { clock, bodies } = start(t)
  fetchChannel.publish({ ...fetched, method: 'BREW', path: `/${'x'.repeat(20_000)}` })
  await clock.advance(5000)
  const attributes = attributesOf(spansIn(bodies[0]!)[0]!)
  assert.equal(attributes['http.request.method'], '_OTHER')
  assert.equal(String(attributes['url.path']).length, 256)
})

test('a full batch does not wait', async (t) => {
  const { clock, bodies, exporter } = start(t)
  for (let i = 0; i < 512; i++) fetchChannel.publish(fetched)
  await clock.advance(0)
  assert.deepEqual([bodies.length, spansIn(bodies[0]!).length], [1, 512])
  assert.deepEqual(exporter.figures, { sent: 512, dropped: 0, queued: 0 })
  assert.equal(clock.pending, 0)
})

test('a collector that is down costs spans, and no more memory than the queue has', async (t) => {
  let isDown = true
  const { clock, bodies, exporter, told } = start(t, () =>
    isDown ? { kind: 'later', why: 'connect ECONNREFUSED' } : { kind: 'taken' },
  )
  for (let i = 0; i < 10_000; i++) fetchChannel.publish(fetched)
  assert.deepEqual(exporter.figures, { sent: 0, dropped: 10_000 - 2048, queued: 2048 })
  await clock.advance(0)
  assert.equal(bodies.length, 1)
  // Retries become rarer, down to one per minute.
  await clock.advance(10_000 + 20_000 + 40_000 + 60_000)
  assert.equal(bodies.length, 5)
  assert.equal(exporter.figures.queued, 2048)
  assert.deepEqual(told.at(-1), { kind: 'later', why: 'connect ECONNREFUSED' })
  isDown = false
  await clock.advance(60_000)
  assert.deepEqual(exporter.figures, { sent: 2048, dropped: 10_000 - 2048, queued: 0 })
})

test('spans that the collector refuses are not sent again', async (t) => {
  const { clock, bodies, exporter } = start(t, () => ({ kind: 'refused', why: 'status 400' }))
  fetchChannel.publish(fetched)
  await clock.advance(60_000)
  assert.equal(bodies.length, 1)
  assert.deepEqual(exporter.figures, { sent: 0, dropped: 1, queued: 0 })
})

test('while a batch is under way, none is sent beside it', async (t) => {
  let release = () => {}
  const answer = () =>
    new Promise<Posted>((resolve) => {
      release = () => resolve({ kind: 'taken' })
    })
  const { clock, bodies } = start(t, answer)
  for (let i = 0; i < 1500; i++) fetchChannel.publish(fetched)
  await clock.advance(20_000)
  assert.equal(bodies.length, 1)
  release()
  await clock.advance(0)
  assert.equal(bodies.length, 2)
  release()
  await clock.advance(5000)
  release()
})

test('at the end the queue is sent, and a collector that does not answer is not waited for', async (t) => {
  const quick = start(t)
  for (let i = 0; i < 700; i++) fetchChannel.publish(fetched)
  await quick.exporter.close()
  assert.deepEqual(quick.exporter.figures, { sent: 700, dropped: 0, queued: 0 })

  const { clock, exporter } = start(t, () => new Promise(() => {}))
  fetchChannel.publish(fetched)
  const closed = exporter.close()
  await clock.advance(2000)
  await closed
  assert.deepEqual(exporter.figures, { sent: 0, dropped: 1, queued: 0 })
})

test('a message that is none breaks nothing', (t) => {
  const { exporter } = start(t)
  requestChannel.publish({})
  fetchChannel.publish(undefined)
  assert.deepEqual(exporter.figures, { sent: 0, dropped: 2, queued: 0 })
})
