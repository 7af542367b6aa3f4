/** Mimir: the same answer through Windowpane, in the order of its query-frontend; tenants are apart. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import type { Backend } from '../../../src/backends/backend.ts'
import { mimir } from '../../../src/backends/mimir/index.ts'
import { detectKinds } from '../../../src/config/detect.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { startWindowpane } from '../../../src/proxy/assembly/windowpane.ts'
import { fixed } from '../../../src/ttl/fixed.ts'
import { requireServer } from '../../data/fixture.ts'
import { longestRangeHours, startMimir } from '../../servers/family/mimir.ts'
import { remoteWrite } from '../../servers/remote-write.ts'
import { eligibleForms, seriesOver, spanBefore } from '../dataset.ts'
import { ask, assertSame, compareForms, rangeForm } from '../differential.ts'
import { assertCached, options, report, startUnderTest } from '../under-test.ts'

const tenant = (name: string) => ({ 'x-scope-orgid': name })
const a = tenant('a')

test('Mimir', async (t) => {
  const server = requireServer(t, await startMimir())
  if (server === null) return
  t.after(() => server.stop())
  const span = spanBefore(systemClock.now())
  const ofBoth = seriesOver(span)
  const ofB = { labels: { __name__: 'steady', host: 'of b alone' }, samples: ofBoth[0]!.samples }
  for (const [name, series] of Object.entries({ a: ofBoth, b: [...ofBoth, ofB] }))
    await remoteWrite(server.url, series, { path: '/api/v1/push', headers: tenant(name) })
  const direct = `${server.url}/prometheus`
  const backend = mimir(options) as Backend
  const proxy = await startUnderTest(t, direct, backend)
  const subjects = { direct, proxied: proxy.url, backend, headers: a }
  const window = { start: span.from, end: span.from + 120_000, step: 5000 }

  /** The answer of both, and the outcome at Windowpane. */
  const both = async (form: string, headers: Readonly<Record<string, string>> = a) => {
    const [own, other] = [await ask(direct, form, 0, headers), await ask(proxy.url, form, 0, headers)]
    assertSame(backend, own, other, form)
    return { status: own.status, body: own.body.toString(), outcome: other.outcome }
  }

  await t.test('names itself below its prefix, and is found by that', async () => {
    assert.deepEqual(proxy.flavour, { isKnown: true, label: 'Mimir 3.0.5', version: [3, 0] })
    const bytes = Buffer.from(`backends: { main: { url: "${direct}" } }`)
    const loaded = loadConfig({ file: { name: 'w.yaml', bytes } })
    assert.ok('config' in loaded)
    const detected = await detectKinds(loaded.config, systemClock)
    assert.deepEqual(detected.get('main'), { kind: 'mimir', isGuessed: false })
  })

  await t.test('sorts a value behind those that begin with it, and ends with a line feed', async () => {
    const { body } = await both(rangeForm('odd', window))
    assert.ok(body.indexOf('"api":"api-readonly"') < body.indexOf('"api":"api",'), body.slice(0, 1000))
    assert.ok(body.endsWith(']}}\n'), body.slice(-20))
  })

  await t.test('answers through Windowpane equal direct ones', async (t) => {
    const counts = await compareForms(subjects, eligibleForms, span)
    report(t, counts)
    assertCached(counts, { hits: 20, partials: 10 })
  })

  await t.test('ranges over midnight, which it splits, equal direct ones', async (t) => {
    const midnight = Math.floor((span.from - 600_000) / 86_400_000) * 86_400_000
    const night = { from: midnight - 120_000, to: midnight + 420_000 }
    const headers = tenant('night')
    await remoteWrite(server.url, seriesOver(night), { path: '/api/v1/push', headers })
    const stats = { ...headers, 'x-mimir-response-query-stats': 'true' }
    const form = rangeForm('odd', { start: midnight - 60_000, end: midnight + 60_000, step: 5000 })
    const { headers: told, body } = await request(`${direct}/api/v1/query_range?${form}`, { headers: stats })
    await body.dump()
    assert.match(String(told['server-timing']), /split_queries;val=2/)
    const counts = await compareForms({ ...subjects, headers }, eligibleForms, night)
    report(t, counts)
    assertCached(counts, { hits: 20, partials: 10 })
  })

  await t.test('answers that are kept as a whole equal direct ones', async () => {
    const paths = [
      'labels',
      'label/host/values',
      'series?match[]=odd',
      'query?query=odd',
      'metadata',
      'rules',
    ]
    const within = `start=${span.from / 1000}&end=${span.to / 1000}&time=${span.to / 1000}`
    for (const path of paths) {
      const search = `/api/v1/${path}${path.includes('?') ? '&' : '?'}${within}`
      for (let i = 0; i < 2; i++) {
        const [own, other] = await Promise.all(
          [direct, proxy.url].map((url) => request(`${url}${search}`, { headers: a })),
        )
        assert.deepEqual([other!.statusCode, await other!.body.text()], [200, await own!.body.text()], search)
      }
    }
  })

  await t.test('tenants are apart, also where clients share the cache', async (t) => {
    const policy = fixed(3_600_000)
    const shared = await startWindowpane({
      ...{ upstream: direct, backend, policy, listen: '127.0.0.1:0', identity: 'shared' },
    })
    t.after(() => shared.close())
    const form = rangeForm('count(steady)', window)
    for (const url of [proxy.url, shared.url]) {
      const seen = []
      for (const name of ['a', 'b', 'a', 'b']) {
        const [own, other] = [await ask(direct, form, 0, tenant(name)), await ask(url, form, 0, tenant(name))]
        assertSame(backend, own, other, `${name}: ${form}`)
        seen.push([other.outcome, /,"(\d)"\]/.exec(other.body.toString())?.[1]])
      }
      const [miss, hit] = ['miss/absent', 'hit']
      const expected = [
        [miss, '3'],
        [miss, '4'],
        [hit, '3'],
        [hit, '4'],
      ]
      assert.deepEqual(seen, expected)
    }
    const { status, outcome } = await both(form, {})
    assert.deepEqual([status, outcome?.split('/')[0]], [401, 'error'])
  })

  await t.test('timings of the server belong to its own answers', async () => {
    const form = rangeForm('sum(steady)', window)
    const timings = async (headers: Record<string, string>): Promise<string> => {
      const response = await request(`${proxy.url}/api/v1/query_range?${form}`, {
        headers: { ...a, ...headers },
      })
      await response.body.dump()
      return String(response.headers['server-timing'])
    }
    await both(form)
    assert.doesNotMatch(await timings({}), /querier_wall_time/)
    assert.match(await timings({ 'cache-control': 'no-store' }), /querier_wall_time.*total/)
  })

  await t.test('requests that it would not cache are passed on', async () => {
    const negative = rangeForm('steady offset -30s', window)
    const plain = rangeForm('steady', window)
    for (let i = 0; i < 2; i++) {
      assert.equal((await both(negative)).outcome, 'bypass/unsafe_offset')
      assert.equal((await both(plain, { ...a, 'cache-control': 'no-store' })).outcome, 'bypass/no_store')
    }
  })

  await t.test('clients that do not take JSON get what it gives them', async () => {
    const form = rangeForm('max(steady)', window)
    await both(form)
    assert.equal((await both(form, { ...a, accept: 'application/json, */*' })).outcome, 'hit')
    assert.equal((await both(form, { ...a, accept: 'text/html' })).status, 406)
    const own = { ...a, accept: 'application/vnd.mimir.queryresponse+protobuf' }
    assert.ok(!(await both(form, own)).body.startsWith('{'))
  })

  await t.test('ranges that are too long, and steps that are too many, fail as they do there', async () => {
    const hours = (count: number) => ({ ...window, end: window.start + count * 3_600_000, step: 60_000 })
    const { status, body } = await both(rangeForm('min(steady)', hours(longestRangeHours + 2)))
    assert.deepEqual([status, /total query time range exceeds the limit/.test(body)], [400, true], body)
    assert.equal((await both(rangeForm('steady', { ...hours(24), step: 1000 }))).status, 400)
    assert.equal((await both(rangeForm('steady{', window))).status, 400)
  })
})
