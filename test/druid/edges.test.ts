/**
 * Windows that begin and end within buckets, on a real Druid: parts that are cached under their exact bounds, and the
 * exceptions `edges: whole` and `edges: now`, whose answers are compared with Druid's answers to the widened requests.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { druid as druidBackend } from '../../src/backends/druid/index.ts'
import type { EdgeTreatment } from '../../src/engine/rewrites.ts'
import { startWindowpane } from '../../src/proxy/assembly/windowpane.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { pick, seededRandom, wholeNumber } from '../../src/testing/random.ts'
import { requireServer } from '../data/fixture.ts'
import { ApiClient, outcomeOf } from '../fidelity/client.ts'
import { startDruidFixture } from './fixture.ts'

const hour = 3_600_000
const floorMs = 5_000
/** In the middle of the data, so that a bucket that is not over has rows. */
const now = Date.UTC(2026, 0, 2, 12, 34, 56, 789)

interface Span {
  readonly from: number
  readonly to: number
}

interface Form {
  readonly path: string
  readonly name: string
  /** Where the bucket of an instant begins, and the next one. */
  bucket(instant: number): Span
  body(span: Span): object
}

const iso = (instant: number): string => new Date(instant).toISOString()
const hourly = (instant: number): Span => ({
  from: Math.floor(instant / hour) * hour,
  to: (Math.floor(instant / hour) + 1) * hour,
})
/** Days of Calcutta. */
const daily = (instant: number): Span => {
  const shift = 5.5 * hour
  const from = Math.floor((instant + shift) / (24 * hour)) * 24 * hour - shift
  return { from, to: from + 24 * hour }
}

const aggregations = [
  { type: 'longSum', name: 'added', fieldName: 'added' },
  { type: 'count', name: 'n' },
]

function native(name: string, more: object, bucket: Form['bucket'] = hourly): Form {
  const body = ({ from, to }: Span) => ({
    ...{ dataSource: 'tiny', granularity: 'hour', intervals: [`${iso(from)}/${iso(to)}`], aggregations },
    ...more,
  })
  return { path: '/druid/v2', name, bucket, body }
}

function sql(name: string, floor: string, { bucket = hourly, ...more }: Partial<Form> & object = {}): Form {
  const body = ({ from, to }: Span) => ({
    query: `SELECT ${floor} AS t, SUM(added) AS a FROM tiny WHERE __time >= TIMESTAMP '${text(from)}' AND __time < TIMESTAMP '${text(to)}' GROUP BY 1 ORDER BY 1`,
    ...more,
  })
  return { path: '/druid/v2/sql', name, bucket, body }
}

const text = (instant: number): string => iso(instant).replace('T', ' ').replace('Z', '')
const calcutta = { type: 'period', period: 'P1D', timeZone: 'Asia/Calcutta' }

const forms: readonly Form[] = [
  native('timeseries', { queryType: 'timeseries' }),
  native('descending timeseries', { queryType: 'timeseries', descending: true }),
  native('limited timeseries', { queryType: 'timeseries', limit: 3 }),
  native('days of a zone', { queryType: 'timeseries', granularity: calcutta }, daily),
  native('an origin', {
    queryType: 'timeseries',
    granularity: { type: 'duration', duration: hour, origin: '2025-12-31T05:00:00Z' },
  }),
  native('groupBy', { queryType: 'groupBy', dimensions: ['page'] }),
  native('topN', { queryType: 'topN', dimension: 'page', metric: 'added', threshold: 2 }),
  sql('SQL', 'FLOOR(__time TO HOUR)'),
  sql('SQL in lines', `TIME_FLOOR(__time, 'PT1H')`, { resultFormat: 'csv', header: true } as object),
  sql('SQL in a zone', `TIME_FLOOR(__time, 'P1D', NULL, 'Asia/Calcutta')`, { bucket: daily }),
]

interface Under {
  readonly clock: ReturnType<typeof fakeClock>
  /** Sends a request for a span, and compares the answer with Druid's answer to another one. */
  compare(form: Form, asked: Span, answered: Span): Promise<{ outcome: string; cacheStatus: string }>
}

