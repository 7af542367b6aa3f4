/**
 * Shadow mode in front of Prometheus: the clients' answers, the findings, and the cache's content when it is switched
 * on.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { formsFor } from '../fidelity/queries.ts'
import { runSuite } from '../fidelity/run.ts'
import { chooseSeed, chooseSize, replayCommand, span, startDatabase } from '../fidelity/setup.ts'
import { postMode, reportOf, startShadowedProxy } from './proxy-rig.ts'

test('a thousand answers and more: all are the database’s own, all agree with the cache, and it is safe', async (t) => {
  const prometheus = await startDatabase(t)
  if (prometheus === null) return
  const { url, admin } = await startShadowedProxy(t, { upstream: prometheus.url, clock: systemClock })
  const run = {
    seed: chooseSeed(t),
    span,
    forms: formsFor(prometheus.version),
    replay: replayCommand('test/shadow/prometheus.test.ts'),
  }
  const size = chooseSize(3000)
  const servers = { direct: prometheus.url, proxied: url }

  const asked = () => prometheus.metrics('prometheus_http_requests_total', { handler: '/api/v1/query_range' })
  const before = await asked()
  const shadowed = await runSuite(run, servers, size)
  const queries = (await asked()) - before

  assert.equal(shadowed.mismatches, 0, shadowed.reports.join('\n'))
  assert.deepEqual([...shadowed.outcomes.keys()], ['bypass'])
  const report = await reportOf(admin)
  t.diagnostic(JSON.stringify({ ...report, mismatches: report.mismatches.length }))
  assert.deepEqual(report.mismatches, [])
  assert.deepEqual([report.unexplained, report.explained, report.equal], [0, 0, report.comparisons])
  if (size.only !== undefined) return
  assert.equal(report.verdict, 'safe', report.sentence)
  assert.ok(report.comparisons > 2000 && report.wouldBe.hit > 500 && report.wouldBe.partial > 300)
  // The comparison’s own direct answers, of which some are remembered, and one per request through the proxy.
  assert.ok(queries <= 2 * shadowed.comparisons, `${queries} queries for ${shadowed.comparisons} requests`)

  assert.deepEqual((await postMode(admin, { backend: 'main', mode: 'on' }))[0], 200)
  const served = await runSuite(run, servers, size)
  assert.equal(served.mismatches, 0, served.reports.join('\n'))
  const [hit, partial, miss] = ['hit', 'partial', 'miss'].map((name) => served.outcomes.get(name) ?? 0)
  t.diagnostic(`switched on: ${hit} hits, ${partial} partial, ${miss} misses`)
  assert.ok(hit! > 0.97 * (hit! + partial! + miss!), served.table())
})
