/** M3: the same answer through Windowpane, the value of its last step included. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import type { Backend } from '../../../src/backends/backend.ts'
import { kinds } from '../../../src/backends/kinds.ts'
import { m3 } from '../../../src/backends/m3/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { requireServer } from '../../data/fixture.ts'
import { startM3 } from '../../servers/family/m3.ts'
import { remoteWrite } from '../../servers/remote-write.ts'
import { eligibleForms, seriesOver, spanBefore } from '../dataset.ts'
import { ask, assertSame, compareForms, rangeForm } from '../differential.ts'
import { assertCached, options, report, startUnderTest } from '../under-test.ts'

test('M3', async (t) => {
  const server = requireServer(t, await startM3())
  if (server === null) return
  t.after(() => server.stop())
  const span = spanBefore(systemClock.now())
  await remoteWrite(server.url, seriesOver(span), { path: '/api/v1/prom/remote/write' })
  const backend = m3(options) as Backend
  const proxy = await startUnderTest(t, server.url, backend)
  const subjects = { direct: server.url, proxied: proxy.url, backend }

  await t.test('is known by its namespace', async () => {
    const { statusCode, body } = await request(`${server.url}${kinds.m3.flavour.path}`)
    assert.deepEqual(kinds.m3.flavour.read(statusCode, await body.text()), { isKnown: true, label: 'M3' })
    assert.equal(proxy.flavour.isKnown, true)
  })

  await t.test('does not read a sample exactly at the end', async () => {
    const [start, step] = [span.from, 5000]
    const valueAt60 = async (end: number) => {
      const { body } = await ask(server.url, rangeForm('steady{host="a"}', { start, end, step }))
      return new RegExp(`\\[${(start + 60_000) / 1000},"(\\d+)"`).exec(body.toString())?.[1]
    }
    assert.notEqual(await valueAt60(start + 60_000), await valueAt60(start + 60_001))
    assert.equal(await valueAt60(start + 60_001), await valueAt60(start + 120_000))
  })

  await t.test('answers through Windowpane equal direct ones', async (t) => {
    const counts = await compareForms(subjects, eligibleForms, span)
    report(t, counts)
    // Windows that end at a step fetch that step each time.
    assertCached(counts, { hits: 6, partials: 24 })
  })

  await t.test('limited answers are not stored', async () => {
    const form = rangeForm('steady', { start: span.from, end: span.from + 60_001, step: 5000 })
    const headers = { 'm3-limit-max-returned-series': '1' }
    for (let i = 0; i < 3; i++) {
      const [direct, proxied] = [
        await ask(server.url, form, 0, headers),
        await ask(proxy.url, form, 0, headers),
      ]
      assertSame(backend, direct, proxied, form)
      assert.match(proxied.outcome!, /^miss/)
    }
  })
})
