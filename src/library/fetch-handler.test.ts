import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellBackend } from '../testing/cell-backend.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { fixed } from '../ttl/fixed.ts'
import { learned } from '../ttl/learned/learned-policy.ts'
import { type FetchHandlerOptions, fetchHandler } from './fetch-handler.ts'

const minuteMs = 60_000
const base = 'http://cache.example'

/** A database behind a `fetch`: rows of minutes, a version, and whatever a test puts in its place. */
class FakeServer {
  readonly seen: Request[] = []
  script: (request: Request) => Response | Promise<Response> = (request) => rows(request)

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    if (new URL(request.url).pathname === '/base/version') return new Response('cells 1')
    this.seen.push(request)
    return this.script(request)
  }
}

function rows(request: Request): Response {
  const { searchParams } = new URL(request.url)
  const [from, to] = ['from', 'to'].map((name) => Number(searchParams.get(name)))
  const list: string[] = []
  for (let at = from!; at < to!; at += minuteMs) list.push(`[${at},${at / minuteMs}]`)
  return new Response(`{"rows":[${list.join(',')}]}`, { headers: { 'content-type': 'application/json' } })
}

function setUp(options: Partial<FetchHandlerOptions> = {}) {
  const clock = fakeClock()
  const server = new FakeServer()
  const handle = fetchHandler({
    upstream: 'http://db.example/base/',
    backend: cellBackend(),
    policy: fixed(minuteMs),
    clock,
    fetch: server.fetch,
    ...options,
  })
  const ask = (minutes: readonly [number, number], init?: RequestInit) =>
    handle(new Request(urlOf(minutes), init))
  return { clock, server, handle, ask }
}

const hour = Math.floor(Date.UTC(2026, 0, 1) / minuteMs) - 60
const urlOf = ([from, to]: readonly [number, number], origin = base): string =>
  `${origin}/rows?q=up&from=${(hour + from) * minuteMs}&to=${(hour + to) * minuteMs}&step=${minuteMs}`

const detailOf = (response: Response): string =>
  /detail="(\S+?)[ "]/.exec(response.headers.get('cache-status') ?? '')?.[1] ?? ''

const direct = (minutes: readonly [number, number]): Promise<string> =>
  rows(new Request(urlOf(minutes))).text()

test('a query is a miss, then a hit, and byte for byte the database’s answer', async () => {
  const { server, ask } = setUp()
  for (const outcome of ['miss/absent', 'hit']) {
    const response = await ask([0, 10])
    assert.deepEqual([response.status, detailOf(response)], [200, outcome])
    assert.equal(response.headers.get('content-type'), 'application/json')
    assert.equal(await response.text(), await direct([0, 10]))
  }
  assert.equal(server.seen.length, 1)
  assert.equal(server.seen[0]!.url, urlOf([0, 10], 'http://db.example/base'))
})

test('only missing buckets are fetched', async () => {
  const { server, ask } = setUp()
  await ask([0, 10])
  const response = await ask([0, 15])
  assert.equal(detailOf(response), 'partial/absent')
  assert.equal(await response.text(), await direct([0, 15]))
  assert.equal(server.seen[1]!.url, urlOf([10, 15], 'http://db.example/base'))
})

test('at the same time, equal queries are one', async () => {
  const { server, ask } = setUp()
  const responses = await Promise.all([ask([0, 10]), ask([0, 10]), ask([0, 10])])
  for (const response of responses) assert.equal(await response.text(), await direct([0, 10]))
  assert.equal(server.seen.length, 1)
})

test('requests with other credentials share nothing', async () => {
  const { server, ask } = setUp()
  const as = (user: string) => ask([0, 10], { headers: { authorization: user } })
  assert.deepEqual([await as('a'), await as('b'), await as('a')].map(detailOf), [
    'miss/absent',
    'miss/absent',
    'hit',
  ])
  assert.deepEqual(
    server.seen.map((request) => request.headers.get('authorization')),
    ['a', 'b'],
  )
})

