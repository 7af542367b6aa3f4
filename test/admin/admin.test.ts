import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, askPlainly, header } from '../proxy/client.ts'
import { sumMetric } from '../servers/metrics-text.ts'
import { form, NOW, startProxyRig } from './proxy-rig.ts'

const text = (answer: { readonly body: Buffer }): string => answer.body.toString()
const json = (answer: { readonly body: Buffer }) => JSON.parse(text(answer))

test('pages answer, and the index lists them', async (t) => {
  const { admin } = await startProxyRig(t)
  const index = await askPlainly(admin, '/')
  assert.equal(index.status, 200)
  const listed = [...text(index).matchAll(/^(GET|POST) +(\/-\/\w+)/gm)].map(
    ([, method, path]) => `${method} ${path}`,
  )
  assert.deepEqual(listed, [
    'GET /-/healthy',
    'GET /-/ready',
    'GET /-/status',
    'GET /-/metrics',
    'GET /-/config',
    'GET /-/shapes',
    'GET /-/requests',
    'POST /-/explain',
    'POST /-/reload',
  ])
  for (const line of listed.filter((each) => each.startsWith('GET'))) {
    const answer = await askPlainly(admin, line.slice(4))
    assert.equal(answer.status, 200, line)
    assert.equal(header(answer, 'cache-control'), 'no-store')
    assert.equal(header(answer, 'x-content-type-options'), 'nosniff')
    const head = await askPlainly(admin, line.slice(4), { method: 'HEAD' })
    assert.deepEqual([head.status, head.body.length], [200, 0], line)
  }
})

test('health, readiness and status are three things', async (t) => {
  const missing: string[] = ['main: not asked yet']
  const { admin } = await startProxyRig(t, { unready: () => missing })
  assert.equal((await askPlainly(admin, '/-/healthy')).status, 200)
  const unready = await askPlainly(admin, '/-/ready')
  assert.deepEqual([unready.status, text(unready)], [503, 'not ready: main: not asked yet\n'])
  missing.pop()
  assert.equal((await askPlainly(admin, '/-/ready')).status, 200)
  const { version, backends, now } = json(await askPlainly(admin, '/-/status'))
  assert.deepEqual([version, backends, now], ['1.2.3', [{ name: 'main' }], new Date(NOW).toISOString()])
})

test('nothing, wrong methods, long bodies, odd parameters', async (t) => {
  const { admin } = await startProxyRig(t, { allowsWrites: () => true })
  assert.equal((await askPlainly(admin, '/-/nothing')).status, 404)
  assert.equal((await askPlainly(admin, '/api/v1/query?query=up')).status, 404)
  const wrong = await askPlainly(admin, '/-/reload')
  assert.deepEqual([wrong.status, header(wrong, 'allow')], [405, 'POST'])
  assert.equal((await askPlainly(admin, '/-/metrics', { method: 'DELETE' })).status, 405)
  const long = await askPlainly(admin, '/-/explain', { method: 'POST', body: Buffer.alloc(2 ** 20 + 1) })
  assert.equal(long.status, 413)
  for (const path of [
    '/-/requests?outcome=hot',
    '/-/requests?minMs=-1',
    '/-/requests?reason=why',
    '/-/shapes?limit=x',
    '/-/config?mode=x',
  ]) {
    assert.equal((await askPlainly(admin, path)).status, 400, path)
  }
})

test('the admin pages cannot be reached through the data listener', async (t) => {
  const { url, upstream } = await startProxyRig(t)
  await ask(url, '/-/status')
  assert.equal(upstream.seen.at(-1)!.target, '/-/status')
})

