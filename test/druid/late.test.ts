/** Rows that come late into intervals that are long over: seen when the TTL ends, and at once after a purge. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { druid as druidBackend } from '../../src/backends/druid/index.ts'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { type ProxyServer, startServer } from '../../src/proxy/assembly/server.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { fixed } from '../../src/ttl/fixed.ts'
import { requireServer } from '../data/fixture.ts'
import { ApiClient, outcomeOf } from '../fidelity/client.ts'
import { ingest } from '../servers/druid/ingest.ts'
import { lateRows, tiny } from './data/tiny.ts'
import { startDruidFixture } from './fixture.ts'

const TTL_MS = 60_000
const HOUR = 3_600_000

class MovingClock implements Clock {
  #now = Date.UTC(2026, 5, 1)
  readonly elapsed = systemClock.elapsed
  readonly random = systemClock.random
  readonly after = systemClock.after

  now(): number {
    return this.#now
  }

  advance(ms: number): void {
    this.#now += ms
  }
}

async function openServer(t: TestContext, upstream: string, clock: Clock): Promise<ProxyServer> {
  const terms = { mode: 'on', identity: 'separate', policy: fixed(TTL_MS), maxStaleMs: 0 } as const
  const proxy = await startServer({
    ...{ listen: '127.0.0.1:0', limits: defaultLimits, clock },
    databases: [
      {
        name: 'main',
        backend: druidBackend({ maxBuckets: defaultLimits.maxBuckets }),
        upstream: { urls: [upstream] },
        settings: () => ({ terms, rules: [] }),
      },
    ],
  })
  t.after(() => proxy.close())
  return proxy
}

const intervals = '2026-01-01/2026-01-03'
const aggregations = [
  { type: 'count', name: 'n' },
  { type: 'longSum', name: 'added', fieldName: 'added' },
]

const questions = {
  timeseries: (dataSource: string) => ({
    path: '/druid/v2',
    body: { queryType: 'timeseries', dataSource, granularity: 'hour', intervals, aggregations },
  }),
  // The hour of the first late row has none in it before.
  groupBy: (dataSource: string) => ({
    path: '/druid/v2',
    body: {
      queryType: 'groupBy',
      dataSource,
      granularity: 'hour',
      dimensions: ['page'],
      intervals,
      aggregations,
    },
  }),
  topN: (dataSource: string) => ({
    path: '/druid/v2',
    body: {
      ...{ queryType: 'topN', dataSource, granularity: 'hour', intervals, aggregations },
      ...{ dimension: 'page', metric: 'added', threshold: 2 },
    },
  }),
  sql: (dataSource: string) => ({
    path: '/druid/v2/sql',
    body: {
      query: `SELECT FLOOR(__time TO HOUR) AS t, page, COUNT(*) AS n FROM "${dataSource}" WHERE __time >= '2026-01-01' AND __time < '2026-01-03' GROUP BY 1, 2 ORDER BY 1, 2`,
    },
  }),
}

test('late rows', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const own = { ...tiny, dataSource: `grows-${process.pid}-${Math.floor(systemClock.now() / 1000)}` }
  await ingest(druid, own)
  const clock = new MovingClock()
  const proxies = {
    ttl: await openServer(t, druid.brokerUrl, clock),
    purge: await openServer(t, druid.brokerUrl, clock),
  }

  const ask = async (url: string, name: keyof typeof questions) => {
    const client = new ApiClient(url, 1)
    const { path, body } = questions[name](own.dataSource)
    try {
      const answer = await client.post(path, JSON.stringify(body), { 'content-type': 'application/json' })
      assert.equal(answer.status, 200, answer.body.toString())
      return { text: answer.body.toString(), ...outcomeOf(answer) }
    } finally {
      await client.close()
    }
  }
  const names = Object.keys(questions) as (keyof typeof questions)[]
  const old = new Map<string, string>()
  for (const name of names) {
    for (const { url } of Object.values(proxies)) {
      old.set(name, (await ask(url, name)).text)
      assert.equal((await ask(url, name)).outcome, 'hit')
    }
  }

  await ingest(druid, { ...own, rows: lateRows, append: true })

  await t.test('are not seen while the stored buckets are fresh', async () => {
    for (const name of names) {
      const direct = await ask(druid.brokerUrl, name)
      assert.notEqual(direct.text, old.get(name))
      for (const { url } of Object.values(proxies)) {
        const { outcome, text } = await ask(url, name)
        assert.deepEqual([outcome, text], ['hit', old.get(name)])
      }
    }
  })

  await t.test('are seen at once after a purge of their interval: nothing else is fetched', async () => {
    const [first, second] = lateRows.map(({ time }) => Math.floor(time / HOUR) * HOUR)
    await proxies.purge.purge.run({ source: own.dataSource, from: first!, to: first! + HOUR })
    clock.advance(1)
    for (const name of names) {
      const { text, outcome, asked } = await ask(proxies.purge.url, name)
      assert.deepEqual([outcome, asked], ['partial', 1], name)
      assert.notEqual(text, old.get(name))
      assert.notEqual(text, (await ask(druid.brokerUrl, name)).text, 'the other row is not in that interval')
    }
    await proxies.purge.purge.run({ source: own.dataSource, from: second!, to: second! + HOUR })
    clock.advance(1)
    for (const name of names) {
      const { text, asked } = await ask(proxies.purge.url, name)
      assert.deepEqual([text, asked], [(await ask(druid.brokerUrl, name)).text, 1], name)
    }
  })

  await t.test('are seen when the stored buckets are as old as the policy allows', async () => {
    clock.advance(TTL_MS - 3)
    for (const name of names) assert.equal((await ask(proxies.ttl.url, name)).text, old.get(name))
    clock.advance(1)
    for (const name of names) {
      const { text, outcome } = await ask(proxies.ttl.url, name)
      assert.deepEqual([outcome, text], ['miss', (await ask(druid.brokerUrl, name)).text], name)
      assert.equal((await ask(proxies.ttl.url, name)).outcome, 'hit')
    }
  })

  await t.test('a purge of the whole data source has everything fetched again', async () => {
    await proxies.purge.purge.run({ source: own.dataSource })
    clock.advance(1)
    for (const name of names) {
      const { text, outcome } = await ask(proxies.purge.url, name)
      assert.deepEqual([outcome, text], ['miss', (await ask(druid.brokerUrl, name)).text])
    }
  })
})
