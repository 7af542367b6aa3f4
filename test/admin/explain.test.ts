import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Explanation } from '../../src/engine/explain/explain.ts'
import type { RunReport } from '../../src/proxy/admin/run.ts'
import { ask, askPlainly, outcomeOf, statusOf } from '../proxy/client.ts'
import { sent } from '../proxy/scripted-upstream.ts'
import { form, NOW, type ProxyRig, startProxyRig } from './proxy-rig.ts'

type Told = Omit<Explanation, 'runs'> & { run?: RunReport; runs?: { state: string; buckets: number }[] }

const formType = { 'content-type': 'application/x-www-form-urlencoded' }

async function explain(
  proxy: ProxyRig,
  body: string,
  given: { path?: string; headers?: Record<string, string> } = {},
) {
  const answer = await askPlainly(proxy.admin, given.path ?? '/-/explain', {
    method: 'POST',
    headers: { ...formType, ...given.headers },
    body,
  })
  assert.equal(answer.status, 200, answer.body.toString())
  return JSON.parse(answer.body.toString()) as Told
}

const post = (proxy: ProxyRig, body: string, headers: Record<string, string> = {}) =>
  ask(proxy.url, '/api/v1/query_range', { method: 'POST', body, headers: { ...formType, ...headers } })

test('the explanation equals the outcome, and sends no query', async (t) => {
  const proxy = await startProxyRig(t)
  const windows = [
    form(30),
    form(30),
    form(20),
    form(60),
    form(10, NOW - 3_600_000),
    form(30, NOW, 'abs(sort(up))'),
  ]
  for (const waitMs of [0, 7000, 70_000]) {
    await proxy.clock.advance(waitMs)
    for (const body of windows) {
      const [before, builds] = [proxy.upstream.seen.length, proxy.upstream.buildInfoRequests.length]
      const told = await explain(proxy, body)
      assert.deepEqual(
        [proxy.upstream.seen.length, proxy.upstream.buildInfoRequests.length],
        [before, builds],
      )
      const answer = await post(proxy, body)
      const outcome = told.reason === undefined ? told.outcome : `${told.outcome}/${told.reason}`
      assert.equal(outcome, outcomeOf(answer))
      if (told.outcome !== 'bypass') assert.equal(told.asked?.buckets, statusOf(answer).asked)
    }
  }
})

test('clients with other headers are others', async (t) => {
  const proxy = await startProxyRig(t)
  const tenant = { 'x-scope-orgid': 'a' }
  await post(proxy, form(30), tenant)
  assert.equal((await explain(proxy, form(30))).outcome, 'miss')
  assert.equal((await explain(proxy, form(30), { headers: tenant })).outcome, 'hit')
  // The operator's credentials for this listener are not the client's for the database.
  await post(proxy, form(30), { authorization: 'Bearer operator' })
  assert.equal(
    (await explain(proxy, form(30), { headers: { authorization: 'Bearer operator' } })).outcome,
    'miss',
  )
  assert.equal(
    (await explain(proxy, form(30), { headers: { 'cache-control': 'no-store' } })).reason,
    'no_store',
  )
})

test('a whole request can be given as JSON', async (t) => {
  const proxy = await startProxyRig(t)
  const headers = { authorization: 'Bearer client' }
  await ask(proxy.url, `/api/v1/query_range?${form(30)}`, { headers })
  const envelope = (value: unknown) =>
    explain(proxy, JSON.stringify(value), { headers: { 'content-type': 'application/json' } })
  const told = await envelope({ search: `?${form(30)}`, headers: { Authorization: 'Bearer client' } })
  assert.deepEqual([told.outcome, JSON.stringify(told).includes('Bearer client')], ['hit', false])
  assert.equal((await envelope({ method: 'POST', path: '/api/v1/labels' })).reason, 'not_a_range_query')
  for (const bad of ['{', '[]', 'null', '{"method":1}', '{"headers":{"a":1}}', '{"headers":null}']) {
    const answer = await askPlainly(proxy.admin, '/-/explain', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: bad,
    })
    assert.equal(answer.status, bad === '{"headers":null}' ? 200 : 400, bad)
  }
})

const envelope = { 'content-type': 'application/json' }

test('a request that is no query is explained as it would be served, whatever the client demands', async (t) => {
  const proxy = await startProxyRig(t)
  for (const demand of ['no-store', 'only-if-cached', 'no-cache']) {
    const headers = { 'cache-control': demand }
    const told = await explain(proxy, JSON.stringify({ path: '/api/v1/labels', headers }), {
      headers: envelope,
    })
    const outcome = outcomeOf(await ask(proxy.url, '/api/v1/labels', { headers }))
    assert.deepEqual([`${told.outcome}/${told.reason}`, outcome], ['bypass/not_a_range_query', outcome])
  }
})

test('only queries are run: a listener that is read-only changes nothing in the database', async (t) => {
  const proxy = await startProxyRig(t)
  const path = '/api/v1/admin/tsdb/delete_series'
  for (const headers of [{}, { 'cache-control': 'no-store' }]) {
    const answer = await askPlainly(proxy.admin, '/-/explain?run=1', {
      method: 'POST',
      headers: envelope,
      body: JSON.stringify({ method: 'POST', path, search: 'match[]=up', headers }),
    })
    assert.deepEqual([answer.status, proxy.upstream.seen.length], [400, 0])
    assert.match(answer.body.toString(), /only queries over a time range are run/)
  }
})