test('requests that were answered show in the list, the shapes and the metrics', async (t) => {
  const { admin, url, clock } = await startProxyRig(t)
  for (let i = 0; i < 3; i++) await ask(url, `/api/v1/query_range?${form(30)}`)
  await clock.advance(20_000)
  await ask(url, `/api/v1/query_range?${form(30, NOW)}`)
  await ask(url, '/api/v1/labels')
  await ask(url, `/api/v1/query_range?${form(30, NOW, 'abs(sort(up))')}`)
  const list = json(await askPlainly(admin, '/-/requests'))
  assert.deepEqual(
    list.map(({ outcome, reason }: Record<string, string>) => `${outcome} ${reason ?? ''}`.trim()),
    ['bypass sorting', 'bypass not_a_range_query', 'partial expired', 'hit', 'hit', 'miss absent'],
  )
  const [, , partial] = list
  assert.deepEqual(
    partial.runs.map(({ source, buckets }: Record<string, unknown>) => [source, buckets]),
    [
      ['cache', 30 - partial.asked],
      ['origin', partial.asked],
    ],
  )
  assert.equal(json(await askPlainly(admin, '/-/requests?outcome=hit,miss&limit=2')).length, 2)
  assert.equal(json(await askPlainly(admin, '/-/requests?shape=SORT')).length, 1)
  const shapes = json(await askPlainly(admin, '/-/shapes'))
  assert.deepEqual(shapes[0].outcomes, { hit: 2, partial: 1, miss: 1 })
  assert.equal(shapes.find(({ notCached }: Record<string, unknown>) => notCached === 'sorting').count, 1)
  const metrics = text(await askPlainly(admin, '/-/metrics'))
  const count = (name: string, labels: Record<string, string>) =>
    sumMetric(metrics, `windowpane_${name}`, labels)
  assert.equal(count('requests_total', { outcome: 'hit', backend: 'main' }), 2)
  assert.equal(count('origin_requests_total', { status: '2xx' }), 4)
  assert.equal(count('buckets_total', { source: 'origin' }), 30 + partial.asked)
  assert.equal(count('origin_interval_seconds_total', { kind: 'asked' }), 4 * 30 * 60)
  assert.equal(count('origin_interval_seconds_total', { kind: 'fetched' }), (30 + partial.asked) * 60)
})

test('bytes are the bytes sent to the client', async (t) => {
  const { admin, url } = await startProxyRig(t)
  const answers = [
    await ask(url, `/api/v1/query_range?${form(30)}`),
    await ask(url, `/api/v1/query_range?${form(30)}`),
    await ask(url, `/api/v1/query_range?${form(30)}`, { headers: { 'accept-encoding': 'gzip' } }),
    await ask(url, '/api/v1/labels'),
  ]
  const list = json(await askPlainly(admin, '/-/requests'))
  assert.deepEqual(
    list.map(({ bytes, status }: Record<string, number>) => [bytes, status]).reverse(),
    answers.map(({ body, status }) => [body.length, status]),
  )
})

test('an outage is recorded, and logged once', async (t) => {
  const { admin, url, upstream, lines } = await startProxyRig(t)
  upstream.script = (_request, response) => response.destroy()
  for (let i = 0; i < 3; i++) await ask(url, `/api/v1/query_range?${form(30)}`)
  await ask(url, '/api/v1/labels')
  const reasons = json(await askPlainly(admin, '/-/requests')).map(
    ({ reason }: Record<string, string>) => reason,
  )
  assert.deepEqual(reasons, new Array(4).fill('database_unreachable'))
  assert.equal(lines.filter((line) => line.includes('cannot be reached')).length, 1)
  const metrics = text(await askPlainly(admin, '/-/metrics'))
  assert.equal(sumMetric(metrics, 'windowpane_origin_requests_total', { status: 'unreachable' }), 4)
})

test('reload only where writes are allowed', async (t) => {
  let isAllowed = false
  const report = { isOk: true, message: 'reloaded' }
  const { admin } = await startProxyRig(t, { allowsWrites: () => isAllowed, reload: async () => report })
  const reload = () => askPlainly(admin, '/-/reload', { method: 'POST' })
  assert.equal((await reload()).status, 403)
  isAllowed = true
  assert.deepEqual([(await reload()).status, text(await reload())], [200, 'reloaded\n'])
  report.isOk = false
  report.message = 'windowpane.yaml:3:1: unknown key'
  assert.deepEqual(
    [(await reload()).status, text(await reload())],
    [422, 'windowpane.yaml:3:1: unknown key\n'],
  )
})

test('a page that fails returns an error, and the listener continues', async (t) => {
  const { admin, lines } = await startProxyRig(t, {
    status: () => {
      throw new Error('secret inside')
    },
  })
  const answer = await askPlainly(admin, '/-/status')
  assert.deepEqual([answer.status, text(answer).includes('secret')], [500, false])
  assert.ok(lines.some((line) => line.includes('the admin listener failed')))
  assert.equal((await askPlainly(admin, '/-/healthy')).status, 200)
})
