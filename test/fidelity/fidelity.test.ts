/**
 * The same answer: the answer through Windowpane equals Prometheus' own, byte for byte.
 *
 * WINDOWPANE_COMPARISONS sets the size, WINDOWPANE_SEED repeats a run, WINDOWPANE_WALK repeats one walk of it.
 */
import { test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { runSuite } from './run.ts'
import { chooseRun, chooseSize, fromEnvironment, startDatabase } from './setup.ts'
import { assertFaithful, assertShares } from './tally.ts'
import { startUnderTest } from './under-test.ts'

test('answers through Windowpane equal direct answers', async (t) => {
  const prometheus = await startDatabase(t)
  if (prometheus === null) return
  const proxy = await startUnderTest(prometheus.url)
  t.after(() => proxy.close())
  const run = chooseRun(t, prometheus.version, 'test/fidelity/fidelity.test.ts')
  const size = chooseSize(fromEnvironment('WINDOWPANE_COMPARISONS') ?? 20_000)

  const started = systemClock.elapsed()
  const tally = await runSuite(run, { direct: prometheus.url, proxied: proxy.url }, size)

  for (const line of tally.table().split('\n')) t.diagnostic(line)
  t.diagnostic(`${((systemClock.elapsed() - started) / tally.comparisons).toFixed(2)} s per 1000 comparisons`)
  assertFaithful(tally)
  if (size.only === undefined) assertShares([tally])
})
