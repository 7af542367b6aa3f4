/**
 * The requests of Superset, Turnilo, pydruid, grafadruid and Metabase, on a real Druid: every answer through Windowpane
 * is Druid's own, and each form is answered from the cache, or forwarded, as its file states. A form with another
 * outcome fails by name.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { requireServer } from '../../data/fixture.ts'
import { startDruidFixture } from '../fixture.ts'
import { bodyAt, type ClientName, clientNames, isTimeSeries, readForms, withPlaceholders } from './forms.ts'
import { isEligible, type Replayed, replay } from './replay.ts'

/** Of each client's queries in time buckets: how many are eligible, and how many of those are hits when repeated. */
const shares: Readonly<Record<ClientName, Share>> = {
  superset: { queries: 27, eligible: 25, hits: 25 },
  turnilo: { queries: 13, eligible: 9, hits: 9 },
  pydruid: { queries: 18, eligible: 18, hits: 18 },
  grafadruid: { queries: 20, eligible: 19, hits: 19 },
  metabase: { queries: 11, eligible: 8, hits: 8 },
}

interface Share {
  readonly queries: number
  readonly eligible: number
  readonly hits: number
}

function shareOf(replayed: readonly Replayed[]): Share {
  const asked = replayed.filter(({ isTimeSeries }) => isTimeSeries)
  const eligible = asked.filter(({ again }) => isEligible(again))
  const hits = eligible.filter(({ again }) => again === 'hit')
  return { queries: asked.length, eligible: eligible.length, hits: hits.length }
}

test('the queries of dashboards through Windowpane', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  for (const client of clientNames) {
    await t.test(client, async (t) => {
      const replayed = await replay(druid.brokerUrl, readForms(client))
      const share = shareOf(replayed)
      t.diagnostic(
        `${client}: of ${share.queries} queries in time buckets ${share.eligible} are eligible, ${share.hits} hits when repeated`,
      )
      assert.deepEqual(
        replayed.flatMap(({ differences }) => differences),
        [],
      )
      assert.deepEqual(
        replayed.map(({ form, again }) => `${form.name}: ${again}`),
        replayed.map(({ form }) => `${form.name}: ${form.again}`),
      )
      assert.deepEqual(share, shares[client])
      // A window that has moved by a day still finds the buckets that it shares with the one before.
      for (const { form, again, later } of replayed)
        assert.equal(isEligible(later), isEligible(again), form.name)
    })
  }
})

test('the guide says how many are eligible', async () => {
  const guide = await readFile('docs/guide/superset.md', 'utf8')
  const rows = [...guide.matchAll(/^\| (\w+)[^|]* \| (\d+) \| (\d+) \|$/gm)]
  const told = rows.map(([, name, queries, eligible]) => [
    name!.toLowerCase(),
    Number(queries),
    Number(eligible),
  ])
  assert.deepEqual(
    told,
    Object.entries(shares).map(([name, { queries, eligible }]) => [name, queries, eligible]),
  )
})

test('a form is the captured request where its times are filled in', () => {
  for (const client of clientNames) {
    for (const form of readForms(client)) {
      assert.equal(withPlaceholders(bodyAt(form)), form.body, form.name)
      assert.doesNotMatch(bodyAt(form), /\{-?\d/, form.name)
    }
  }
  const [line] = readForms('superset')
  assert.match(bodyAt(line!), /__time\\" >= '2026-03-06 00:00:00.000000'/)
  assert.match(bodyAt(line!, 25), /__time\\" < '2026-03-12 01:00:00.000000'/)
})

test('which queries have time buckets', () => {
  const native = (query: object) => isTimeSeries({ path: '/druid/v2/', body: JSON.stringify(query) })
  assert.equal(native({ queryType: 'timeseries', granularity: 'hour' }), true)
  assert.equal(native({ queryType: 'timeseries', granularity: 'all' }), false)
  assert.equal(native({ queryType: 'scan', granularity: 'hour' }), false)
  const hour = { type: 'extraction', dimension: '__time', extractionFn: { type: 'timeFormat', format: 'HH' } }
  const day = { ...hour, extractionFn: { type: 'timeFormat', format: 'yyyy-MM-dd' } }
  assert.equal(native({ queryType: 'topN', granularity: 'all', dimension: hour }), false)
  assert.equal(native({ queryType: 'groupBy', granularity: 'all', dimensions: ['page', day] }), true)
  const sql = (query: string) => isTimeSeries({ path: '/druid/v2/sql/', body: JSON.stringify({ query }) })
  assert.equal(sql("SELECT TIME_FLOOR(__time, 'PT1H'), COUNT(*) FROM wiki GROUP BY 1"), true)
  assert.equal(sql('SELECT country, COUNT(*) FROM wiki GROUP BY 1'), false)
})
