/** Who shares answers with whom. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { identityHeaders } from '../../src/engine/http/identity.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { END, MINUTE } from '../data/dataset.ts'
import { requireServer, startFixture } from '../data/fixture.ts'
import { ask, outcomeOf, values } from './client.ts'
import { matrixFor, rangePath } from './matrix.ts'
import { oldRange, startBoth, startStand } from './setup.ts'

const path = rangePath(oldRange())

/** Outcomes of the same query with these headers, one after the other. */
async function outcomes(url: string, all: readonly Record<string, string>[]): Promise<string[]> {
  const list: string[] = []
  for (const headers of all) list.push(outcomeOf(await ask(url, path, { headers })))
  return list
}

for (const name of identityHeaders) {
  test(`${name} separates answers, and equal values share`, async (t) => {
    const { url } = await startBoth(t)
    const seen = await outcomes(url, [
      { [name]: 'a' },
      { [name]: 'b' },
      {},
      { [name]: 'a' },
      { [name]: 'b' },
      {},
    ])
    const miss = 'miss/absent'
    assert.deepEqual(seen, [miss, miss, miss, 'hit', 'hit', 'hit'])
  })
}

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

test('a header that Connection names is not sent, and so says nothing about who is asking', async (t) => {
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
  const seen = await outcomes(url, [{}, ...identityHeaders.map((name) => ({ [name]: 'x' }))])
  assert.deepEqual(seen, ['miss/absent', ...identityHeaders.map(() => 'hit')])
})

test('what says where a request came from does not separate', async (t) => {
  const { url } = await startBoth(t)
  const context = [
    'X-Panel-Id',
    'X-Dashboard-Uid',
    'X-Datasource-Uid',
    'X-Query-Group-Id',
    'X-Panel-Plugin-Id',
    'X-Grafana-From-Expr',
    'X-Dashboard-Title',
    'X-Panel-Title',
    'FromAlert',
    'X-Rule-Uid',
    'traceparent',
    'tracestate',
    'User-Agent',
    'Referer',
    'X-Forwarded-For',
    'Accept',
    'Accept-Language',
    'Via',
  ]
  const seen = await outcomes(url, [{}, ...context.map((name) => ({ [name]: 'x' }))])
  assert.deepEqual(seen, ['miss/absent', ...context.map(() => 'hit')])
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
