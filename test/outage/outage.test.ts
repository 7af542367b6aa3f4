/** The database goes away under a dashboard that refreshes every 10 s, and comes back. The dashboard keeps drawing. */
import assert from 'node:assert/strict'
import { scene } from '../coalescing/proxy-rig.ts'
import { type Answer, outcomeOf } from '../coalescing/viewer.ts'
import { type Dashboard, openDashboard, pointsOf, STEP } from './dashboard.ts'

const REFRESH = 10_000
const OUTAGE = 120_000

const iso = (at: number): string => new Date(at).toISOString()

/** Runs while all is well; returns the last answer of every panel, and its end. */
async function drawForAWhile(dashboard: Dashboard): Promise<{ shown: Map<string, string>[]; until: number }> {
  for (let i = 0; i < 6; i++) {
    await dashboard.clock.advance(REFRESH)
    await dashboard.write()
    await assertDirect(dashboard)
  }
  return { shown: (await dashboard.refresh()).map(({ body }) => pointsOf(body)), until: dashboard.range.end }
}

async function assertDirect(dashboard: Dashboard): Promise<Answer[]> {
  const answers = await dashboard.refresh()
  assert.deepEqual(
    answers.map(({ body }) => body),
    await dashboard.direct(),
  )
  return answers
}

/** All earlier values are served again unchanged; nothing else; and the answer is marked. */
function assertStillDrawing(
  answer: Answer,
  before: { shown: Map<string, string>; until: number },
  range: { start: number; end: number },
): void {
  assert.equal(answer.status, 200)
  assert.match(outcomeOf(answer), /^stale\/database_(unreachable|slow|timeout)$/)
  const { warnings } = JSON.parse(answer.body) as { warnings?: string[] }
  assert.equal(warnings?.length, 1)
  assert.match(warnings![0]!, /^windowpane: the database .* stale/)
  const missing = / missing=(\S+?)["\s]/.exec(String(answer.headers['cache-status']))?.[1]
  const expected = range.end > before.until ? `${iso(before.until + STEP)}/${iso(range.end)}` : undefined
  assert.equal(missing, expected)
  const instantOf = (key: string) => 1000 * (JSON.parse(key) as [unknown, number])[1]
  const known = [...before.shown].filter(([key]) => instantOf(key) >= range.start)
  assert.ok(known.length > 500)
  assert.deepEqual([...pointsOf(answer.body)].sort(), known.sort())
}

scene('two minutes without the database', async (t) => {
  const dashboard = await openDashboard(t)
  if (dashboard === null) return
  const { shown, until } = await drawForAWhile(dashboard)
  await dashboard.crash()
  for (let passed = 0; passed < OUTAGE; passed += REFRESH) {
    await dashboard.clock.advance(REFRESH)
    const answers = await dashboard.refresh()
    answers.forEach((answer, i) => {
      assertStillDrawing(answer, { shown: shown[i]!, until }, dashboard.range)
      assert.equal(outcomeOf(answer), 'stale/database_unreachable')
    })
  }
  await dashboard.database.restart()
  await dashboard.write()
  await dashboard.clock.advance(REFRESH)
  for (const answer of await assertDirect(dashboard)) assert.match(outcomeOf(answer), /^partial/)
  await drawForAWhile(dashboard)
})

scene('two minutes in which the database stalls', async (t) => {
  const dashboard = await openDashboard(t)
  if (dashboard === null) return
  const { shown, until } = await drawForAWhile(dashboard)
  dashboard.database.pause()
  t.after(() => dashboard.database.resume())
  await dashboard.clock.advance(REFRESH)
  for (let passed = 0; passed < OUTAGE; passed += REFRESH) {
    const { range } = dashboard
    const answers = await dashboard.refreshPatiently(REFRESH)
    answers.forEach((answer, i) => {
      assertStillDrawing(answer, { shown: shown[i]!, until }, range)
      assert.equal(outcomeOf(answer), 'stale/database_slow')
    })
  }
  dashboard.database.resume()
  await dashboard.untilIdle()
  await dashboard.write()
  await dashboard.clock.advance(REFRESH)
  await assertDirect(dashboard)
  await drawForAWhile(dashboard)
})

interface PrometheusError {
  readonly status: string
  readonly errorType: string
  readonly error: string
}

function assertClearError(answer: Answer, statuses: readonly number[]): void {
  assert.ok(statuses.includes(answer.status), `${answer.status} ${answer.body.slice(0, 200)}`)
  assert.equal(answer.headers['content-type'], 'application/json')
  const { status, errorType, error } = JSON.parse(answer.body) as PrometheusError
  assert.equal(status, 'error')
  assert.match(errorType, /^(unavailable|timeout)$/)
  assert.match(error, /^windowpane: the database /)
}

scene('beyond max stale an outage is an error, and over when the database is back', async (t) => {
  const dashboard = await openDashboard(t, { maxStaleMs: 60_000 })
  if (dashboard === null) return
  await drawForAWhile(dashboard)
  await dashboard.crash()
  await dashboard.clock.advance(REFRESH)
  for (const answer of await dashboard.refresh()) assert.match(outcomeOf(answer), /^stale/)
  await dashboard.clock.advance(100_000)
  for (const answer of await dashboard.refresh()) {
    assertClearError(answer, [502])
    assert.equal(outcomeOf(answer), 'error/database_unreachable')
  }
  await dashboard.database.restart()
  await dashboard.write()
  await assertDirect(dashboard)
})

scene('beyond max stale a stall is an error', async (t) => {
  const dashboard = await openDashboard(t, { maxStaleMs: 60_000 })
  if (dashboard === null) return
  await drawForAWhile(dashboard)
  dashboard.database.pause()
  t.after(() => dashboard.database.resume())
  await dashboard.clock.advance(100_000)
  for (const answer of await dashboard.refreshPatiently(150_000)) assertClearError(answer, [502, 504])
  dashboard.database.resume()
  await dashboard.untilIdle()
  await dashboard.write()
  await dashboard.clock.advance(REFRESH)
  await assertDirect(dashboard)
})

scene('an outage that begins before the first request is an error, until it is over', async (t) => {
  const dashboard = await openDashboard(t)
  if (dashboard === null) return
  await dashboard.crash()
  for (let i = 0; i < 3; i++) {
    for (const answer of await dashboard.refresh()) assertClearError(answer, [502])
    await dashboard.clock.advance(REFRESH)
  }
  await dashboard.database.restart()
  await dashboard.write()
  for (const answer of await assertDirect(dashboard)) assert.match(outcomeOf(answer), /^miss/)
})

scene('an outage that begins before Windowpane is an error, until it is over', async (t) => {
  const dashboard = await openDashboard(t)
  if (dashboard === null) return
  await dashboard.crash()
  const late = await dashboard.anotherWindowpane(t)
  for (const answer of await late.refresh()) assertClearError(answer, [502])
  await late.database.restart()
  await late.clock.advance(REFRESH)
  // The first request after the outage queries the flavour of the database, and is forwarded; later ones are cached.
  await late.refresh()
  await late.untilIdle()
  for (const answer of await assertDirect(late)) assert.match(outcomeOf(answer), /^(miss|hit)/)
})