test('a request that could not be sent is refused with a sentence, not run', async (t) => {
  const proxy = await startProxyRig(t)
  const unsendable = [
    { path: '/a b' },
    { path: 'api/v1/query_range' },
    { path: '/api/v1/query_range?query=up' },
    { search: 'query=a b' },
    { search: 'query=ü' },
    { method: 'A B' },
    { headers: { 'a b': 'c' } },
    { headers: { a: 'b\nc' } },
  ]
  for (const given of unsendable) {
    const answer = await askPlainly(proxy.admin, '/-/explain?run=1', {
      method: 'POST',
      headers: envelope,
      body: JSON.stringify(given),
    })
    assert.deepEqual([answer.status, proxy.upstream.seen.length], [400, 0], JSON.stringify(given))
    assert.match(answer.body.toString(), /^windowpane: .*(method|path|search|headers?)/)
  }
  assert.deepEqual(proxy.lines, [])
})

test('run=1 runs it the way clients do, and adds the waterfall', async (t) => {
  const proxy = await startProxyRig(t)
  const headers = { authorization: 'Bearer operator', cookie: 'admin=1' }
  const first = await explain(proxy, form(30), { path: '/-/explain?run=1', headers })
  assert.deepEqual([first.outcome, first.run!.status], ['miss', 200])
  assert.match(first.run!.cacheStatus, /detail="miss\/absent asked=30 /)
  assert.deepEqual(
    first.run!.waterfall.map(({ phase }) => phase),
    ['plan', 'lookup', 'fetch', 'reply'],
  )
  const seen = proxy.upstream.seen.at(-1)!
  assert.deepEqual([sent(seen, 'authorization'), sent(seen, 'cookie')], [[], []])
  const second = await explain(proxy, form(30), { path: '/-/explain?run=1' })
  assert.deepEqual([second.outcome, proxy.upstream.seen.length], ['hit', 1])
  assert.match(second.run!.cacheStatus, /hit/)
})

test('a data listener that does not answer is reported, not an internal error', async (t) => {
  const explanation: Explanation = { outcome: 'miss', reason: 'absent', now: NOW, sentence: 'Miss.' }
  const database = {
    queryPath: () => '/api/v1/query_range',
    explain: async () => explanation,
    run: () => Promise.reject(new Error('socket hang up')),
  }
  const proxy = await startProxyRig(t, { databases: () => new Map([['main', database]]) })
  const answer = await askPlainly(proxy.admin, '/-/explain?run=1', { method: 'POST', body: form(30) })
  assert.deepEqual(
    [answer.status, answer.body.toString(), proxy.lines],
    [502, 'windowpane: it could not be run: socket hang up\n', []],
  )
})

test('the rule that decides is named', async (t) => {
  const proxy = await startProxyRig(t)
  proxy.settings = {
    ...proxy.settings,
    rules: [
      { name: 'not this', terms: { mode: 'off' }, isMatch: ({ query }) => query === 'up' },
      { name: 'rules.1', terms: { mode: 'shadow' }, isMatch: ({ query }) => query === 'up + 2' },
    ],
  }
  const told = async (query: string) => {
    const { outcome, reason, rule } = await explain(proxy, form(30, NOW, query))
    return [outcome, reason, rule]
  }
  assert.deepEqual(await told('up'), ['bypass', 'switched_off', 'not this'])
  assert.deepEqual(await told('up + 1'), ['miss', 'absent', undefined])
  assert.deepEqual(await told('up + 2'), ['bypass', 'shadow', 'rules.1'])
  const text = await askPlainly(proxy.admin, '/-/explain?format=text', {
    method: 'POST',
    headers: formType,
    body: form(30),
  })
  assert.match(text.body.toString(), /^rule {5}not this$/m)
})

test('as text it begins with the verdict', async (t) => {
  const proxy = await startProxyRig(t)
  await post(proxy, form(30))
  await proxy.clock.advance(7000)
  const answer = await askPlainly(proxy.admin, '/-/explain?format=text&run=1', {
    method: 'POST',
    headers: formType,
    body: form(30),
  })
  const text = answer.body.toString()
  assert.match(text, /^shape {4}\["\/api\/v1\/query_range","up",60000\]$/m)
  assert.match(text, /^fresh {4}.*10 buckets|^stale {4}/m)
  assert.match(text, /^gives {4}5 s to /m)
  assert.match(
    text,
    /^Partial: \d+ of 30 buckets are fresh; the last \d expired 2 s ago and would be fetched\.\n\nshape /,
  )
  assert.match(text, /^ran {6}status 200/m)
  assert.match(text, /^fetch /m)
})

test('a backend that is not there, and one that is', async (t) => {
  const proxy = await startProxyRig(t)
  const wrong = await askPlainly(proxy.admin, '/-/explain?backend=x', { method: 'POST', body: form(3) })
  assert.deepEqual(
    [wrong.status, wrong.body.toString()],
    [400, 'windowpane: there is no backend "x"; there are: main\n'],
  )
  assert.equal((await explain(proxy, form(30), { path: '/-/explain?backend=main' })).outcome, 'miss')
  assert.equal(
    (await explain(proxy, form(30), { path: '/-/explain?path=/elsewhere' })).reason,
    'not_a_range_query',
  )
})
