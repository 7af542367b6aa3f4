/** The command with workers in front of a real Druid: the main thread polls the segments, and reports changes to the workers. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { requireServer } from '../data/fixture.ts'
import { askPlainly, outcomeOf } from '../proxy/client.ts'
import { type Ingestion, ingest } from '../servers/druid/ingest.ts'
import { until } from '../wait.ts'
import { startWorkers } from '../workers/running-workers.ts'
import { startDruidFixture } from './fixture.ts'
import { WatchedBroker } from './watched-broker.ts'

const dataSource = `workers_${randomUUID().slice(0, 8)}`
const noon = Date.UTC(2026, 4, 1, 12)
const rows = (added: number): Ingestion => ({
  ...{ dataSource, dimensions: ['page'], segmentGranularity: 'DAY' },
  metrics: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
  rows: [{ time: noon, page: 'A', added }],
})
const question = JSON.stringify({
  ...{ queryType: 'timeseries', dataSource, granularity: 'hour', intervals: ['2026-05-01/2026-05-02'] },
  aggregations: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
})

test('workers keep buckets of unchanged segments, and drop buckets of changed ones', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  await ingest(druid, rows(1))
  const broker = await WatchedBroker.before(druid.brokerUrl)
  t.after(() => broker.close())
  const running = await startWorkers(t, {
    upstream: broker,
    flags: [
      ...['--backends.main.type=druid', '--backends.main.segments.watch=true'],
      ...['--backends.main.segments.every=1s', '--policies.default.cap=1s', '--policies.default.floor=1s'],
    ],
  })
  const view = async (): Promise<readonly string[]> => {
    const headers = { 'Content-Type': 'application/json' }
    // Connections of their own: the system spreads them over the workers.
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        askPlainly(running.url, '/druid/v2', { method: 'POST', body: question, headers }),
      ),
    )
    return answers.map((answer) => `${outcomeOf(answer)} ${/"added":(\d+)/.exec(answer.body.toString())![1]}`)
  }
  const looks = async (count: number) => {
    const before = broker.looks
    await until(() => broker.looks > before + count)
  }

  await looks(3)
  await view()
  const fetched = broker.asked.length
  // Each look is a second after the one before: the TTL is over several times.
  await looks(4)
  assert.deepEqual(
    await view(),
    Array.from({ length: 8 }, () => 'hit 1'),
  )
  assert.equal(broker.asked.length, fetched)

  await ingest(druid, { ...rows(100), append: true })
  await looks(2)
  assert.ok((await view()).every((text) => text.endsWith(' 101')))
  assert.ok(broker.asked.length > fetched)

  const { segments } = await statusOf(running.admin)
  assert.equal(segments.trusted, true)
  assert.ok(segments.segments > 2)
  assert.ok(segments.marked >= 1)
  assert.equal(await running.counted('windowpane_segments_trusted'), 1)
  assert.equal(await running.counted('windowpane_segments_watched'), segments.segments)
})

interface Status {
  readonly backends: readonly {
    readonly segments: { readonly trusted: boolean; readonly segments: number; readonly marked: number }
  }[]
}

async function statusOf(admin: string): Promise<Status['backends'][number]> {
  const { body } = await askPlainly(admin, '/-/status')
  return (JSON.parse(body.toString()) as Status).backends[0]!
}