test('an answer that the database forbids to store or share is not', async () => {
  for (const [reason, headers] of [
    ['no_store', { 'cache-control': 'no-store' }],
    ['no_cache', { 'cache-control': 'max-age=0' }],
    ['private', { 'cache-control': 'private' }],
    ['vary', { vary: 'x-team' }],
  ] as const) {
    const { server, ask } = setUp()
    server.script = async (request) => new Response(await rows(request).text(), { headers })
    const both = await Promise.all([ask([0, 10]), ask([0, 10])])
    assert.deepEqual(both.map(detailOf), ['miss/absent', `bypass/${reason}`])
    assert.match(both[0]!.headers.get('cache-status') ?? '', new RegExp(`unstored=${reason}`))
    assert.equal(detailOf(await ask([0, 10])), 'miss/absent')
    assert.equal(server.seen.length, 3)
  }
})

test('max-age of the database shortens the TTL', async () => {
  const { clock, server, ask } = setUp()
  server.script = async (request) =>
    new Response(await rows(request).text(), { headers: { 'cache-control': 'max-age=20' } })
  await ask([0, 10])
  await clock.advance(19_999)
  assert.equal(detailOf(await ask([0, 10])), 'hit')
  await clock.advance(1)
  assert.equal(detailOf(await ask([0, 10])), 'miss/expired')
})

test('a request that is not a query is forwarded with method, body and status', async () => {
  const { server, handle } = setUp()
  server.script = async (request) =>
    new Response(`${request.method} ${await request.text()}`, { status: 201, headers: { 'x-own': 'yes' } })
  const response = await handle(new Request(`${base}/other?a=1`, { method: 'PUT', body: 'text' }))
  assert.deepEqual([response.status, response.headers.get('x-own')], [201, 'yes'])
  assert.equal(await response.text(), 'PUT text')
  assert.equal(detailOf(response), 'bypass/not_a_range_query')
  assert.equal(server.seen[0]!.url, 'http://db.example/base/other?a=1')
})

test('a query that cannot be planned is passed on with its reason', async () => {
  const { server, handle } = setUp()
  server.script = () => new Response('what the database says', { status: 400 })
  const response = await handle(new Request(`${base}/rows?q=up`))
  assert.deepEqual(
    [response.status, await response.text(), detailOf(response)],
    [400, 'what the database says', 'bypass/missing_parameter'],
  )
})

test('Cache-Control of the request is honoured', async () => {
  const { clock, ask } = setUp()
  const demanding = (demand: string) => ask([0, 10], { headers: { 'cache-control': demand } })
  const first = await demanding('only-if-cached')
  assert.deepEqual([first.status, detailOf(first)], [504, 'refused/only_if_cached'])
  assert.equal(detailOf(await demanding('no-store')), 'bypass/no_store')
  await ask([0, 10])
  await clock.advance(1)
  assert.equal(detailOf(await demanding('no-cache')), 'miss/revalidate')
})

test('a database that cannot be reached is a 502, and stored buckets are served stale', async () => {
  const { clock, server, ask } = setUp()
  await ask([0, 10])
  server.script = () => {
    throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
  }
  const failed = await ask([20, 30])
  assert.deepEqual([failed.status, detailOf(failed)], [502, 'error/database_unreachable'])
  assert.match(await failed.text(), /cannot be reached \(connect ECONNREFUSED\)/)
  await clock.advance(2 * minuteMs)
  const stale = await ask([0, 10])
  assert.deepEqual([stale.status, detailOf(stale)], [200, 'stale/database_unreachable'])
})

test('a refusal of the database is passed on and not stored', async () => {
  const { server, ask } = setUp()
  server.script = () => new Response('bad q', { status: 422, headers: { 'x-own': 'yes' } })
  for (const _ of [1, 2]) {
    const response = await ask([0, 10])
    assert.deepEqual([response.status, response.headers.get('x-own')], [422, 'yes'])
    assert.deepEqual([await response.text(), detailOf(response)], ['bad q', 'error/database_refused'])
  }
  assert.equal(server.seen.length, 2)
})

