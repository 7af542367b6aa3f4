import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireServer } from '../data/fixture.ts'
import { ask, askNative, askSql } from '../servers/druid/ask.ts'
import { ingest, servedSegments } from '../servers/druid/ingest.ts'
import { tiny } from './data/tiny.ts'
import { startDruidFixture } from './fixture.ts'

test('a real Druid', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())

  await t.test('broker and router say what they are', async () => {
    for (const url of [druid.brokerUrl, druid.routerUrl]) {
      const { status, text } = await ask(`${url}/status`)
      assert.equal(status, 200)
      assert.equal(JSON.parse(text).version, druid.version)
    }
  })

  await t.test('native queries and SQL are answered, by broker and router', async () => {
    for (const url of [druid.brokerUrl, druid.routerUrl]) {
      assert.deepEqual(await askNative(url, rowsPerDay), [
        { timestamp: '2026-01-01T00:00:00.000Z', result: { n: 80 } },
        { timestamp: '2026-01-02T00:00:00.000Z', result: { n: 72 } },
        { timestamp: '2026-01-03T00:00:00.000Z', result: { n: 84 } },
        { timestamp: '2026-01-05T00:00:00.000Z', result: { n: 96 } },
      ])
      const sums = 'SELECT SUM(added) AS added, SUM(delta) AS delta FROM tiny WHERE country IS NULL'
      assert.deepEqual(await askSql(url, sums), [{ added: 13_944, delta: 1743 }])
    }
  })

  await t.test("Druid's own caches are off: the same question is answered in the same bytes", async () => {
    const texts = new Set<string>()
    for (let time = 0; time < 3; time++) {
      texts.add((await ask(`${druid.brokerUrl}/druid/v2`, topPages)).text)
    }
    assert.equal(texts.size, 1)
  })

  await t.test('rows that come late are answered with, in a segment of their own', async () => {
    const own = { ...tiny, dataSource: `late-${process.pid}`, rows: tiny.rows.slice(0, 8) }
    await ingest(druid, own)
    const before = await servedSegments(druid, own.dataSource)
    await ingest(druid, { ...own, rows: [{ ...tiny.rows[0]!, added: 1000 }], append: true })
    const after = await servedSegments(druid, own.dataSource)
    assert.deepEqual([before.length, after.length], [1, 2])
    assert.ok(after.includes(before[0]!))
    const query = { ...rowsPerDay, dataSource: own.dataSource }
    assert.deepEqual(await askNative(druid.brokerUrl, query), [
      { timestamp: '2026-01-01T00:00:00.000Z', result: { n: 9 } },
    ])
  })
})

const rowsPerDay = {
  queryType: 'timeseries',
  dataSource: tiny.dataSource,
  granularity: 'day',
  intervals: '2026-01-01/2026-01-06',
  aggregations: [{ type: 'count', name: 'n' }],
}

const topPages = {
  queryType: 'topN',
  dataSource: tiny.dataSource,
  granularity: { type: 'period', period: 'P1D', timeZone: 'America/New_York' },
  intervals: '2026-01-01/2026-01-06',
  dimension: 'page',
  metric: 'added',
  threshold: 2,
  aggregations: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
}
