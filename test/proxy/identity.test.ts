/** Which requests share answers. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { END, MINUTE } from '../data/dataset.ts'
import { requireServer, startFixture } from '../data/fixture.ts'
import { namesOfOthers, namesThatSayWho } from '../rigs/header-names.ts'
import { ask, outcomeOf, rawClient, values } from './client.ts'
import { matrixFor, rangePath } from './matrix.ts'
import { sent } from './scripted-upstream.ts'
import { oldRange, startBoth, startStand } from './setup.ts'

const path = rangePath(oldRange())

/** Outcomes of the same query with these headers, one after the other. */
async function outcomes(url: string, all: readonly Record<string, string>[]): Promise<string[]> {
  const list: string[] = []
  for (const headers of all) list.push(outcomeOf(await ask(url, path, { headers })))
  return list
}

/**
 * The outcome of one raw request: the shortcut reads requests that keep the connection, node:http requests that close
 * it.
 */
async function rawOutcome(url: string, reader: 'shortcut' | 'node:http', line?: string): Promise<string> {
  const client = await rawClient(url)
  const lines = [`GET ${path} HTTP/1.1`, 'Host: h', ...(line === undefined ? [] : [line])]
  if (reader === 'node:http') lines.push('Connection: close')
  client.write(`${lines.join('\r\n')}\r\n\r\n`)
  await client.has(']}}')
  client.socket.destroy()
  return /^cache-status: .*detail="([^ "]+)/im.exec(client.received().toString('latin1'))![1]!
}

test('headers that identify the client separate answers, for both readers of the socket', async (t) => {
  const { url } = await startBoth(t)
  const miss = 'miss/absent'
  assert.equal(await rawOutcome(url, 'shortcut'), miss)
  for (const name of namesThatSayWho) {
    assert.equal(await rawOutcome(url, 'shortcut', `${name}: a`), miss, `${name} a`)
    assert.equal(await rawOutcome(url, 'node:http', `${name}: a`), 'hit', `${name} a again`)
    assert.equal(await rawOutcome(url, 'node:http', `${name.toUpperCase()}: b`), miss, `${name} b`)
    assert.equal(await rawOutcome(url, 'shortcut', `${name.toLowerCase()}: b`), 'hit', `${name} b again`)
  }
  assert.equal(await rawOutcome(url, 'node:http'), 'hit')
})

test('headers about the origin of a request do not separate', async (t) => {
  const { url } = await startBoth(t)
  assert.equal(await rawOutcome(url, 'shortcut'), 'miss/absent')
  for (const name of namesOfOthers) {
    assert.equal(await rawOutcome(url, 'shortcut', `${name}: a`), 'hit', name)
    assert.equal(await rawOutcome(url, 'node:http', `${name}: b`), 'hit', name)
  }
})

test('a panel and an alert rule of Grafana share: only the panel is sent with an organisation', async (t) => {
  const { url, upstream } = await startBoth(t)
  const panel = { 'X-Grafana-Org-Id': '1', 'X-Dashboard-Uid': 'd', 'X-Panel-Id': '2' }
  const alert = { FromAlert: 'true', 'X-Rule-Uid': 'r' }
  assert.deepEqual(await outcomes(url, [panel, alert, panel]), ['miss/absent', 'hit', 'hit'])
  assert.deepEqual(sent(upstream.seen[0]!, 'x-grafana-org-id'), ['1'])
})

test('Proxy-Authorization separates, and is not sent to the database', async (t) => {
  const { url, upstream } = await startBoth(t)
  const of = (user: string) => ({ 'Proxy-Authorization': `Basic ${user}` })
  assert.deepEqual(await outcomes(url, [of('a'), of('b'), of('a')]), ['miss/absent', 'miss/absent', 'hit'])
  for (const seen of upstream.seen) assert.deepEqual(sent(seen, 'proxy-authorization'), [])
})

test('values cannot be moved from one identity header to another', async (t) => {
  const { url } = await startBoth(t)
  const seen = await outcomes(url, [
    { 'X-Tenant': 'a', 'X-Tenant-Id': 'b' },
    { 'X-Tenant': 'a\tx-tenant-id:1:b' },
    { 'X-Tenant': 'b', 'X-Tenant-Id': 'a' },
    { 'X-Tenant': 'ab' },
    { 'X-Tenant-Id': 'ab' },
  ])
  assert.deepEqual(new Set(seen), new Set(['miss/absent']))
})

test('a header that Connection names is not sent, and so does not identify the client', async (t) => {
  const { url, upstream } = await startBoth(t)
  upstream.script = (request, response) => {
    const generation = request.headers['x-tenant'] === 'b' ? 2 : 1
    response.end(matrixFor(new URL(request.url!, 'http://x').searchParams, generation))
  }
  const unnamed = { 'X-Tenant': 'b', Connection: 'close, x-tenant' }
  const stripped = await ask(url, path, { headers: unnamed })
  const ofNobody = await ask(url, path)
  assert.deepEqual([outcomeOf(ofNobody), ofNobody.body], ['hit', stripped.body])
  const ofB = await ask(url, path, { headers: { 'X-Tenant': 'b' } })
  assert.equal(outcomeOf(ofB), 'miss/absent')
  assert.notDeepEqual(ofB.body, stripped.body)
  const again = await ask(url, path, { headers: unnamed })
  assert.deepEqual([outcomeOf(again), again.body], ['hit', stripped.body])
})

test('shared identity shares over all of them', async (t) => {
  const { url } = await startBoth(t, { identity: 'shared' })
  const seen = await outcomes(url, [{}, ...namesThatSayWho.map((name) => ({ [name]: 'x' }))])
  assert.deepEqual(seen, ['miss/absent', ...namesThatSayWho.map(() => 'hit')])
})

test('unknown parameters separate; a timeout does not', async (t) => {
  const { url } = await startBoth(t)
  const of = async (more: Record<string, string>) => outcomeOf(await ask(url, rangePath(oldRange(), more)))
  assert.equal(await of({}), 'miss/absent')
  assert.equal(await of({ dedup: 'true' }), 'miss/absent')
  assert.equal(await of({ dedup: 'false' }), 'miss/absent')
  assert.equal(await of({ lookback_delta: '1m' }), 'miss/absent')
  assert.equal(await of({ timeout: '10s' }), 'hit')
  assert.equal(await of({ dedup: 'true' }), 'hit')
})

const cors = ['access-control-allow-origin', 'access-control-expose-headers', 'vary', 'content-type'] as const

test('a hit has the CORS headers of a direct answer to the same origin', async (t) => {
  const fixture = requireServer(t, await startFixture())
  if (fixture === null) return
  t.after(() => fixture.stop())
  const { url } = await startStand(t, { upstream: fixture.url, clock: fakeClock(END + 24 * 60 * MINUTE) })
  const target = rangePath({ query: 'ramp_seconds', start: END - 10 * MINUTE, end: END - MINUTE })
  for (const headers of [{ Origin: 'https://a.example' }, { Origin: 'https://b.example' }, {}] as Record<
    string,
    string
  >[]) {
    const direct = await fetch(`${fixture.url}${target}`, { headers })
    const body = Buffer.from(await direct.arrayBuffer())
    for (const outcome of ['miss/absent', 'hit']) {
      const answer = await ask(url, target, { headers })
      assert.equal(outcomeOf(answer), outcome)
      assert.deepEqual(answer.body, body)
      for (const name of cors) {
        assert.deepEqual(values(answer, name).join(', ') || null, direct.headers.get(name), name)
      }
    }
  }
})
