/**
 * Watched segments of a real Druid vouch for whole answers: they stay fresh beyond their terms while their segments are the
 * same, and when some change, exactly those lapse that read them.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { requireServer } from '../data/fixture.ts'
import { ask } from '../servers/druid/ask.ts'
import { type Ingestion, ingest, type Row, servedSegments } from '../servers/druid/ingest.ts'
import { eventually } from '../wait.ts'
import { startDruidFixture } from './fixture.ts'
import { WholeVisit, watched } from './whole-visit.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const firstDay = Date.UTC(2026, 4, 1)

const dataSource = `whole_${randomUUID().slice(0, 8)}`
const table = {
  dataSource,
  dimensions: ['page'],
  metrics: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
  segmentGranularity: 'DAY',
} as const
const rowsOf = (days: readonly number[], added: number): Row[] =>
  days.flatMap((each) =>
    ['A', 'B'].map((page, i) => ({ time: firstDay + each * day + i * hour, page, added: added + i })),
  )
const appended = (days: number): Ingestion => ({ ...table, append: true, rows: rowsOf([days], 1000) })
const overwritten = (days: number): Ingestion => ({ ...table, rows: rowsOf([days], 7000) })

const dateOf = (days: number): string => new Date(firstDay + days * day).toISOString().slice(0, 10)
const aggregations = [{ type: 'longSum', name: 'added', fieldName: 'added' }]

interface Asked {
  readonly path: string
  readonly body: object
  readonly days: readonly number[]
}

const native = (days: readonly [number, number], more: object): Asked => ({
  path: '/druid/v2',
  body: {
    ...{ dataSource, granularity: 'all', aggregations, intervals: `${dateOf(days[0])}/${dateOf(days[1])}` },
    ...more,
  },
  days,
})
const sql = (days: readonly [number, number], select: string): Asked => ({
  path: '/druid/v2/sql',
  body: {
    query: select.replace(
      'FROM',
      `FROM "${dataSource}" WHERE __time >= '${dateOf(days[0])}' AND __time < '${dateOf(days[1])}'`,
    ),
  },
  days,
})

const atRest: Readonly<Record<string, Asked>> = {
  'total of day 0': native([0, 1], { queryType: 'timeseries' }),
  'table of day 0': native([0, 1], { queryType: 'groupBy', dimensions: ['page'] }),
  'top of day 1': native([1, 2], { queryType: 'topN', dimension: 'page', metric: 'added', threshold: 5 }),
  'SQL of day 1': sql([1, 2], 'SELECT page, SUM(added) AS a FROM GROUP BY 1 ORDER BY 2'),
  'total of day 2': native([2, 3], { queryType: 'timeseries' }),
  'values of day 2': sql([2, 3], 'SELECT DISTINCT page FROM'),
  'total of days 0 and 1': native([0, 2], { queryType: 'timeseries' }),
  'SQL of all days': sql([0, 3], 'SELECT COUNT(*) AS n, SUM(added) AS a FROM'),
}
const unbounded: Readonly<Record<string, Asked>> = {
  boundary: { path: '/druid/v2', body: { queryType: 'timeBoundary', dataSource }, days: [] },
  'all that is to come': sql([0, 30], 'SELECT SUM(added) AS a FROM'),
  relative: {
    path: '/druid/v2/sql',
    body: { query: `SELECT COUNT(*) AS n FROM "${dataSource}" WHERE __time < CURRENT_TIMESTAMP` },
    days: [],
  },
}
const names = Object.keys(atRest)
/** Values may be served for longer, and while they are regenerated. */
const figures = names.filter((name) => !name.startsWith('values'))
const reading = (changed: number): string[] =>
  names.filter((name) => {
    const [from, to] = atRest[name]!.days as [number, number]
    return from <= changed && changed < to
  })

