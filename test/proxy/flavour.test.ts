/** Only a server that identifies itself as Prometheus is cached; it is queried again. */
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import test, { type TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { startServer } from '../../src/proxy/assembly/server.ts'
import { startWindowpane } from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { freePort } from '../servers/ports.ts'
import { ask, outcomeOf, statusOf, until } from './client.ts'
import { rangePath } from './matrix.ts'
import {
  json,
  prometheusBuildInfo,
  type ScriptedUpstream,
  sent,
  startScriptedUpstream,
} from './scripted-upstream.ts'
import { NOW, oldRange, startStand } from './setup.ts'

const path = rangePath(oldRange())
const success = (data: object) => json(200, { status: 'success', data })

const strangers = {
  'VictoriaMetrics 2.24.0': success({ version: '2.24.0' }),
  'Mimir 2.14': success({ ...prometheusBuildInfo, application: 'Grafana Mimir', version: '2.14.0' }),
  'Thanos 0.37': success({ ...prometheusBuildInfo, version: '0.37.2' }),
  'Prometheus 1.8': success({ ...prometheusBuildInfo, version: '1.8.2' }),
  'Google Managed Prometheus': success({
    ...prometheusBuildInfo,
    version: '2.55.0',
    revision: 'gmp/v0.15.3',
  }),
  'a version with a suffix of its own': success({ ...prometheusBuildInfo, version: '3.5.0+ds1' }),
  'a server without build info': json(404, { status: 'error' }),
  'a server that wants credentials': json(401, {}),
  'a page that is not JSON': json(200, 'hello'),
  'a server error': json(500, {}),
}

for (const [name, buildInfo] of Object.entries(strangers)) {
  test(`${name} is passed on uncached, with the reason`, async (t) => {
    const upstream = await startScriptedUpstream(t)
    upstream.buildInfo = buildInfo
    const { url, windowpane } = await startStand(t, { upstream: upstream.url })
    assert.equal(windowpane.flavour.isKnown, false)
    for (let i = 0; i < 2; i++) {
      const answer = await ask(url, path)
      assert.equal(outcomeOf(answer), 'bypass/unknown_flavour')
      assert.equal(answer.status, 200)
      assert.ok(
        String(statusOf(answer).parameters.get('detail')).includes('('),
        'the detail names the finding',
      )
    }
  })
}

const { revision } = prometheusBuildInfo
for (const build of [
  { version: '2.53.5', revision },
  { version: '3.5.0', revision },
  { version: 'v3.12.1', revision },
  { version: '3.5.0+ds1', revision: '3.5.0+ds1-2' },
]) {
  test(`Prometheus ${build.version} is cached`, async (t) => {
    const upstream = await startScriptedUpstream(t)
    upstream.buildInfo = success({ ...prometheusBuildInfo, ...build })
    const { url, windowpane } = await startStand(t, { upstream: upstream.url })
    assert.equal(windowpane.flavour.isKnown, true)
    assert.equal(outcomeOf(await ask(url, path)), 'miss/absent')
  })
}

/** Build info for clients with the password. */
const guarded: RequestListener = (request, response) => {
  const isAllowed = request.headers.authorization === 'Basic good'
  const listener = isAllowed ? success(prometheusBuildInfo) : json(401, {})
  listener(request, response)
}
const good = { headers: { Authorization: 'Basic good' } }

test('a server that requires credentials is queried with the client’s', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.buildInfo = guarded
  const { url, clock, windowpane } = await startStand(t, { upstream: upstream.url })
  await clock.advance(1000)
  assert.equal(outcomeOf(await ask(url, path, good)), 'bypass/unknown_flavour')
  await until(() => windowpane.flavour.isKnown)
  assert.deepEqual(sent(upstream.buildInfoRequests.at(-1)!, 'authorization'), ['Basic good'])
  assert.equal(outcomeOf(await ask(url, path, good)), 'miss/absent')
  assert.equal(outcomeOf(await ask(url, path, good)), 'hit')
})

interface Rechecked {
  readonly url: string
  readonly clock: FakeClock
  readonly upstream: ScriptedUpstream
}

/** A minute later the next request starts another query of the flavour; resolves when that is over. */
async function recheck({ url, clock, upstream }: Rechecked): Promise<void> {
  await clock.advance(60_000)
  const asked = upstream.buildInfoRequests.length
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
  await until(() => upstream.buildInfoRequests.length > asked)
  await upstream.buildInfoRequests.at(-1)!.finished
  await ask(url, '/something')
}

for (const status of [204, 302, 307, 400, 401, 403, 404, 405, 410, 429, 500, 503]) {
  test(`a client that is answered ${status} does not change the known flavour for others`, async (t) => {
    const upstream = await startScriptedUpstream(t)
    const { url, clock, windowpane } = await startStand(t, { upstream: upstream.url })
    await ask(url, path)
    upstream.buildInfo = json(status, {})
    await recheck({ url, clock, upstream })
    assert.equal(windowpane.flavour.isKnown, true)
    assert.equal(outcomeOf(await ask(url, path)), 'hit')
  })
}

