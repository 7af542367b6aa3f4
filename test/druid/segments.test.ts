/**
 * Segments of a real Druid, watched: unchanged data is not fetched again, late data is seen at the next poll, and
 * without the permission to poll the usual TTLs apply. Time is moved; the server, its segments and their arrival are
 * real.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Agent, request } from 'undici'
import { druid as druidBackend } from '../../src/backends/druid/index.ts'
import { type ProxyServer, startServer } from '../../src/proxy/assembly/server.ts'
import { limitsOf } from '../../src/proxy/limits.ts'
import type { Settings } from '../../src/proxy/request/settings.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { requireServer } from '../data/fixture.ts'
import { ask } from '../servers/druid/ask.ts'
import { type Ingestion, ingest, type Row } from '../servers/druid/ingest.ts'
import { until } from '../wait.ts'
import { startDruidFixture } from './fixture.ts'
import { WatchedBroker } from './watched-broker.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const firstDay = Date.UTC(2026, 4, 1)
const segments = { everyMs: 30 * minute, patienceMs: 65 * minute, maxAgeMs: day }

const dataSource = `late_${randomUUID().slice(0, 8)}`
const table = {
  dataSource,
  dimensions: ['page'],
  metrics: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
  segmentGranularity: 'DAY',
} as const

const hourly: Row[] = Array.from({ length: 72 }, (_, i) => ({
  ...{ time: firstDay + i * hour + minute, page: 'A', added: i + 1 },
}))
const late = (days: number): Ingestion => ({
  ...{ ...table, append: true },
  rows: [{ time: firstDay + days * day + 90 * minute, page: 'late', added: 1_000_000 }],
})

const question = {
  ...{ queryType: 'timeseries', dataSource, granularity: 'hour' },
  intervals: ['2026-05-01T00:00:00.000Z/2026-05-04T00:00:00.000Z'],
  aggregations: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
}
const wholeRange = [question.intervals]
const onlyDay = (days: number): string[][] => [
  [`2026-05-0${days + 1}T00:00:00.000Z/2026-05-0${days + 2}T00:00:00.000Z`],
]

class Visit {
  readonly clock: FakeClock
  readonly broker: WatchedBroker
  readonly #proxy: ProxyServer
  /** The longest that an answer's oldest bucket was stored. */
  oldestSeconds = 0

  private constructor(clock: FakeClock, broker: WatchedBroker, proxy: ProxyServer) {
    this.clock = clock
    this.broker = broker
    this.#proxy = proxy
  }

  static async start(brokerUrl: string): Promise<Visit> {
    const clock = fakeClock(Date.UTC(2026, 5, 1))
    const broker = await WatchedBroker.before(brokerUrl)
    const limits = limitsOf()
    const settings: Settings = {
      terms: { mode: 'on', identity: 'shared', policy: ladder(), maxStaleMs: limits.maxStaleMs },
      rules: [],
    }
    const proxy = await startServer({
      ...{ listen: '127.0.0.1:0', limits, clock },
      databases: [
        {
          ...{ name: 'druid', backend: druidBackend({ maxBuckets: 10_000 }) },
          ...{ upstream: { urls: [broker.url] }, settings: () => settings, segments },
        },
      ],
    })
    const visit = new Visit(clock, broker, proxy)
    await until(() => visit.figures.viewAt !== undefined)
    return visit
  }

  get figures() {
    return this.#proxy.databases[0]!.segments!
  }

  /** Moves time to the next poll, and waits for its result. */
  async look(): Promise<void> {
    const { looks } = this.figures
    await this.clock.advance(segments.everyMs)
    await until(() => this.figures.looks > looks)
    // A fetch at the same instant may have been before.
    await this.clock.advance(1)
  }

  /** The answer, and the queries to the Broker for it. */
  async view(): Promise<{ readonly text: string; readonly asked: readonly (readonly string[])[] }> {
    const before = this.broker.asked.length
    // Connections do not outlive the hours that pass.
    const dispatcher = new Agent({ pipelining: 0 })
    const [method, body] = ['POST', JSON.stringify(question)] as const
    const headers = { 'content-type': 'application/json' }
    const answer = await request(`${this.#proxy.url}/druid/v2`, { dispatcher, method, headers, body })
    assert.equal(answer.statusCode, 200)
    this.oldestSeconds = Math.max(this.oldestSeconds, Number(answer.headers['age'] ?? 0))
    const text = await answer.body.text()
    await dispatcher.close()
    return { text, asked: this.broker.asked.slice(before) }
  }

  async close(): Promise<void> {
    const closing = this.#proxy.close()
    await this.clock.advance(hour)
    await closing
    this.broker.close()
  }
}

