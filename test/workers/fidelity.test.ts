/**
 * Several workers on one cache give Prometheus' own answers, whichever of them serves. The sizes of a run are those of
 * test/fidelity.
 */
import { test } from 'node:test'
import { runSuite } from '../fidelity/run.ts'
import { chooseRun, chooseSize, fromEnvironment, startDatabase } from '../fidelity/setup.ts'
import { assertFaithful, assertShares } from '../fidelity/tally.ts'
import { startWorkers } from './running-workers.ts'

test('answers of two workers equal direct answers', async (t) => {
  const prometheus = await startDatabase(t)
  if (prometheus === null) return
  const { url } = await startWorkers(t, { upstream: prometheus, flags: ['--telemetry.log-level=silent'] })
  const run = chooseRun(t, prometheus.version, 'test/workers/fidelity.test.ts')
  const size = chooseSize(fromEnvironment('WINDOWPANE_COMPARISONS') ?? 3_000)
  const tally = await runSuite(run, { direct: prometheus.url, proxied: url }, size)
  for (const line of tally.table().split('\n')) t.diagnostic(line)
  assertFaithful(tally)
  if (size.only === undefined)
    assertShares([tally], { nonEmpty: 0.8, eligible: 0.85, hit: 0.4, partial: 0.22 })
})