test('watched segments vouch for whole answers', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  await ingest(druid, { ...table, rows: rowsOf([0, 1, 2], 1) })
  const visit = await WholeVisit.start(t, druid.brokerUrl, { isWatched: true })
  await visit.look()

  /** Requests everything, and returns the queries to Druid; every answer is Druid's current one. */
  const askedAgain = async (questions: Readonly<Record<string, Asked>>): Promise<string[]> => {
    const asked: string[] = []
    for (const [name, { path, body }] of Object.entries(questions)) {
      const seen = await visit.view({ path, body })
      assert.equal(seen.text, (await ask(`${druid.brokerUrl}${path}`, body)).text, name)
      if (seen.questions > 0) asked.push(name)
    }
    return asked
  }

  const outcomes = async (): Promise<string[]> => {
    const seen: string[] = []
    for (const name of names) seen.push((await visit.view(atRest[name]!)).outcome)
    return seen
  }

  await t.test(
    'answers over data at rest are fetched once in twelve hours, others at each request',
    async () => {
      assert.deepEqual(await askedAgain(atRest), names)
      for (let looks = 0; looks < 24; looks++) {
        await visit.look()
        assert.deepEqual(await askedAgain(atRest), [], `after ${looks + 1} looks`)
        assert.deepEqual(await askedAgain(unbounded), Object.keys(unbounded))
      }
    },
  )

  /** Changed data is vouched for again when a second poll has found it unchanged. */
  const lapses = async (ingestion: Ingestion, expected: readonly string[]): Promise<void> => {
    await ingest(druid, ingestion)
    // Overwritten data is served for a moment longer: its removal would be a change of its own.
    await eventually(
      () => servedSegments(druid, dataSource),
      ({ length }) => length === 4,
    )
    await visit.look()
    assert.deepEqual(await askedAgain(atRest), expected)
    assert.deepEqual(await askedAgain(atRest), [])
    await visit.look()
    assert.deepEqual(await askedAgain(atRest), expected)
    for (let looks = 0; looks < 3; looks++) {
      await visit.look()
      assert.deepEqual(await askedAgain(atRest), [])
    }
  }

  await t.test('an append lapses exactly the answers over its day', () => lapses(appended(1), reading(1)))

  await t.test('an overwrite lapses exactly the answers over its day', () =>
    lapses(overwritten(2), reading(2)),
  )

  await t.test('during an outage, staleness counts from when they were last vouched for', async (t) => {
    const { relay, clock } = visit
    const intact = relay.spoil
    t.after(() => {
      relay.spoil = intact
    })
    relay.spoil = (answer) => ({ ...answer, status: 503, body: '{"error":"down"}' })
    await visit.look()
    await visit.look()
    assert.deepEqual(
      await outcomes(),
      names.map(() => 'hit'),
    )
    await clock.advance(10 * minute)
    assert.equal(visit.figures.isTrusted, false)
    for (const name of figures) {
      const { outcome, headers } = await visit.view(atRest[name]!)
      assert.equal(outcome, 'stale', name)
      assert.match(headers['cache-status']!, /ttl=-[23]\d\d\b/)
      assert.ok(Number(headers['age']) > 2 * 3600)
    }
    await clock.advance(15 * minute)
    for (const name of figures) assert.equal((await visit.ask(atRest[name]!)).status, 503, name)
    relay.spoil = intact
    await visit.look()
  })

  await t.test('nothing is fresh for longer than maxAge', async () => {
    const asked = new Set<string>()
    for (let ms = 0; ms <= watched.maxAgeMs; ms += watched.everyMs) {
      await visit.look()
      for (const name of await askedAgain(atRest)) asked.add(name)
    }
    assert.deepEqual([...asked].sort(), names.toSorted())
  })

  await t.test('without looks, answers are under their own terms again after the patience', async (t) => {
    const { relay } = visit
    const intact = relay.spoil
    t.after(() => {
      relay.spoil = intact
    })
    relay.spoil = (answer) => (answer.body.startsWith('["datasource"') ? { ...answer, status: 403 } : answer)
    for (let looks = 0; looks < 3; looks++) await visit.look()
    assert.equal(visit.figures.isTrusted, false)
    assert.deepEqual(
      (await askedAgain(atRest)).filter((name) => figures.includes(name)),
      figures,
    )
  })
})
