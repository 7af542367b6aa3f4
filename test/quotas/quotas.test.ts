/** Quotas in front of a real Prometheus. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MINUTE } from '../data/dataset.ts'
import { type Fixture, startFixture, startOwnFixture } from '../data/fixture.ts'
import { header, outcomeOf, values } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { byTenant, leftOf, range, startQuotaRig } from './rig.ts'

const started = await startFixture()
const skip = skipReason(started)
const fixture = started as Fixture
after(() => (isUnavailable(started) ? undefined : started.stop()))

const requests = (capacity: number) => `{name: requests, capacity: ${capacity}, refill: 1, every: 1m}`
const cost = (capacity: number) => `{name: cost, capacity: ${capacity}, refill: 1, every: 1h}`
const points = (capacity: number) => `{name: points, capacity: ${capacity}, refill: 1, every: 1h}`

test('a client that has used up its requests is refused until there are more', { skip }, async (t) => {
  const { ask, clock, counts } = await startQuotaRig(
    t,
    fixture.url,
    `{${byTenant}, limits: [${requests(2)}]}`,
  )
  const first = await ask('a')
  assert.equal(first.status, 200)
  assert.equal(header(first, 'ratelimit'), '"requests";r=1;t=60')
  assert.equal(header(first, 'ratelimit-policy'), '"requests";q=2;w=120')
  assert.equal(leftOf(await ask('a'), 'requests'), 0)
  const refused = await ask('a')
  assert.equal(refused.status, 429)
  assert.equal(header(refused, 'retry-after'), '60')
  assert.deepEqual(values(refused, 'ratelimit'), ['"requests";r=0;t=60'])
  assert.deepEqual(values(refused, 'cache-status'), [])
  assert.equal(header(refused, 'content-type'), 'application/problem+json')
  const problem = JSON.parse(refused.body.toString())
  assert.equal(problem.type, 'https://iana.org/assignments/http-problem-types#quota-exceeded')
  assert.deepEqual(problem['violated-policies'], ['requests'])
  assert.equal((await ask('b')).status, 200, 'others have tokens of their own')
  await clock.advance(59_999)
  assert.equal((await ask('a')).status, 429)
  await clock.advance(1)
  assert.equal((await ask('a')).status, 200)
  assert.deepEqual(counts().refused, { requests: 2, cost: 0, points: 0 })
})

test('everything that is passed on takes a request token too, bodies included', { skip }, async (t) => {
  const { ask } = await startQuotaRig(t, fixture.url, `{${byTenant}, limits: [${requests(3)}]}`)
  assert.equal(leftOf(await ask('a', '/api/v1/labels'), 'requests'), 2)
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const post = { method: 'POST', headers: form, body: 'query=ramp_seconds&start=1&end=2&step=1' }
  assert.equal(leftOf(await ask('a', '/api/v1/query_range', post), 'requests'), 1)
  assert.equal(leftOf(await ask('a', '/api/v1/query', { ...post, body: 'query=1' }), 'requests'), 0)
  for (const path of ['/api/v1/labels', '/api/v1/query_range', '/api/v1/query'])
    assert.equal((await ask('a', path, path.endsWith('labels') ? {} : post)).status, 429)
})

test('cost is charged for fetched buckets, and only for them', { skip }, async (t) => {
  const { ask } = await startQuotaRig(
    t,
    fixture.url,
    `{${byTenant}, limits: [${cost(2000)}, ${points(100)}]}`,
  )
  const miss = await ask('a')
  assert.equal(outcomeOf(miss), 'miss/absent')
  assert.deepEqual([leftOf(miss, 'cost'), leftOf(miss, 'points')], [1400, 90])
  const hit = await ask('a')
  assert.equal(outcomeOf(hit), 'hit')
  assert.deepEqual([leftOf(hit, 'cost'), leftOf(hit, 'points')], [1400, 90])
  const partial = await ask('a', rangePath({ ...range, end: range.end + 5 * MINUTE }))
  assert.equal(outcomeOf(partial), 'partial/absent')
  assert.deepEqual([leftOf(partial, 'cost'), leftOf(partial, 'points')], [1100, 85])
})

test('points are settled by the series that came: the excess over the estimate is owed', {
  skip,
}, async (t) => {
  const { ask } = await startQuotaRig(t, fixture.url, `{${byTenant}, limits: [${points(15)}]}`)
  const query = 'node_network_receive_bytes_total'
  assert.equal((await ask('a', rangePath({ ...range, query }))).status, 200)
  const hit = await ask('a', rangePath({ ...range, query }))
  assert.equal(leftOf(hit, 'points'), 0)
  const other = await ask('a', rangePath({ ...range, query: 'ramp_seconds + 1' }))
  assert.equal(other.status, 429)
  // 15 - 20 = -5 are owed, and ten are wanted: one an hour.
  assert.equal(header(other, 'retry-after'), String(15 * 3600))
})

test('concurrent equal requests of many viewers pay for one query', { skip }, async (t) => {
  const { ask } = await startQuotaRig(t, fixture.url, `{${byTenant}, limits: [${cost(1000)}]}`)
  const all = await Promise.all(Array.from({ length: 20 }, () => ask('a')))
  assert.ok(all.every(({ status }) => status === 200))
  assert.equal(leftOf(await ask('a'), 'cost'), 400)
})

test('a query that costs more than there can ever be is refused for good', { skip }, async (t) => {
  const { ask } = await startQuotaRig(t, fixture.url, `{${byTenant}, limits: [${cost(599)}]}`)
  const refused = await ask('a')
  assert.equal(refused.status, 429)
  assert.equal(header(refused, 'retry-after'), undefined)
  assert.equal(header(refused, 'ratelimit'), '"cost";r=599')
})

test('a request that is passed on costs a flat amount', { skip }, async (t) => {
  const quotas = (flat: string) => `{${byTenant}, ${flat} limits: [${cost(100)}]}`
  const { ask, reload } = await startQuotaRig(t, fixture.url, quotas(''))
  assert.equal(leftOf(await ask('a', '/-/healthy'), 'cost'), 40)
  const refused = await ask('a', '/-/healthy')
  assert.equal(refused.status, 429)
  assert.deepEqual(JSON.parse(refused.body.toString())['violated-policies'], ['cost'])
  reload(quotas('forwardedCost: 0,'))
  assert.equal(leftOf(await ask('a', '/-/healthy'), 'cost'), 40)
})

test('an answer that is cached whole costs the flat amount when it is fetched, and nothing afterwards', {
  skip,
}, async (t) => {
  const { ask } = await startQuotaRig(t, fixture.url, `{${byTenant}, limits: [${cost(100)}]}`)
  const labels = '/api/v1/labels?start=1&end=2'
  assert.equal(outcomeOf(await ask('a', labels)), 'miss/absent')
  const hit = await ask('a', labels)
  assert.equal(outcomeOf(hit), 'hit')
  assert.equal(leftOf(hit, 'cost'), 40)
  assert.equal(leftOf(await ask('a', labels), 'cost'), 40)
})

test('without tokens an answer that is cached whole is given where it is stored, and not fetched', {
  skip,
}, async (t) => {
  const { ask } = await startQuotaRig(t, fixture.url, `{${byTenant}, limits: [${cost(60)}]}`)
  const [stored, other] = ['/api/v1/labels?start=1&end=2', '/api/v1/labels?start=1&end=3']
  assert.equal(outcomeOf(await ask('a', stored)), 'miss/absent')
  assert.equal(outcomeOf(await ask('a', stored)), 'hit')
  const refused = await ask('a', other)
  assert.equal(refused.status, 429)
  assert.deepEqual(JSON.parse(refused.body.toString())['violated-policies'], ['cost'])
  assert.equal(outcomeOf(await ask('b', other)), 'miss/absent')
})

test('the cost of a failed query is refunded', { skip }, async (t) => {
  const own = await startOwnFixture()
  if (isUnavailable(own)) return t.skip(own.unavailable)
  t.after(() => own.stop())
  const { ask } = await startQuotaRig(t, own.url, `{${byTenant}, limits: [${cost(1000)}]}`)
  assert.equal(leftOf(await ask('a', '/-/ready'), 'cost'), 940)
  await own.stop()
  for (const path of [rangePath(range), '/api/v1/labels', '/api/v1/query?query=1']) {
    const failed = await ask('a', path)
    assert.equal(failed.status, 502)
  }
  const after = await ask('a', '/-/ready')
  assert.equal(leftOf(after, 'cost'), 880, 'a query in progress is charged')
  assert.equal(leftOf(await ask('a', '/-/ready'), 'cost'), 880, 'and was given back')
})

test('instead of a refusal, stale buckets are served where that is wanted', { skip }, async (t) => {
  const quotas = (serveStale: boolean) => `{${byTenant}, serveStale: ${serveStale}, limits: [${cost(600)}]}`
  const { ask, clock, reload } = await startQuotaRig(t, fixture.url, quotas(true))
  const first = await ask('a')
  // Past the TTL of an hour, within the quarter of an hour that buckets may be stale.
  await clock.advance(65 * MINUTE)
  const stale = await ask('a')
  assert.equal(outcomeOf(stale), 'stale/over_quota')
  assert.match(stale.body.toString(), /the quota for queries to the database is used up/)
  assert.equal(leftOf(stale, 'cost'), 1)
  assert.equal((await ask('a', rangePath({ ...range, query: 'ramp_seconds + 1' }))).status, 429)
  reload(quotas(false))
  assert.equal((await ask('a')).status, 429)
  assert.equal(first.status, 200)
})

test('a dry run counts and logs the refusals, and refuses nothing', { skip }, async (t) => {
  const limits = `limits: [${requests(2)}, ${cost(600)}]`
  const { ask, counts, lines, metrics } = await startQuotaRig(
    t,
    fixture.url,
    `{${byTenant}, dryRun: true, ${limits}}`,
  )
  for (let i = 0; i < 4; i++) {
    const answer = await ask('a', rangePath({ ...range, query: `ramp_seconds + ${i}` }))
    assert.equal(answer.status, 200)
  }
  assert.deepEqual(counts().dryRun, { requests: 2, cost: 3, points: 0 })
  assert.deepEqual(counts().refused, { requests: 0, cost: 0, points: 0 })
  assert.ok(
    lines.some((line) => /would have refused 1 so far \(dry run\)/.test(line) && /"entity":"a"/.test(line)),
  )
  assert.match(metrics(), /windowpane_quota_refusals_total\{backend="main",limit="cost",mode="dry_run"\} 3/)
})

test('a reload changes limits in force, and the remaining tokens are scaled with them', {
  skip,
}, async (t) => {
  const { ask, reload } = await startQuotaRig(t, fixture.url, `{${byTenant}, limits: [${requests(10)}]}`)
  for (let i = 0; i < 5; i++) await ask('a')
  reload(`{${byTenant}, resources: {main: [${requests(7)}]}, limits: [${requests(10)}]}`)
  const after = await ask('a')
  assert.match(header(after, 'ratelimit-policy')!, /^"requests";q=7;/)
  assert.ok(leftOf(after, 'requests')! < 7)
  reload('{}')
  assert.equal(header(await ask('a'), 'ratelimit'), undefined)
})

test('hostile clients cannot make entities that are long, nor more of them than are kept', {
  skip,
}, async (t) => {
  const { ask } = await startQuotaRig(t, fixture.url, `{${byTenant}, limits: [${requests(1)}]}`)
  const long = 'x'.repeat(50_000)
  assert.equal((await ask(long)).status, 200)
  assert.equal((await ask(long)).status, 429, 'a long name is one entity')
  assert.equal((await ask(`${long}y`)).status, 200, 'and another one is another')
  for (const odd of ['a#b', '{"a":1}', '../../etc', 'a b', '%00', '"'])
    for (const status of [200, 429]) assert.equal((await ask(odd)).status, status, odd)
})
