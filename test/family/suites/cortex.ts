/** Cortex: the same answer through Windowpane; tenants are apart. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backend } from '../../../src/backends/backend.ts'
import { cortex } from '../../../src/backends/cortex/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { requireServer } from '../../data/fixture.ts'
import { startCortex } from '../../servers/family/cortex.ts'
import { remoteWrite } from '../../servers/remote-write.ts'
import { eventually } from '../../wait.ts'
import { eligibleForms, seriesOver, spanBefore } from '../dataset.ts'
import { ask, assertSame, compareForms, rangeForm } from '../differential.ts'
import { assertCached, options, report, startUnderTest } from '../under-test.ts'

const tenant = (name: string) => ({ 'x-scope-orgid': name })

test('Cortex', async (t) => {
  const server = requireServer(t, await startCortex())
  if (server === null) return
  t.after(() => server.stop())
  const span = spanBefore(systemClock.now())
  for (const [name, series] of Object.entries({ a: seriesOver(span), b: seriesOver(span).slice(0, 1) }))
    await remoteWrite(server.url, series, { path: '/api/v1/push', headers: tenant(name) })
  const direct = `${server.url}/prometheus`
  const backend = cortex(options) as Backend
  const proxy = await startUnderTest(t, direct, backend)
  const window = { start: span.from, end: span.from + 120_000, step: 5000 }

  await t.test('reports its version to tenants alone', async () => {
    assert.equal(proxy.flavour.isKnown, false)
    const flavourAfterRequest = async () => {
      await ask(proxy.url, rangeForm('steady', window), 0, tenant('a'))
      return proxy.flavour
    }
    const flavour = await eventually(flavourAfterRequest, ({ isKnown }) => isKnown)
    assert.deepEqual(flavour, { isKnown: true, label: 'Cortex 1.20.1' })
  })

  await t.test('answers through Windowpane equal direct ones', async (t) => {
    const subjects = { direct, proxied: proxy.url, backend, headers: tenant('a') }
    const counts = await compareForms(subjects, eligibleForms, span)
    report(t, counts)
    assertCached(counts, { hits: 20, partials: 10 })
  })

  await t.test('tenants are apart', async () => {
    const form = rangeForm('count(steady)', window)
    const seen = []
    for (const name of ['a', 'b', 'a', 'b']) {
      const [own, other] = [
        await ask(direct, form, 0, tenant(name)),
        await ask(proxy.url, form, 0, tenant(name)),
      ]
      assertSame(backend, own, other, `${name}: ${form}`)
      seen.push(`${other.outcome} ${/,"(\d)"\]/.exec(other.body.toString())?.[1]}`)
    }
    assert.deepEqual(seen, ['miss/absent 3', 'miss/absent 1', 'hit 3', 'hit 1'])
  })
})