/** A proxy whose log lines the test can read. */
async function startLogged(t: TestContext, upstream: string) {
  const [clock, policy, lines] = [fakeClock(NOW), ladder(), [] as string[]]
  const terms = { mode: 'on', identity: 'separate', policy, maxStaleMs: 0 } as const
  const write = (line: string) => lines.push(line) > 0
  const server = await startServer({
    ...{ listen: '127.0.0.1:0', limits: defaultLimits, clock },
    telemetry: new Telemetry({
      ...{ clock, version: '1.2.3' },
      log: { level: () => 'info', format: () => 'json', write },
    }),
    databases: [
      {
        name: 'main',
        backend: prometheus({ settledAgeMs: policy.settledAgeMs, maxBuckets: 1000 }),
        upstream: { urls: [upstream] },
        settings: () => ({ terms, rules: [] }),
      },
    ],
  })
  t.after(async () => {
    const closed = server.close()
    await clock.advance(defaultLimits.drainMs)
    await closed
  })
  return { server, clock, lines }
}

const loginPage: RequestListener = (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' })
  response.end('<!doctype html><title>Sign in</title>')
}

for (const [name, listener] of Object.entries({
  'a login page': loginPage,
  'a redirect to one': ((_request, response) => {
    response.writeHead(302, { Location: '/login' }).end()
  }) satisfies RequestListener,
  'a refusal (401)': json(401, {}),
  'a refusal (403)': json(403, {}),
  'JSON of somebody else': json(200, { message: 'please log in' }),
})) {
  test(`${name} at a later version check keeps the database known, with one warning in the log`, async (t) => {
    const upstream = await startScriptedUpstream(t)
    const { server, clock, lines } = await startLogged(t, upstream.url)
    const { url } = server
    await ask(url, path)
    const usual = upstream.buildInfo
    upstream.buildInfo = listener
    for (let i = 0; i < 3; i++) await recheck({ url, clock, upstream })
    assert.equal(server.databases[0]!.flavour.isKnown, true)
    const about = () => lines.filter((line) => line.includes('version check of main'))
    await until(() => about().length === 1)
    assert.match(about()[0]!, /"level":"warn".*still taken for Prometheus 3\.5\.0/)
    upstream.buildInfo = usual
    await recheck({ url, clock, upstream })
    await until(() => about().length === 2)
    assert.match(about()[1]!, /"level":"info"/)
  })
}

test('a database that was replaced by another is noticed', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { url, clock, windowpane } = await startStand(t, { upstream: upstream.url })
  await ask(url, path)
  upstream.buildInfo = strangers['VictoriaMetrics 2.24.0']
  await clock.advance(60_000)
  await ask(url, path)
  await until(() => !windowpane.flavour.isKnown)
  assert.equal(outcomeOf(await ask(url, path)), 'bypass/unknown_flavour')
})

test('unreachable at the start, reachable later: cached without a restart', async (t) => {
  const port = await freePort()
  const { url, clock, windowpane } = await startStand(t, { upstream: `http://127.0.0.1:${port}` })
  assert.equal(windowpane.flavour.isKnown, false)
  const unreachable = await ask(url, path)
  assert.equal(unreachable.status, 502)
  assert.equal(outcomeOf(unreachable), 'error/database_unreachable')
  await startScriptedUpstream(t, port)
  await clock.advance(1000)
  await ask(url, path)
  await until(() => windowpane.flavour.isKnown)
  assert.equal(outcomeOf(await ask(url, path)), 'miss/absent')
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
})

test('a database that accepts and does not answer does not delay the start', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.buildInfo = () => {}
  const clock = fakeClock(NOW)
  const starting = startWindowpane({
    upstream: upstream.url,
    listen: '127.0.0.1:0',
    backend: prometheus({ settledAgeMs: 0, maxBuckets: 100 }),
    clock,
  })
  await until(() => upstream.buildInfoRequests.length === 1)
  await clock.advance(10_000)
  const windowpane = await starting
  t.after(() => windowpane.close())
  assert.equal(windowpane.flavour.isKnown, false)
  assert.equal(outcomeOf(await ask(windowpane.url, path)), 'bypass/unknown_flavour')
})

test('credentials in the upstream URL are sent where the client has none', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const withCredentials = upstream.url.replace('//', '//us%40r:p%3Aw@')
  const { url } = await startStand(t, { upstream: withCredentials })
  const basic = `Basic ${Buffer.from('us@r:p:w').toString('base64')}`
  await ask(url, path)
  await ask(url, '/x')
  await ask(url, '/x', good)
  assert.deepEqual(sent(upstream.buildInfoRequests[0]!, 'authorization'), [basic])
  assert.deepEqual(
    upstream.seen.map((seen) => sent(seen, 'authorization')),
    [[basic], [basic], ['Basic good']],
  )
})
