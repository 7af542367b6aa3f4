/** doctor against a real proxy in front of a scripted database. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { requireServer, startFixture } from '../data/fixture.ts'
import { ask } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { json, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { runToEnd, startProxy } from './child.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 600_000 })

interface Report {
  readonly ok: boolean
  readonly findings: readonly { check: string; status: string; sentence: string; remedy?: string }[]
}

test('doctor: a healthy proxy and its database', async (t) => {
  const { upstream, url, admin } = await startProxy(t)
  await ask(url, path)
  const { code, out, err } = await runToEnd(t, ['doctor', upstream.url, '--admin', admin])
  assert.deepEqual([code, err], [0, ''], out)
  assert.match(out, /^ok {4}configuration +The configuration can be used\.$/m)
  assert.match(out, /^ok {4}database main +http:\S+ is Prometheus 3\.5\.0\.$/m)
  assert.match(out, /^ok {4}clock main /m)
  assert.match(out, /^ok {4}proxy +Windowpane \S+ at \S+ \(pid \d+, configuration flags, main → \S+\), up /m)
  assert.match(out, /^ok {4}readiness /m)
  assert.match(out, /\n\d+ ok, 0 warn, 0 fail, \d+ skip\n$/)
  assert.ok(!out.includes('\u001b'))
})

test('doctor: every problem has its remedy', async (t) => {
  const { upstream, url, admin } = await startProxy(t)
  // The same question on many grids, by many people, and many that are never cached.
  for (let i = 0; i < 5; i++) {
    await ask(url, rangePath({ start: start + i * 1000, end: start + 600_000 + i * 1000 }))
    await ask(url, path, { headers: { Authorization: `Bearer ${i}` } })
  }
  for (let i = 0; i < 45; i++)
    await ask(url, rangePath({ query: 'abs(sort(up))', start, end: start + 600_000 }))
  upstream.buildInfo = (request, response) => {
    response.setHeader('Date', new Date(start).toUTCString())
    json(200, { status: 'success', data: { version: '0.0.0' } })(request, response)
  }
  upstream.script = json(200, {
    status: 'success',
    data: { 'query.timeout': '1h', reloadConfigSuccess: false },
  })
  const { code, out } = await runToEnd(t, [
    'doctor',
    upstream.url,
    '--json',
    '--limits.memory=900GiB',
    '--admin',
    admin,
  ])
  const { ok, findings } = JSON.parse(out) as Report
  assert.deepEqual([code, ok], [0, true])
  const remedyOf = (check: string): string | undefined =>
    findings.find((finding) => finding.check === check && finding.status === 'warn')?.remedy
  assert.match(remedyOf('database main')!, /Only Prometheus/)
  assert.match(remedyOf('clock main')!, /NTP/)
  assert.match(remedyOf('settings main')!, /limits\.upstreamTimeout above 1h/)
  assert.match(remedyOf('state main')!, /its log/)
  assert.match(remedyOf('memory')!, /limits\.memory/)
  assert.match(remedyOf('bypass')!, /sort functions/)
  assert.match(remedyOf('hit share')!, /--by asked/)
  assert.match(remedyOf('alignment')!, /min interval/)
  assert.match(remedyOf('identity')!, /backends\.main\.identity/)
})

test('doctor: failures end with 1, and impossible checks are skipped', async (t) => {
  const upstream = await startScriptedUpstream(t)
  await upstream.close()
  const nowhere = ['--admin.listen', `127.0.0.1:${upstream.port}`]
  const unreached = await runToEnd(t, ['doctor', upstream.url, ...nowhere])
  assert.equal(unreached.code, 1)
  assert.match(unreached.out, /^fail {2}database main +http:\S+ does not answer: .*ECONNREFUSED/m)
  assert.match(unreached.out, /→ Check backends\.main\.url/)
  assert.match(unreached.out, /^skip {2}proxy +No proxy answers/m)
  const bad = await runToEnd(t, ['doctor', 'http://a:99999', '--json', ...nowhere])
  assert.equal(bad.code, 1)
  assert.equal((JSON.parse(bad.out) as Report).findings[0]!.status, 'fail')
  const nothing = await runToEnd(t, ['doctor'], { env: { WINDOWPANE_ADMIN: upstream.url } })
  assert.equal(nothing.code, 0)
  assert.match(nothing.out, /^skip {2}configuration +No configuration was named/)
  const named = await runToEnd(t, ['doctor', '--admin', upstream.url])
  assert.equal(named.code, 1)
})

test('doctor: a server that is no database fails, without further checks', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.buildInfo = (_request, response) => void response.end('<html>Welcome to nginx!</html>')
  upstream.script = upstream.buildInfo
  const { code, out } = await runToEnd(t, ['doctor', upstream.url, '--json', '--admin.enabled=false'])
  assert.equal(code, 1)
  const { findings } = JSON.parse(out) as Report
  const about = findings.filter(({ check }) => check.endsWith(' main'))
  assert.deepEqual(
    about.map(({ check, status }) => [check, status]),
    [['database main', 'fail']],
  )
  assert.match(about[0]!.sentence, /^At \S+ something answers that is not a database: /)
  assert.match(about[0]!.remedy!, /^backends\.main\.url: Give the URL of the database/)
})

test('doctor: keys of another kind than the detected one are reported', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const flags = ['--backends.main.settled-age=2h', '--backends.main.edges=whole', '--admin.enabled=false']
  const { code, out } = await runToEnd(t, ['doctor', upstream.url, '--json', ...flags])
  const { findings } = JSON.parse(out) as Report
  const about = findings.filter(({ check }) => check === 'keys main')
  assert.deepEqual(
    about.map(({ status, sentence, remedy }) => [status, sentence.split(' ', 1)[0], remedy]),
    [
      ['warn', 'settledAge', 'Take backends.main.settledAge out.'],
      ['warn', 'edges', 'Take backends.main.edges out.'],
    ],
  )
  assert.match(about[0]!.sentence, / has an effect only with Mimir, .* and M3, and this is Prometheus\.$/)
  assert.equal(code, 0)
})

test('doctor: an outage after the start is one, although the proxy stays ready', async (t) => {
  const { upstream, url, admin } = await startProxy(t)
  await upstream.close()
  assert.equal((await ask(url, path)).status, 502)
  const { code, out } = await runToEnd(t, ['doctor', upstream.url, '--admin', admin])
  assert.equal(code, 1)
  assert.match(out, /^fail {2}database main +\S+ does not answer: /m)
  assert.match(out, /^ok {4}readiness +It is ready: every database has answered since it started\.$/m)
  assert.match(out, /^warn {2}upstream main +The proxy cannot reach \S+ now: .*ECONNREFUSED/m)
})

test('doctor: a file that is missing is the finding, not the database', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const missing = '/nowhere/windowpane-token'
  const flags = [`--backends.main.auth.token-file=${missing}`, '--admin.enabled=false']
  const { code, out } = await runToEnd(t, ['doctor', upstream.url, ...flags])
  assert.equal(code, 1)
  assert.match(out, /^fail {2}configuration +It names files that cannot be used:$/m)
  assert.match(out, /^ +--backends\.main\.auth\.token-file: there is no file \/nowhere\/windowpane-token$/m)
  assert.match(
    out,
    /^fail {2}database main +\S+ was not queried: there is no file \/nowhere\/windowpane-token\.$/m,
  )
})

test('doctor: a real Prometheus exposes its settings', async (t) => {
  const fixture = requireServer(t, await startFixture())
  if (fixture === null) return
  t.after(() => fixture.stop())
  const { code, out } = await runToEnd(t, ['doctor', fixture.url, '--admin.enabled=false'])
  assert.equal(code, 0, out)
  assert.match(out, /^ok {4}database main +http:\S+ is Prometheus \d/m)
  assert.match(out, /^ok {4}clock main /m)
  assert.match(
    out,
    /^ok {4}settings main +query\.lookback-delta 5m, query\.timeout 2m, query\.max-samples \d+/m,
  )
  assert.match(out, /^ok {4}state main +It keeps data for /m)
  assert.match(out, /^skip {2}proxy +the proxy has no admin listener/m)
})
