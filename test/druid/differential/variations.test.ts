/**
 * Where Druid's own direct answers differ from each other: this is why the suite forgives the last digits of some sums,
 * and why its forms omit some queries.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireServer } from '../../data/fixture.ts'
import { ask } from '../../servers/druid/ask.ts'
import { wiki } from '../data/wiki.ts'
import { startDruidFixture } from '../fixture.ts'
import { isNearly } from './compare.ts'
import { groupBy, period, sums, timeseries, topN } from './native.ts'

const HOUR = 3_600_000

const interval = (from: number, to: number): string =>
  `${new Date(from).toISOString()}/${new Date(to).toISOString()}`

test('direct queries to Druid have several answers for some forms', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())

  /** The texts of the rows. */
  const rowsOf = async (query: object, from: number, to: number): Promise<readonly string[]> => {
    const body = { dataSource: 'wiki', ...query, intervals: interval(from, to) }
    const { status, text } = await ask(`${druid.brokerUrl}/druid/v2`, body)
    assert.equal(status, 200, text)
    return text.slice(1, -1).split(/,(?=\{"(?:timestamp|version)")/)
  }

  /** How many hours have another text when they are queried alone. */
  const alone = async (query: object, from: number, hours: number) => {
    const whole = await rowsOf(query, from, from + hours * HOUR)
    const single: string[] = []
    for (let hour = 0; hour < hours; hour++) {
      single.push(...(await rowsOf(query, from + hour * HOUR, from + (hour + 1) * HOUR)))
    }
    assert.equal(single.length, whole.length)
    return { whole, single, differing: whole.filter((row, i) => row !== single[i]).length }
  }

  const days = [Date.UTC(2026, 2, 6), Date.UTC(2026, 2, 8)]

  for (const [name, inexact] of [
    ['rate', 'double'],
    ['score', 'float'],
  ] as const) {
    await t.test(`sums of ${name}: the last digits depend on the requested interval`, async (t) => {
      let [differing, all] = [0, 0]
      for (const day of days) {
        const found = await alone(timeseries('hour', { aggregations: sums(name) }), day, 24)
        assert.ok(isNearly(found.whole.join(), found.single.join(), inexact))
        differing += found.differing
        all += found.whole.length
      }
      t.diagnostic(`${differing} of ${all} hours have other digits when they are queried alone`)
      assert.ok(differing > 0)
    })
  }

  await t.test('exact sums do not', async () => {
    for (const day of days) {
      const exact = timeseries('hour', { aggregations: sums('n', 'added', 'big', 'delta', 'users') })
      assert.equal((await alone(exact, day, 24)).differing, 0)
    }
  })

  await t.test('approximate counts depend on its own caches', async (t) => {
    const cities = { type: 'cardinality', name: 'x', fields: ['city', 'tags'], byRow: false, round: true }
    const answers = new Set<string>()
    for (const isOn of [false, true]) {
      const context = { useCache: isOn, populateCache: isOn }
      const query = timeseries('hour', { aggregations: [cities], context })
      answers.add((await rowsOf(query, days[1]!, days[1]! + 6 * HOUR)).join())
    }
    for (const answer of answers) t.diagnostic(answer.match(/"x":\d+/g)!.join(' '))
    assert.equal(answers.size, 2)
  })

  await t.test('without vectorize, empty buckets differ', async () => {
    const answers = new Set<string>()
    for (const vectorize of [true, false]) {
      const context = { finalize: false, vectorize }
      const query = timeseries('hour', { aggregations: sums('users'), context })
      answers.add((await rowsOf(query, Date.UTC(2026, 2, 9, 5), Date.UTC(2026, 2, 9, 6))).join())
    }
    assert.equal(answers.size, 2)
  })

  await t.test('sums by groupBy over several segments: the last digits are those of chance', async (t) => {
    const query = groupBy('day', ['page'], { aggregations: sums('rate') })
    const texts = new Set<string>()
    for (let time = 0; time < 30; time++) {
      texts.add((await rowsOf(query, days[1]!, days[1]! + 24 * HOUR)).join())
    }
    t.diagnostic(`${texts.size} different answers of 30`)
    for (const text of texts) assert.ok(isNearly(text, [...texts][0]!, 'double'))
  })

  await t.test('the first of several rows of one time depends on the requested interval', async (t) => {
    const query = timeseries('hour', {
      aggregations: [{ type: 'stringFirst', name: 'x', fieldName: 'city' }],
    })
    const midnight = Date.UTC(2026, 3, 1)
    const answers = new Set<string>()
    for (const from of [midnight - 48 * HOUR, midnight - 24 * HOUR, midnight]) {
      for (const to of [midnight + HOUR, midnight + 12 * HOUR, midnight + 24 * HOUR]) {
        const rows = await rowsOf(query, from, to)
        answers.add(rows.find((row) => row.includes('"2026-04-01T00'))!)
      }
    }
    t.diagnostic(`${answers.size} different answers of 9`)
    const rows = wiki.flatMap((part) => part.rows).filter(({ time }) => time === midnight)
    assert.ok(rows.length > 1)
    for (const answer of answers) {
      assert.ok(
        rows.some(({ city }) => answer.includes(`"x":${JSON.stringify(city)}`)),
        answer,
      )
    }
  })

  await t.test(
    'topN that keeps few values of each segment depends on it, too; keeping all, it does not',
    async (t) => {
      const few = topN(period('PT1H'), 'page', { context: { minTopNThreshold: 5 } })
      const { differing, whole } = await alone(few, days[1]!, 24)
      t.diagnostic(`${differing} of ${whole.length} hours differ when they are queried alone`)
      assert.equal((await alone(topN(period('PT1H'), 'page'), days[1]!, 24)).differing, 0)
    },
  )
})