test('a truncated response is requested once more, and never stored', async () => {
  const { server, ask } = setUp()
  server.script = () => broken('{"rows":[')
  assert.equal((await ask([0, 10])).status, 502)
  assert.equal(server.seen.length, 2)
  server.script = (request) => (server.seen.length === 3 ? broken('{"rows":[') : rows(request))
  const response = await ask([0, 10])
  assert.equal(detailOf(response), 'miss/absent')
  assert.equal(await response.text(), await direct([0, 10]))
})

const broken = (beginning: string): Response =>
  new Response(
    new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from(beginning)),
      pull: (controller) => controller.error(new Error('terminated')),
    }),
  )

test('a database that goes silent is given up after its timeout', async () => {
  const { clock, server, ask } = setUp({ limits: { upstreamTimeoutMs: 5000 } })
  const asked = Promise.withResolvers<AbortSignal>()
  server.script = (request) => {
    asked.resolve(request.signal)
    return new Promise<Response>(() => {})
  }
  const response = ask([0, 10])
  const signal = await asked.promise
  await clock.advance(5000)
  assert.deepEqual([(await response).status, detailOf(await response)], [504, 'error/database_timeout'])
  assert.ok(signal.aborted)
})

test('an aborted request rejects with its reason; the query goes on only where another request waits', async () => {
  const { server, ask } = setUp()
  const asked = Promise.withResolvers<Request>()
  const answer = Promise.withResolvers<Response>()
  server.script = (request) => {
    asked.resolve(request)
    return answer.promise
  }
  const [first, second] = [new AbortController(), new AbortController()]
  const responses = [ask([0, 10], first), ask([0, 10], second)]
  const query = await asked.promise
  first.abort(new Error('left'))
  await assert.rejects(responses[0]!, /left/)
  assert.ok(!query.signal.aborted)
  answer.resolve(rows(query))
  assert.equal(await (await responses[1]!).text(), await direct([0, 10]))
  await assert.rejects(ask([0, 10], first), /left/)
  const askedAgain = Promise.withResolvers<void>()
  server.script = () => {
    askedAgain.resolve()
    return new Promise<Response>(() => {})
  }
  const alone = new AbortController()
  const last = ask([10, 20], alone)
  await askedAgain.promise
  alone.abort(new Error('left, too'))
  await assert.rejects(last, /left, too/)
  assert.ok(server.seen[1]!.signal.aborted)
})

test('an answer above the limit is passed on and not kept', async () => {
  const { server, ask } = setUp({ limits: { maxAnswerBytes: 50 } })
  for (const _ of [1, 2]) {
    const response = await ask([0, 10])
    assert.equal(detailOf(response), 'bypass/answer_too_large')
    assert.equal(await response.text(), await direct([0, 10]))
  }
  assert.equal(server.seen.length, 4)
})

test('a query with too long a body is refused before the database is queried', async () => {
  const backend = { ...cellBackend(), claims: () => true }
  const { server, handle } = setUp({ backend, limits: { maxRequestBytes: 10 } })
  const response = await handle(new Request(`${base}/rows`, { method: 'POST', body: 'x'.repeat(11) }))
  assert.deepEqual([response.status, detailOf(response)], [413, 'refused/request_too_large'])
  assert.equal(server.seen.length, 0)
})

test('an unusable upstream is refused with a remedy', () => {
  for (const upstream of ['db:9090', 'ftp://db', 'http://user:secret@db', 'http://db/?a=1']) {
    assert.throws(() => setUp({ upstream }), { code: 'WINDOWPANE_BAD_OPTION' })
  }
})

test('a learned policy learns: buckets that never change are fetched less often', async () => {
  const { clock, ask } = setUp({ policy: learned({ staleness: 0.05 }) })
  const settled = [-120, 0] as const
  const missesOfOneDay = async () => {
    let misses = 0
    for (let i = 0; i < 24; i++) {
      await clock.advance(60 * minuteMs)
      if (detailOf(await ask(settled)) !== 'hit') misses++
    }
    return misses
  }
  const [first, second] = [await missesOfOneDay(), await missesOfOneDay()]
  assert.ok(first <= 16 && second <= 4, `${first} misses on the first day, ${second} on the second`)
})
