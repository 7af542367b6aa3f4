/** Which requests are retried at another database when one fails, and which are not. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { until } from '../proxy/client.ts'
import { oldRange } from '../proxy/setup.ts'
import { type Database, pass } from './proxy-rig.ts'
import { counts, health, passMany, startTwo } from './two.ts'

test('a request that may have been carried out is not sent twice, and is no trial', async (t) => {
  const two = await startTwo(t)
  for (const each of [two.a, two.b]) each.script = (request) => void request.socket.destroy()
  const post = { method: 'POST', path: '/api/v1/admin/tsdb/delete_series', search: 'match[]=x' }
  assert.match((await pass(two.upstream, post)).broken!.detail, /^127\.0\.0\.1:\d+: .*other side closed$/)
  assert.equal(two.a.seen.length + two.b.seen.length, 1)
  const [down, up] = health(two)[0] ? [two.b, two.a] : [two.a, two.b]
  assert.equal(down.seen.length, 1)
  await two.clock.advance(60_000)
  up.script = (_request, response) => void response.end()
  for (let i = 0; i < 4; i++) assert.equal((await pass(two.upstream, post)).status, 200)
  assert.equal(down.seen.length, 1)
})

test('a body that streams is not sent twice; a query is', async (t) => {
  const two = await startTwo(t)
  const { a, b, upstream } = two
  b.script = a.script
  a.script = (request) => void request.socket.destroy()
  const read = (form: string) => ({
    method: 'POST',
    path: '/api/v1/query_range',
    body: Buffer.from(form),
    isQuery: true,
  })
  const { start, end } = oldRange()
  const form = `query=up&start=${start / 1000}&end=${end / 1000}&step=60`
  for (let i = 0; i < 2; i++) assert.equal((await pass(upstream, read(form))).status, 200)
  assert.equal(a.seen.length, 1)
  await two.clock.advance(1_000)
  const stream = new PassThrough()
  stream.end(form)
  b.script = (request) => void request.socket.destroy()
  assert.notEqual((await pass(upstream, { ...read(form), body: stream })).broken, undefined)
  assert.equal(a.seen.length, 1)
})

test('an answer that has begun is not requested again', async (t) => {
  const two = await startTwo(t)
  const cut: Database['script'] = (_request, response) => {
    response.writeHead(200, { 'Content-Length': '10' })
    response.write('half', () => response.destroy())
  }
  two.a.script = cut
  two.b.script = cut
  const reply = await pass(two.upstream)
  assert.equal(reply.status, 200)
  assert.equal(reply.broken?.reason, 'database_unreachable')
  assert.equal(two.a.seen.length + two.b.seen.length, 1)
  assert.equal(health(two).filter((healthy) => !healthy).length, 1)
})

test('a database that a response was not requested from again is tried as soon as any other', async (t) => {
  const two = await startTwo(t)
  const usual = two.a.script
  for (const each of [two.a, two.b]) each.script = (request) => void request.socket.destroy()
  await pass(two.upstream)
  assert.deepEqual(health(two), [false, false])
  await two.clock.advance(1_000)
  two.a.script = (_request, response) => {
    response.writeHead(200, { 'Content-Length': '10' })
    response.write('half', () => response.destroy())
  }
  assert.equal((await pass(two.upstream)).broken?.reason, 'database_unreachable')
  assert.deepEqual(counts(two), [2, 1])
  for (const each of [two.a, two.b]) each.script = usual
  await two.clock.advance(60_000)
  await passMany(two, 2)
  assert.deepEqual(health(two), [true, true])
})

test('a silent database is excluded, but another is not queried for a slow query', async (t) => {
  const two = await startTwo(t)
  two.a.script = () => {}
  two.b.script = () => {}
  const waiting = pass(two.upstream)
  await until(() => two.a.seen.length + two.b.seen.length === 1)
  await two.clock.advance(60_000)
  assert.equal((await waiting).broken?.reason, 'database_timeout')
  assert.equal(two.a.seen.length + two.b.seen.length, 1)
  assert.equal(health(two).filter((healthy) => !healthy).length, 1)
})

test('a client that leaves in the middle of its body is no fault of the database', async (t) => {
  const two = await startTwo(t)
  for (const each of [two.a, two.b]) each.script = (request) => void request.on('error', () => {})
  const body = new PassThrough()
  const reply = pass(two.upstream, { method: 'POST', body, headers: ['content-length', '100'] })
  body.write('half')
  await until(() => two.a.seen.length + two.b.seen.length === 1)
  body.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }))
  assert.notEqual((await reply).broken, undefined)
  assert.deepEqual(health(two), [true, true])
})