async function start(t: TestContext, brokerUrl: string, edges: EdgeTreatment): Promise<Under> {
  const clock = fakeClock(now)
  const backend = druidBackend({ maxBuckets: 10_000 })
  const proxy = await startWindowpane({ upstream: brokerUrl, backend, listen: '127.0.0.1:0', clock, edges })
  const [direct, proxied] = [new ApiClient(brokerUrl, 1), new ApiClient(proxy.url, 1)]
  t.after(async () => {
    await Promise.all([direct.close(), proxied.close()])
    const closing = proxy.close()
    await clock.advance(hour)
    await closing
  })
  const headers = { 'content-type': 'application/json' }
  const compare: Under['compare'] = async (form, asked, answered) => {
    const post = (client: ApiClient, span: Span) =>
      client.post(form.path, JSON.stringify(form.body(span)), headers)
    const [got, expected] = [await post(proxied, asked), await post(direct, answered)]
    assert.equal(expected.status, 200, expected.body.toString())
    assert.equal(
      got.body.toString(),
      expected.body.toString(),
      `${form.name} ${iso(asked.from)}/${iso(asked.to)}`,
    )
    return { outcome: outcomeOf(got).outcome, cacheStatus: got.headers['cache-status'] ?? '' }
  }
  return { clock, compare }
}

const random = seededRandom(17)
/** A window of the data before now, cut at both ends. */
function cutWindow(): Span {
  const from = Date.UTC(2026, 0, 1) + wholeNumber(random, 1, 30 * hour)
  return { from, to: Math.min(now - hour, from + wholeNumber(random, 1, 12 * hour)) }
}

test('exact: a window that is requested again with the same bounds is a hit', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const { compare } = await start(t, druid.brokerUrl, 'exact')
  for (const form of forms) {
    for (let i = 0; i < 2; i++) {
      const span = cutWindow()
      await compare(form, span, span)
      const again = await compare(form, span, span)
      assert.equal(again.outcome, 'hit', `${form.name}: ${again.cacheStatus}`)
      const other = { from: span.from + 1, to: span.to }
      assert.notEqual((await compare(form, other, other)).outcome, 'hit')
    }
  }
})

test('edges: whole: the answer is that to the request for whole buckets, and windows within them share it', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const { compare } = await start(t, druid.brokerUrl, 'whole')
  for (const form of forms) {
    for (let i = 0; i < 2; i++) {
      const span = cutWindow()
      const whole = { from: form.bucket(span.from).from, to: form.bucket(span.to - 1).to }
      assert.match((await compare(form, span, whole)).cacheStatus, / edges=whole\b/)
      const other = {
        from: wholeNumber(random, whole.from, span.from),
        to: pick(random, [span.to, whole.to]),
      }
      const again = await compare(form, other, whole)
      assert.equal(again.outcome, 'hit', `${form.name}: ${again.cacheStatus}`)
    }
  }
})

test('edges: now: viewers within one floor share an answer that ends with its bucket', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const { compare, clock } = await start(t, druid.brokerUrl, 'now')
  // To the beginning of a floor, so that viewers within it have one rewritten request.
  await clock.advance(floorMs - (now % floorMs))
  const lengthMs = 6 * hour
  for (const form of forms) {
    const widened = (to: number): Span => ({
      from: Math.max(form.bucket(to - lengthMs).from, Math.floor((to - lengthMs) / floorMs) * floorMs),
      to: form.bucket(to - 1).to,
    })
    const outcomes: string[] = []
    for (const waitMs of [0, 1_000, 2_500, 0]) {
      await clock.advance(waitMs)
      const to = clock.now()
      const { outcome, cacheStatus } = await compare(form, { from: to - lengthMs, to }, widened(to))
      assert.match(cacheStatus, / edges=now\b/)
      outcomes.push(outcome)
    }
    assert.deepEqual(outcomes.slice(1), ['hit', 'hit', 'hit'], form.name)
    // A window that ended long ago is answered as it was requested.
    const past = cutWindow()
    assert.doesNotMatch((await compare(form, past, past)).cacheStatus, /edges=/)
    await clock.advance(1_500)
  }
})
