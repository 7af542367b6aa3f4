/**
 * With the broker's own caches on, Druid writes one answer in several ways: members of rows in another order, times in
 * another zone. Then answers through Windowpane equal direct ones as values and instants.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differenceFrom } from '../../../src/backends/druid/difference.ts'
import { requireServer } from '../../data/fixture.ts'
import { chooseSeed, fromEnvironment, replayCommand } from '../../fidelity/setup.ts'
import { assertFaithful, assertShares } from '../../fidelity/tally.ts'
import { ask } from '../../servers/druid/ask.ts'
import { startDruidFixture } from '../fixture.ts'
import type { Form } from './form.ts'
import { nativeForms, sqlForms } from './queries.ts'
import { runSuite } from './run.ts'
import { least } from './setup.ts'
import { startUnderTest } from './under-test.ts'

const on = { useCache: true, populateCache: true, useResultLevelCache: true, populateResultLevelCache: true }

const cached = (form: Form): Form => ({
  ...form,
  ask(spans, random) {
    const { path, body } = form.ask(spans, random)
    const query = JSON.parse(body) as { readonly context?: object }
    return { path, body: JSON.stringify({ ...query, context: { ...on, ...query.context } }) }
  },
})

const file = 'test/druid/differential/own-caches.test.ts'
const forms = [...nativeForms, ...sqlForms].filter(
  ({ eligible, inexact, variesWithCaches }) => eligible && inexact === undefined && variesWithCaches !== true,
)

test("with Druid's own caches on, answers are equal as values and instants", async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())

  await t.test('they are on', async () => {
    const topPages = {
      ...{ queryType: 'topN', dataSource: 'wiki', dimension: 'page', metric: 'n', threshold: 1 },
      aggregations: [{ type: 'count', name: 'n' }],
      granularity: { type: 'period', period: 'P1D', timeZone: 'America/New_York' },
      intervals: '2026-03-06T06/2026-03-06T12',
    }
    const texts = new Set<string>()
    for (const context of [{}, on, on]) {
      texts.add((await ask(`${druid.brokerUrl}/druid/v2`, { ...topPages, context })).text)
    }
    assert.equal(texts.size, 2, [...texts].join('\n'))
  })

  await t.test('answers', async (t) => {
    const proxy = await startUnderTest(druid.brokerUrl)
    t.after(() => proxy.close())
    const isSame = (direct: Buffer, proxied: Buffer) => differenceFrom(direct, proxied) === 'none'
    const run = { seed: chooseSeed(t), forms: forms.map(cached), replay: replayCommand(file), isSame }
    const servers = { direct: druid.brokerUrl, proxied: proxy.url }
    const comparisons = fromEnvironment('WINDOWPANE_COMPARISONS') ?? 800
    const tally = await runSuite(run, servers, { comparisons, walkers: 4 })
    for (const line of tally.table().split('\n')) t.diagnostic(line)
    assertFaithful(tally)
    assertShares([tally], { ...least, hit: 0.3, partial: 0.2 })
    assert.ok(tally.otherSpellings > 0, 'nothing was spelled in another way')
  })
})
