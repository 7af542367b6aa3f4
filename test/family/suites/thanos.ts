/**
 * Thanos: the same answer through Windowpane, its analysis aside; an answer without a missing store is never stored.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import type { Backend } from '../../../src/backends/backend.ts'
import { kinds } from '../../../src/backends/kinds.ts'
import { thanos } from '../../../src/backends/thanos/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { requireServer } from '../../data/fixture.ts'
import { startThanos } from '../../servers/family/thanos.ts'
import { remoteWrite } from '../../servers/remote-write.ts'
import { eventually } from '../../wait.ts'
import { eligibleForms, seriesOver, spanBefore } from '../dataset.ts'
import { ask, assertSame, compareForms, rangeForm } from '../differential.ts'
import { assertCached, options, report, startUnderTest } from '../under-test.ts'

test('Thanos', async (t) => {
  const servers = requireServer(t, await startThanos())
  if (servers === null) return
  t.after(() => servers.stop())
  const span = spanBefore(systemClock.now())
  await remoteWrite(servers.prometheus.url, seriesOver(span))
  const querier = await servers.query()
  const backend = thanos(options) as Backend
  const proxy = await startUnderTest(t, querier.url, backend)
  const subjects = { direct: querier.url, proxied: proxy.url, backend }
  const window = { start: span.from, end: span.from + 120_000, step: 5000 }
  const hasData = ({ body }: { body: Buffer }) => body.includes('"values"')
  await eventually(() => ask(querier.url, rangeForm('steady', window)), hasData)

  await t.test('is known by its flags', async () => {
    const flavourOf = async (url: string) => {
      const { statusCode, body } = await request(`${url}${kinds.thanos.flavour.path}`)
      return kinds.thanos.flavour.read(statusCode, await body.text())
    }
    assert.deepEqual(await flavourOf(querier.url), { isKnown: true, label: 'Thanos (not deduplicating)' })
    assert.equal((await flavourOf(servers.prometheus.url)).isKnown, false)
    const deduplicating = await servers.query('--query.replica-label=replica')
    assert.deepEqual((await flavourOf(deduplicating.url)).traits, ['picks replicas'])
    const { statusCode, body } = await request(`${querier.url}${kinds.prometheus.flavour.path}`)
    assert.equal(kinds.prometheus.flavour.read(statusCode, await body.text()).isKnown, false)
  })

  await t.test('answers through Windowpane equal direct ones', async (t) => {
    const counts = await compareForms(subjects, eligibleForms, span)
    report(t, counts)
    assertCached(counts, { hits: 20, partials: 10 })
  })

  await t.test('tenants are apart', async () => {
    const form = rangeForm('sum(shifted)', window)
    const outcomes = []
    for (const tenant of ['a', 'b', 'a'])
      outcomes.push((await ask(proxy.url, form, 0, { 'thanos-tenant': tenant })).outcome)
    assert.deepEqual(outcomes, ['miss/absent', 'miss/absent', 'hit'])
  })

  await t.test('what a missing store leaves out is passed on and never stored', async () => {
    const form = rangeForm('max(steady)', window)
    const whole = await ask(querier.url, form)
    await servers.sidecar.kill()
    // The first request after it may still report the connection that broke: its warning has another text.
    await eventually(
      () => ask(querier.url, form),
      ({ body }) => body.includes('connection refused'),
    )
    for (let i = 0; i < 3; i++) {
      const [direct, proxied] = [await ask(querier.url, form), await ask(proxy.url, form)]
      assert.equal(direct.status, 200)
      assert.match(direct.body.toString(), /"result":\[\].*"warnings":\[/)
      assertSame(backend, direct, proxied, form)
      assert.equal(proxied.outcome, 'bypass/incomplete_data')
    }
    await servers.sidecar.restart()
    await eventually(() => ask(querier.url, form), hasData)
    const after = await ask(proxy.url, form)
    assertSame(backend, whole, after, form)
    assert.equal(after.outcome, 'miss/absent')
    assert.equal((await ask(proxy.url, form)).outcome, 'hit')
  })
})