test('the segments of a real Druid are watched', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  await ingest(druid, { ...table, rows: hourly })
  const visit = await Visit.start(druid.brokerUrl)
  t.after(() => visit.close())
  const truth = async () => (await ask(`${druid.brokerUrl}/druid/v2`, question)).text

  await t.test('settled buckets outlive the cap of their TTLs', async () => {
    await visit.look()
    assert.deepEqual((await visit.view()).asked, wholeRange)
    for (let looks = 0; looks < 12; looks++) {
      await visit.look()
      const { text, asked } = await visit.view()
      assert.deepEqual(asked, [], `asked again after ${looks + 1} looks`)
      assert.equal(text, await truth())
    }
    assert.ok(visit.oldestSeconds > 5 * 3600)
    assert.equal(visit.figures.marked, 0)
  })

  await t.test('a late append is seen at the next look, and only its day is fetched', async () => {
    const before = (await visit.view()).text
    await ingest(druid, late(1))
    await visit.look()
    const { text, asked } = await visit.view()
    assert.deepEqual(asked, onlyDay(1))
    assert.equal(text, await truth())
    assert.notEqual(text, before)
    assert.ok(text.includes('1000026'))
    assert.deepEqual((await visit.view()).asked, [])
    assert.equal(visit.figures.marked, 1)
  })

  await t.test('a watcher that is refused is trusted no longer than its patience lasts', async () => {
    visit.broker.isClosed = true
    await visit.look()
    assert.equal(visit.figures.trouble, 'status 403: Unauthorized')
    assert.equal(visit.figures.isTrusted, true)
    assert.deepEqual((await visit.view()).asked, [])
    await visit.look()
    await visit.look()
    assert.equal(visit.figures.isTrusted, false)
    assert.deepEqual((await visit.view()).asked, wholeRange)
    await visit.look()
    assert.deepEqual((await visit.view()).asked, [])
    // The TTL of settled buckets is an hour.
    await visit.look()
    assert.deepEqual((await visit.view()).asked, wholeRange)
  })

  await t.test('a change during a pause of the polls is found at the next poll', async () => {
    await ingest(druid, late(2))
    visit.broker.isClosed = false
    await visit.look()
    assert.equal(visit.figures.isTrusted, true)
    const { text, asked } = await visit.view()
    assert.deepEqual(asked, onlyDay(2))
    assert.equal(text, await truth())
  })

  await t.test('nothing is fresh for longer than maxAge', async () => {
    let fetches = 0
    for (let looks = 0; looks < 2 * 30; looks++) {
      await visit.look()
      const { text, asked } = await visit.view()
      fetches += asked.length
      if (looks % 20 === 0) assert.equal(text, await truth())
    }
    // Once because two looks are needed after a pause, and then once a day; two days were fetched at another time.
    assert.ok(fetches >= 2 && fetches <= 6, `${fetches} fetches in 30 hours`)
    assert.ok(visit.oldestSeconds < 86_400, `${visit.oldestSeconds} s`)
    assert.ok(visit.oldestSeconds > 86_400 - 3600)
  })
})
