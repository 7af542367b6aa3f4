/** Several equal databases: the choice between them, the exclusion of failing ones, and the effects on a client. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, outcomeOf, until } from '../proxy/client.ts'
import { oldRange } from '../proxy/setup.ts'
import { type Database, load, pass, startDatabase, startProxy, startUpstream } from './proxy-rig.ts'
import { counts, health, passMany, startTwo } from './two.ts'

test('the first is queried as long as it is healthy', async (t) => {
  const two = await startTwo(t)
  await passMany(two, 10)
  assert.deepEqual(counts(two), [10, 0])
})

test('one dies: no client notices; it is excluded, and one request at a time finds out when it is back', async (t) => {
  const two = await startTwo(t)
  const { a, b, clock, upstream } = two
  await passMany(two, 2)
  await a.goDown()
  const died = clock.now()
  await passMany(two, 6)
  const { url, healthy, since, failures, lastError } = upstream.upstreams()[0]!
  assert.deepEqual(
    { url, healthy, since, failures },
    { url: a.url.href, healthy: false, since: died, failures: 1 },
  )
  assert.match(lastError!, /ECONNREFUSED|ECONNRESET|closed/)
  for (const [i, backoff] of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
    await clock.advance(backoff - 1)
    await passMany(two, 3)
    assert.equal(upstream.upstreams()[0]!.failures, i + 1, `not tried before ${backoff} ms`)
    await clock.advance(1)
    await passMany(two, 3)
    assert.equal(upstream.upstreams()[0]!.failures, i + 2, `tried after ${backoff} ms`)
  }
  await a.comeBack()
  await clock.advance(30_000)
  a.script = () => {}
  const trial = pass(upstream)
  await until(() => a.seen.length === 3)
  const before = b.seen.length
  await passMany(two, 3)
  assert.deepEqual(counts(two), [3, before + 3])
  a.script = b.script
  a.server.closeAllConnections()
  assert.equal((await trial).status, 200)
  await clock.advance(30_000)
  await passMany(two, 5)
  assert.deepEqual(health(two), [true, true])
  assert.equal(upstream.upstreams()[0]!.failures, 0)
  assert.equal(upstream.upstreams()[0]!.lastError, undefined)
})

test('many that fail together are one failure', async (t) => {
  const two = await startTwo(t)
  two.a.script = () => {}
  const waiting = Array.from({ length: 8 }, () => pass(two.upstream))
  await until(() => two.a.seen.length === 8)
  two.a.server.closeAllConnections()
  await Promise.all(waiting)
  two.a.script = two.b.script
  await two.clock.advance(1_000)
  await passMany(two, 2)
  assert.deepEqual(health(two), [true, true])
})

test('one flaps under load: no request fails', async (t) => {
  const two = await startTwo(t)
  const { a, clock, upstream } = two
  const traffic = load(upstream)
  for (let i = 0; i < 6; i++) {
    await traffic.passed(30)
    await a.goDown()
    await traffic.passed(30)
    await clock.advance(1_000)
    await traffic.passed(30)
    await a.comeBack()
    await clock.advance(30_000)
    await until(() => health(two)[0]!)
  }
  assert.deepEqual(await traffic.stop(), [])
})

test('all down: stale, then a 502 that names them all; the first to come back serves', async (t) => {
  const two = await startTwo(t)
  const { a, b, clock } = two
  const proxy = await startProxy(t, two)
  const { start, end } = oldRange()
  const query = `/api/v1/query_range?query=up&start=${start / 1000}&end=${end / 1000}&step=60`
  const first = await ask(proxy, query)
  assert.equal(outcomeOf(first), 'miss/absent')
  await Promise.all([a.goDown(), b.goDown()])
  await clock.advance(65 * 60_000)
  const stale = await ask(proxy, query)
  assert.equal(outcomeOf(stale), 'stale/database_unreachable')
  const other = await ask(proxy, '/api/v1/labels')
  assert.equal(other.status, 502)
  for (const { url } of [a, b]) assert.ok(other.body.includes(`${url.host}: connect ECONNREFUSED`))
  await clock.advance(15_000)
  for (let i = 0; i < 4; i++) assert.equal((await ask(proxy, '/api/v1/labels')).status, 502)
  // No waiting for a backoff when there is no other database.
  await b.comeBack()
  assert.equal((await ask(proxy, '/api/v1/labels')).status, 200)
  assert.deepEqual(health(two), [false, true])
})

test('a single database is queried every time, whatever its state', async (t) => {
  const database = await startDatabase(t)
  const rig = startUpstream(t, { url: database.url })
  await database.goDown()
  for (let i = 1; i <= 3; i++) {
    assert.match((await pass(rig.upstream)).broken!.detail, /^connect ECONNREFUSED/)
    assert.equal(rig.upstream.upstreams()[0]!.failures, i)
  }
  await database.comeBack()
  assert.equal((await pass(rig.upstream)).status, 200)
  assert.deepEqual(health(rig), [true])
})

test('a probe finds out which are down and which are back; clients risk nothing', async (t) => {
  const probe = { path: '/api/v1/status/buildinfo', intervalMs: 10_000 }
  const two = await startTwo(t, { probe, auth: { token: { reveal: () => 'abc' } } })
  const { a, b, clock, upstream } = two
  const probes = (database: Database) => database.seen.filter(({ url }) => url === probe.path)
  const usual = a.script
  a.script = (_request, response) => void response.writeHead(503).end()
  await clock.advance(10_000)
  await until(() => health(two).join() === 'false,true')
  assert.equal(probes(a)[0]!.headers.authorization, 'Bearer abc')
  await clock.advance(9_999)
  await passMany(two, 5)
  assert.deepEqual(counts(two), [1, 6])
  await b.goDown()
  a.script = usual
  await clock.advance(1)
  await until(() => health(two).join() === 'true,false')
  assert.equal((await pass(upstream)).status, 200)
})
