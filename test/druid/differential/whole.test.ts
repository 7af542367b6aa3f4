/** All forms that cannot be cut into buckets, with whole answers cached: byte for byte Druid's own, repeated or not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usualWholeSettings } from '../../../src/engine/objects/whole-terms.ts'
import { requireServer } from '../../data/fixture.ts'
import { chooseSeed, fromEnvironment, replayCommand } from '../../fidelity/setup.ts'
import { assertFaithful } from '../../fidelity/tally.ts'
import { startDruidFixture } from '../fixture.ts'
import type { Form } from './form.ts'
import { nativeForms, sqlForms } from './queries.ts'
import { runSuite } from './run.ts'
import { startUnderTest } from './under-test.ts'

const file = 'test/druid/differential/whole.test.ts'

/** Whether it is kept as a whole is left to the proxy. */
const forms = [...nativeForms, ...sqlForms]
  .filter(({ bypass }) => bypass !== undefined)
  .map(({ bypass: _, ...form }): Form => form)

/** The data does not change: cached answers stay fresh for longer than the run takes on a slow machine. */
const aDay = { enabled: true, revalidateSeconds: 86_400 }
const objects = {
  ...usualWholeSettings,
  endpoints: { totals: aDay, topN: aDay, distinct: aDay, timeBoundary: aDay, segmentMetadata: aDay },
}

test('answers that cannot be cut equal direct ones, and many of them are cached', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const proxy = await startUnderTest(druid.brokerUrl, { objects })
  t.after(() => proxy.close())
  const run = { seed: chooseSeed(t), forms, replay: replayCommand(file) }
  const only = fromEnvironment('WINDOWPANE_WALK')
  const comparisons = fromEnvironment('WINDOWPANE_COMPARISONS') ?? 600
  const size = { comparisons, walkers: 4, ...(only !== undefined && { only }) }
  const tally = await runSuite(run, { direct: druid.brokerUrl, proxied: proxy.url }, size)
  for (const line of tally.table().split('\n')) t.diagnostic(line)
  assertFaithful(tally)
  if (only !== undefined) return
  const shareOf = (outcome: string) => (tally.outcomes.get(outcome) ?? 0) / tally.comparisons
  // Each form has its turn before any comes again: the shares hardly vary.
  assert.ok(shareOf('hit') + shareOf('miss') > 0.5, 'few are kept')
  assert.ok(shareOf('hit') > 0.05, 'few are repeated')
})
