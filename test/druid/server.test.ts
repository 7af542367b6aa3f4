import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireServer } from '../data/fixture.ts'
import { ask, askNative, askSql } from '../servers/druid/ask.ts'
import { type Ingestion, ingest, servedSegments } from '../servers/druid/ingest.ts'
import { lateRows, tiny } from './data/tiny.ts'
import { wiki, wikiSpans } from './data/wiki.ts'
import { years, yearsSpan } from './data/years.ts'
import { startDruidFixture } from './fixture.ts'

test('a real Druid', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())

  await t.test('broker and router report their roles', async () => {
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

  await t.test('the data sets are whole', async () => {
    for (const parts of dataSets) {
      const rows = parts.flatMap((part) => part.rows)
      const { dataSource } = parts[0]!
      const counted: object[] = await askSql(
        druid.brokerUrl,
        `SELECT COUNT(*) AS n, MIN(__time) AS t FROM "${dataSource}"`,
      )
      const first = Math.min(...rows.map((row) => row.time))
      assert.deepEqual(counted, [{ n: rows.length, t: new Date(first).toISOString() }])
    }
  })

  await t.test('the spans that windows are chosen from hold every row', async () => {
    for (const [parts, spans] of [
      [wiki, wikiSpans],
      [[years], [yearsSpan]],
    ] as const) {
      const times = parts.flatMap((part) => part.rows.map((row) => row.time))
      assert.ok(times.every((time) => spans.some(({ from, to }) => time >= from && time < to)))
    }
  })

  await t.test('sums beyond 2^53 are exact, and doubles that eighths can hold', async () => {
    const query = 'SELECT SUM(big) AS big, SUM(delta) AS delta FROM wiki'
    const { text } = await ask(`${druid.brokerUrl}/druid/v2/sql`, { query, resultFormat: 'csv' })
    const rows = wiki.flatMap((part) => part.rows)
    const big = rows.reduce((sum, row) => sum + (row['big'] as bigint), 0n)
    const delta = rows.reduce((sum, row) => sum + (row['delta'] as number), 0)
    assert.ok(big > 2n ** 53n && big < 2n ** 63n)
    assert.deepEqual(text.trim().split(',').map(String), [String(big), String(delta)])
  })

  await t.test('days have as many segments as appends, and 03-31 has none', async () => {
    const ids = await servedSegments(druid, 'wiki')
    const days = Map.groupBy(ids, (id) => id.slice('wiki_2026-'.length, 'wiki_2026-MM-DD'.length))
    assert.deepEqual(Object.fromEntries([...days].map(([day, segments]) => [day, segments.length])), {
      '03-06': 1,
      '03-07': 1,
      '03-08': 3,
      '03-09': 1,
      '03-10': 1,
      '03-27': 1,
      '03-28': 2,
      '03-29': 2,
      '03-30': 1,
      '04-01': 2,
    })
    assert.equal((await servedSegments(druid, 'years')).length, 34)
  })

  await t.test('a dimension of several values, nulls and odd texts arrive as they were', async () => {
    const counts = await askSql<{ readonly city: string | null; readonly n: number }>(
      druid.brokerUrl,
      `SELECT city, COUNT(*) AS n FROM wiki WHERE MV_CONTAINS(tags, ARRAY['bio', 'stub']) GROUP BY 1`,
    )
    const rows = wiki.flatMap((part) => part.rows)
    const chosen = rows.filter(
      ({ tags }) => Array.isArray(tags) && tags.includes('bio') && tags.includes('stub'),
    )
    const expected = Map.groupBy(chosen, (row) => row['city'] as string | null)
    assert.equal(counts.length, 9)
    for (const { city, n } of counts) assert.equal(n, expected.get(city)?.length, String(city))
  })

  await t.test('rows that come late are answered with, in segments of their own', async () => {
    const own = { ...tiny, dataSource: `late-${process.pid}` }
    await ingest(druid, own)
    const before = await servedSegments(druid, own.dataSource)
    await ingest(druid, { ...own, rows: lateRows, append: true })
    const after = await servedSegments(druid, own.dataSource)
    assert.deepEqual([before.length, after.length], [4, 6])
    assert.ok(new Set(after).isSupersetOf(new Set(before)))
    const query = { ...rowsPerDay, dataSource: own.dataSource, intervals: '2026-01-01/2026-01-03' }
    assert.deepEqual(await askNative(druid.brokerUrl, query), [
      { timestamp: '2026-01-01T00:00:00.000Z', result: { n: 81 } },
      { timestamp: '2026-01-02T00:00:00.000Z', result: { n: 73 } },
    ])
  })

  await t.test('rows that are ingested without appending replace their day', async () => {
    const own = { ...tiny, dataSource: `replaced-${process.pid}` }
    await ingest(druid, own)
    await ingest(druid, { ...own, rows: [{ ...tiny.rows[0]!, page: 'R' }] })
    const query = `SELECT page, COUNT(*) AS n FROM "${own.dataSource}" WHERE __time < '2026-01-02' GROUP BY 1`
    assert.deepEqual(await askSql(druid.brokerUrl, query), [{ page: 'R', n: 1 }])
  })

  await t.test('data that Druid does not ingest is an error with its reason', async () => {
    await assert.rejects(ingest(druid, { ...tiny, rows: [] }), /answered 400.*empty data/)
  })
})

const dataSets: readonly (readonly Ingestion[])[] = [[tiny], wiki, [years]]

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
