/** Databases whose data changes later than a policy assumes: the handler stretches the policy, whatever its caller knows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getRange } from '../../test/rigs/range-requests.ts'
import type { Backend } from '../backends/backend.ts'
import { cortex } from '../backends/cortex/index.ts'
import { m3 } from '../backends/m3/index.ts'
import { mimir } from '../backends/mimir/index.ts'
import { prometheus } from '../backends/prometheus/index.ts'
import { thanos } from '../backends/thanos/index.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { ladder } from '../ttl/ladder.ts'
import { fetchHandler } from './fetch-handler.ts'

const minute = 60
const now = Date.UTC(2026, 0, 1) / 1000
const policy = ladder()
const options = { settledAgeMs: policy.settledAgeMs, maxBuckets: 11_000 }

/** Answers range queries with one series, as all of them print it. */
const databaseOf =
  (lineFeed: string): typeof fetch =>
  async (input, init) => {
    const { searchParams } = new URL(new Request(input, init).url)
    const [start, end] = ['start', 'end'].map((name) => Number(searchParams.get(name)))
    const values: string[] = []
    for (let at = start!; at <= end!; at += minute) values.push(`[${at},"1"]`)
    const series = `{"metric":{"__name__":"up"},"values":[${values}]}`
    const body = `{"status":"success","data":{"resultType":"matrix","result":[${series}]}}${lineFeed}`
    return new Response(body, { headers: { 'content-type': 'application/json' } })
  }

/** Whether a bucket that was 12 minutes old when it was fetched is still believed after a time. */
async function isBelievedAfter(backend: Backend, ms: number): Promise<boolean> {
  const clock = fakeClock(now * 1000)
  const handle = fetchHandler({
    upstream: 'http://db.example',
    backend: { ...backend, flavour: { path: '/', read: () => ({ isKnown: true, label: 'known' }) } },
    policy,
    clock,
    fetch: databaseOf(backend.name === 'm3' ? '\n' : ''),
  })
  const at = now - 12 * minute
  const url = `http://here.example/api/v1/query_range?query=up&start=${at}&end=${at + 1}&step=${minute}`
  const outcome = async () => {
    const response = await handle(new Request(url))
    return /detail="([^" ]+)/.exec(response.headers.get('cache-status') ?? '')?.[1]
  }
  assert.equal(await outcome(), 'miss/absent')
  await clock.advance(ms)
  const after = await outcome()
  assert.ok(after === 'hit' || after === 'miss/expired', after)
  return after === 'hit'
}

for (const late of [mimir, cortex, thanos, m3]) {
  test(`${late.name}: data of an hour is settled, and younger data is believed for a shorter time`, async () => {
    assert.equal(await isBelievedAfter(late(options), 9_999), true)
    assert.equal(await isBelievedAfter(late(options), 10_000), false)
  })

  test(`${late.name}: the age at which its data settles is an option`, async () => {
    const early = late({ ...options, settlesAfterMs: 0 })
    assert.equal(await isBelievedAfter(early, 3_599_999), true)
  })

  test(`${late.name}: a query of a fixed time is not cached before the data of that time has settled`, () => {
    const reasonOf = (ageSeconds: number): unknown => {
      const query = `query=up+@+${now - ageSeconds}&start=${now - 60}&end=${now}&step=60`
      const backend: Backend = late(options)
      const parsed = backend.parse(getRange(query))
      assert.ok(parsed !== undefined)
      const plan = backend.plan(parsed, now * 1000, { isKnown: true, label: 'known' })
      return 'bypass' in plan ? plan.bypass : undefined
    }
    assert.equal(reasonOf(59 * minute), 'recent_at_modifier')
    assert.equal(reasonOf(61 * minute), undefined)
  })
}

test('prometheus: the policy is as it was given', async () => {
  assert.equal(await isBelievedAfter(prometheus(options), 3_599_999), true)
  assert.equal(await isBelievedAfter(prometheus(options), 3_600_000), false)
})
