/**
 * SQL with the current time. Windowpane's clock is pinned; direct queries to Druid have the same instant. It moves on
 * from request to request, as it does for a dashboard in use.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { requireServer } from '../../data/fixture.ts'
import { type Answer, ApiClient, outcomeOf } from '../../fidelity/client.ts'
import { type Random, seededRandom } from '../../fidelity/random.ts'
import { chooseSeed } from '../../fidelity/setup.ts'
import { startDruidFixture } from '../fixture.ts'
import { compareAnswers } from './compare.ts'
import { startUnderTest } from './under-test.ts'

/** At midnight of the query's zone it is empty. */
const sinceMidnight = `__time >= DATE_TRUNC('day', CURRENT_TIMESTAMP) AND __time < CURRENT_TIMESTAMP`

const bounds = [
  `__time >= CURRENT_TIMESTAMP - INTERVAL '6' HOUR`,
  `__time >= CURRENT_TIMESTAMP - INTERVAL '6' HOUR AND __time < CURRENT_TIMESTAMP`,
  `__time BETWEEN CURRENT_TIMESTAMP - INTERVAL '1' DAY AND CURRENT_TIMESTAMP`,
  `__time > TIMESTAMPADD(HOUR, -12, CURRENT_TIMESTAMP)`,
  `__time >= TIME_SHIFT(CURRENT_TIMESTAMP, 'P1D', -1) AND __time < TIME_SHIFT(CURRENT_TIMESTAMP, 'PT1H', -2)`,
  `__time >= FLOOR(CURRENT_TIMESTAMP TO HOUR) - INTERVAL '12' HOUR AND __time < FLOOR(CURRENT_TIMESTAMP TO HOUR)`,
  sinceMidnight,
  `__time >= TIME_FLOOR(CURRENT_TIMESTAMP, 'PT1H') - INTERVAL '90' MINUTE`,
  `__time >= CURRENT_DATE - INTERVAL '1' DAY AND __time < CURRENT_DATE`,
  `__time >= LOCALTIMESTAMP - INTERVAL '300' MINUTE`,
  `__time >= CURRENT_TIMESTAMP - INTERVAL '1' MONTH AND __time < CURRENT_TIMESTAMP - INTERVAL '26' DAY`,
]

const isMidnight = (now: number, timeZone: string): boolean =>
  now % 1000 === 0 && new Date(now).toLocaleTimeString('en-GB', { timeZone }) === '00:00:00'

const isOpen = (bound: string): boolean => !/ AND | BETWEEN /.test(bound)

const questions = [
  'SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) AS n, SUM(delta) AS d FROM wiki WHERE {time} GROUP BY 1',
  "SELECT TIME_FLOOR(__time, 'PT15M') AS t, country, COUNT(*) AS n FROM wiki WHERE {time} AND robot = 'true' GROUP BY 1, 2 ORDER BY 1, 2",
  "SELECT TIME_FLOOR(__time, 'PT1H') AS t, page, SUM(added) AS a FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1 DESC, 2",
]
const zones = ['UTC', 'America/New_York', 'Europe/Berlin']

/** Nights of clock changes, rows at every turn. */
const starts = [Date.UTC(2026, 2, 7, 20), Date.UTC(2026, 2, 28, 15), Date.UTC(2026, 3, 1, 6)]
/** No row is later. Where bounds have no end, rows of the future would be part of the answer, which is not kept then. */
const endOfData = Date.UTC(2026, 3, 1, 15, 10)
const REQUESTS = 9

/** Forwards mostly, by minutes or by hours. */
const step = (random: Random): number =>
  random.pick([0, 1, 59_000, 600_000, 3_600_000, random.int(1, 4 * 3_600_000)])

interface Asked {
  readonly bound: string
  readonly question: string
}

interface Context {
  readonly sqlTimeZone: string
  /** Another one for each panel, so that panels share nothing. */
  readonly panel: number
}

test('the clock in SQL is the same for stored and fetched buckets', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  let now = starts[0]!
  const clock: Clock = { ...systemClock, now: () => now }
  const proxy = await startUnderTest(druid.brokerUrl, { clock })
  t.after(() => proxy.close())
  const [direct, proxied] = [new ApiClient(druid.brokerUrl, 1), new ApiClient(proxy.url, 1)]
  t.after(() => Promise.all([direct.close(), proxied.close()]))
  const random = seededRandom(chooseSeed(t))
  const outcomes = new Map<string, number>()

  const ask = (client: ApiClient, query: string, context: object): Promise<Answer> =>
    client.post('/druid/v2/sql', JSON.stringify({ query, context }), { 'content-type': 'application/json' })

  const compare = async ({ bound, question }: Asked, context: Context) => {
    const query = question.replace('{time}', bound)
    const pinned = { ...context, sqlCurrentTimestamp: new Date(now).toISOString() }
    const [expected, got] = [await ask(direct, query, pinned), await ask(proxied, query, context)]
    const where = `${query} at ${new Date(now).toISOString()}: ${got.headers['cache-status']}`
    assert.equal(compareAnswers(expected, got), 'equal', where)
    assert.equal(expected.status, 200)
    const { outcome } = outcomeOf(got)
    const isEmpty = bound === sinceMidnight && isMidnight(now, context.sqlTimeZone)
    assert.equal(outcome === 'bypass', isEmpty, where)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }

  for (const bound of bounds) {
    await t.test(bound, async () => {
      for (const question of questions) {
        const context = { sqlTimeZone: random.pick(zones), panel: random.int(0, 1e9) }
        now = random.pick(isOpen(bound) && random.chance(0.7) ? [endOfData] : starts)
        for (let i = 0; i < REQUESTS; i++) {
          await compare({ bound, question }, context)
          now += step(random)
        }
      }
    })
  }
  await t.test('an empty range is left to Druid', async () => {
    now = Date.UTC(2026, 2, 8)
    await compare({ bound: sinceMidnight, question: questions[0]! }, { sqlTimeZone: 'UTC', panel: -1 })
  })

  t.diagnostic([...outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(', '))
  const all = bounds.length * questions.length * REQUESTS
  // The mean of runs is 0.50 and 0.145, with standard deviations of 0.018 and 0.008.
  assert.ok((outcomes.get('partial') ?? 0) > 0.35 * all)
  assert.ok((outcomes.get('hit') ?? 0) > 0.05 * all)

  await t.test('outside of bounds it is left to Druid', async () => {
    const query = `SELECT FLOOR(__time TO HOUR) AS t, MAX(CURRENT_TIMESTAMP) AS now FROM wiki WHERE ${bounds[1]} GROUP BY 1`
    const got = await ask(proxied, query, {})
    assert.deepEqual([outcomeOf(got).outcome, outcomeOf(got).reason], ['bypass', 'unsafe_function'])
  })
})
