/** The doctor's findings from figures. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { runCommand } from '../../src/cli/command.ts'
import { skewFinding } from '../../src/cli/doctor/databases.ts'
import { checkIdentity } from '../../src/cli/doctor/identity.ts'
import { readSamples } from '../../src/cli/doctor/samples.ts'
import { memoryFinding } from '../../src/cli/doctor/stores.ts'
import { bypassFinding, hitFinding, identityFindings, phaseFindings } from '../../src/cli/doctor/traffic.ts'
import { doctor } from '../../src/cli/doctor.ts'
import { serve } from '../../src/cli/serve.ts'
import type { TopShape } from '../../src/cli/top-text.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Finding } from '../../src/core/finding.ts'
import { fingerprintOf } from '../../src/core/secrets.ts'
import { version } from '../../src/version.ts'
import { startFakeAdmin } from './fake-admin.ts'
import { fakeIo } from './fake-io.ts'

const now = Date.UTC(2026, 0, 1)
const at = (ms: number): string => new Date(now + ms).toUTCString()

test('a wrong clock is distinguished from one that is only cut to seconds', () => {
  const quick = { sentAt: now, receivedAt: now + 20 }
  for (const [date, status] of [
    [at(0), 'ok'],
    [at(-2_000), 'ok'],
    [at(1_000), 'ok'],
    [at(3_000), 'warn'],
    [at(-4_000), 'warn'],
    [undefined, 'skip'],
    ['yesterday', 'skip'],
  ] as const) {
    assert.equal(skewFinding('main', date, quick).status, status, String(date))
  }
  assert.match(skewFinding('main', at(60_000), quick).sentence, /60\.5 s ahead of this machine's/)
  // A slow answer is less conclusive.
  assert.equal(skewFinding('main', at(4_000), { sentAt: now, receivedAt: now + 8_000 }).status, 'ok')
})

test('a memory limit must leave room for the rest of the process', () => {
  const GiB = 2 ** 30
  assert.equal(memoryFinding(0.5 * GiB, 8 * GiB).status, 'ok')
  const tight = memoryFinding(4 * GiB, 4 * GiB)
  assert.deepEqual([tight.status, tight.remedy], ['warn', 'Set limits.memory to 2.0 GiB or less.'])
})

const requests = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([key, count]) => {
      const [outcome, reason = ''] = key.split('/')
      return `windowpane_requests_total{backend="main",outcome="${outcome}",reason="${reason}"} ${count}\n`
    })
    .join('')

test('shares are of queries, and few queries are inconclusive', () => {
  const good = readSamples(
    requests({ hit: 80, 'miss/absent': 15, 'bypass/sorting': 5, 'bypass/not_a_range_query': 1e6 }),
  )
  assert.deepEqual([hitFinding(good).status, bypassFinding(good).status], ['ok', 'ok'])
  assert.match(hitFinding(good).sentence, /^80 % of 100 range queries/)
  const bad = readSamples(requests({ 'miss/absent': 60, 'bypass/limit': 30, 'bypass/sorting': 10 }))
  assert.deepEqual([hitFinding(bad).status, bypassFinding(bad).status], ['warn', 'warn'])
  assert.match(
    bypassFinding(bad).sentence,
    /40 % of 100 range queries were forwarded uncached: limit 30 %, sorting 10 %/,
  )
  assert.match(bypassFinding(bad).remedy!, /Do without the limit/)
  assert.equal(hitFinding(readSamples(requests({ 'miss/absent': 3 }))).status, 'skip')
})

const row = (changed: Partial<TopShape>): TopShape => ({
  ...{ shape: '["/api/v1/query_range","up",15000]', key: 'k', backend: 'main', count: 1 },
  ...{ stepMs: 15_000, phaseMs: 0 },
  ...{ outcomes: {}, bytes: 0, savedSeconds: 0, asked: 0, askedSeconds: 0 },
  ...changed,
})

test('one shape on many grids, and one shape of many identities, are distinguished', () => {
  const unaligned = [0, 1, 2, 3].map((i) => row({ key: `k${i}`, phaseMs: i * 1000 }))
  assert.equal(phaseFindings(unaligned)[0]!.status, 'warn')
  assert.equal(identityFindings(unaligned)[0]!.status, 'ok')
  const separate = [0, 1, 2].map((i) => row({ key: `k${i}` }))
  assert.equal(phaseFindings(separate)[0]!.status, 'ok')
  assert.match(identityFindings(separate)[0]!.sentence, /^"up" is kept 3 times/)
  const of = (count: number) =>
    identityFindings(Array.from({ length: count }, (_, i) => row({ key: `k${i}` })))
  assert.doesNotMatch(of(100)[0]!.sentence, /More than 100/)
  assert.deepEqual([of(101)[0]!.status, /More than 100: a token/.test(of(101)[0]!.sentence)], ['warn', true])
  const zones = ['Europe/Berlin', 'Europe/Paris', 'Europe/Rome', 'Europe/Oslo']
  const elsewhere = zones.map((zone) =>
    row({ key: zone, calendar: { unit: 'day', count: 1, zone, origin: 0 } }),
  )
  assert.equal(phaseFindings(elsewhere)[0]!.status, 'ok')
  assert.equal(identityFindings(elsewhere)[0]!.status, 'ok', 'days of other zones are other grids')
  // A text that was cut may stand for several shapes; an unplanned request has no key.
  const cut = separate.map((each) => ({ ...each, shape: `${each.shape}…` }))
  assert.equal(identityFindings(cut)[0]!.status, 'ok')
  assert.deepEqual(phaseFindings([]), [])
})

test('access tokens in the query string are identities, too', () => {
  const of = (token: string) =>
    row({ key: token, shape: `["/api/v1/query_range","up",15000,["token","${fingerprintOf(token)}"]]` })
  const [finding] = identityFindings(['a', 'b', 'c'].map(of))
  assert.deepEqual([finding!.status, /kept 3 times/.test(finding!.sentence)], ['warn', true])
})

test('identity: user on a listener that others can reach is warned about', () => {
  const found = (text: string) => {
    const loaded = loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(text) } })
    assert.ok('config' in loaded, JSON.stringify(loaded))
    return checkIdentity(loaded.config).map(({ check, status, remedy }) =>
      [check, status, remedy ?? ''].join(' '),
    )
  }
  const url = 'url: "http://a:9090"'
  const remedy = /Let only Grafana, or the proxy that sets the header, reach this listener/
  assert.deepEqual(found(`backends: { main: { ${url} } }`), [])
  assert.match(found(`listen: 0.0.0.0:9191\nbackends: { main: { ${url}, identity: user } }`)[0]!, remedy)
  assert.deepEqual(found(`backends: { main: { ${url}, identity: user } }`), ['identity main ok '])
  const rule = 'rules: [{ match: { backend: main }, identity: user }]'
  const open = found(
    `listen: :9191\nbackends: { main: { ${url} }, b: { ${url}, route: { path: /b } } }\n${rule}`,
  )
  assert.deepEqual([open.length, remedy.test(open[0] ?? '')], [1, true])
})

interface Figures {
  readonly shadow?: object
  readonly metrics?: string
  readonly memory?: object
  readonly configuration?: object
  readonly backends?: readonly object[]
}

async function examine(t: Parameters<typeof startFakeAdmin>[0], given: Figures): Promise<Finding[]> {
  const text = (body: string) => (_: unknown, response: { end(text: string): void }) => response.end(body)
  const memory = given.memory ?? { used: 1, limit: 100 }
  const admin = await startFakeAdmin(t, {
    '/-/status': {
      ...{ version, uptimeSeconds: 5, memory },
      ...{ configuration: given.configuration, backends: given.backends },
    },
    '/-/ready': text('ready\n'),
    '/-/shapes': [],
    '/-/metrics': text(given.metrics ?? ''),
    '/-/shadow': given.shadow,
  })
  const io = fakeIo()
  await runCommand(doctor, ['--json', '--admin', admin.url], io)
  return (JSON.parse(io.said.out) as { findings: Finding[] }).findings
}

test('a mode that was left on, a store in trouble, memory that is full and a refused reload are found', async (t) => {
  const backend = (mode: string, verdict: string, days: number) => ({
    backends: [{ backend: 'main', mode, verdict, since: new Date(now - days * 86_400_000).toISOString() }],
  })
  const warnings = async (given: Figures): Promise<string[]> =>
    (await examine(t, given)).filter(({ status }) => status === 'warn').map(({ check }) => check)
  assert.deepEqual(await warnings({ shadow: backend('on', 'wait', 9) }), [])
  assert.deepEqual(await warnings({ shadow: backend('shadow', 'wait', 0.5) }), [])
  assert.deepEqual(await warnings({ shadow: backend('shadow', 'wait', 2) }), ['mode main'])
  assert.deepEqual(await warnings({ shadow: backend('shadow', 'safe', 0.5) }), ['mode main'])
  assert.deepEqual(await warnings({ shadow: backend('off', 'wait', 0.5) }), ['mode main'])
  assert.deepEqual(await warnings({ memory: { used: 99, limit: 100 } }), ['cache memory'])
  const metrics = [
    'windowpane_config_last_reload_successful 0',
    'windowpane_evictions_total{store="memory",reason="memory"} 3',
    'windowpane_store_degraded{store="disk"} 1',
    'windowpane_segments_trusted{backend="druid"} 0',
    'windowpane_segments_view_age_seconds{backend="druid"} 400',
    'windowpane_segments_trusted{backend="other"} 1',
  ]
  assert.deepEqual(await warnings({ metrics: `${metrics.join('\n')}\n` }), [
    'reload',
    'cache memory',
    'store disk',
    'segments druid',
  ])
})

test('an assumed server that is still compared is reported with its count, and not to be switched on', async (t) => {
  const heldBack =
    'the server is assumed to be Prometheus: 7 of 200 answers from the cache were equal to its own'
  const findings = await examine(t, {
    shadow: { backends: [{ backend: 'main', mode: 'shadow', verdict: 'safe' }] },
    backends: [{ name: 'main', upstreams: [], heldBack }],
  })
  const [mode] = findings.filter(({ check }) => check === 'mode main')
  assert.deepEqual(mode, {
    ...{ check: 'mode main', status: 'ok', sentence: `It stays in shadow mode for now: ${heldBack}.` },
  })
})

test('a reload that was refused is reported with its reason, which check may not find', async (t) => {
  const configuration = { lastReload: { ok: false, message: 'these changes need a restart: listen' } }
  const metrics = 'windowpane_config_last_reload_successful 0\n'
  const [reload] = (await examine(t, { configuration, metrics })).filter(({ check }) => check === 'reload')
  assert.match(reload!.sentence, /was refused: these changes need a restart: listen$/)
  assert.match(reload!.remedy!, /restart the proxy where a change needs that/)
})

test('watched segments are reported, and their state', async (t) => {
  const samples = (backend: string, trusted: 0 | 1) => [
    `windowpane_segments_trusted{backend="${backend}"} ${trusted}`,
    `windowpane_segments_view_age_seconds{backend="${backend}"} ${trusted === 1 ? 4 : 400}`,
    `windowpane_segments_watched{backend="${backend}"} 812`,
    `windowpane_segments_marked_total{backend="${backend}"} 3`,
  ]
  const metrics = `${[...samples('good', 1), ...samples('bad', 0)].join('\n')}\n`
  const found = (await examine(t, { metrics })).filter(({ check }) => check.startsWith('segments '))
  assert.deepEqual(
    found.map(({ status, sentence }) => [status, sentence]),
    [
      ['ok', '812 segments were seen 4.0 s ago, and 3 intervals were marked as changed.'],
      ['warn', 'Its segments have not been seen for 7 min: settled buckets are under the TTL policy.'],
    ],
  )
})

test('what serve does not take for a database, doctor does not take for a configuration', async (t) => {
  const admin = await startFakeAdmin(t, {})
  const firstFinding = async (flag: string): Promise<string> => {
    const io = fakeIo()
    await runCommand(doctor, ['--json', '--admin', admin.url, flag], io)
    const [finding] = (JSON.parse(io.said.out) as { findings: Finding[] }).findings
    return `${finding!.check} ${finding!.status}`
  }
  for (const flag of ['--identity=shared', '--backends.main.mode=off', '--memory=1GiB']) {
    const io = fakeIo()
    assert.equal(await serve([flag], io), 2)
    assert.match(io.said.err, /^windowpane: the URL of the database is missing/)
    assert.equal(await firstFinding(flag), 'configuration skip', flag)
  }
  for (const flag of ['--backends.main.url=nowhere', '--backends.main.url.0=http://a:99999', '--backends=x'])
    assert.equal(await firstFinding(flag), 'configuration fail', flag)
})
