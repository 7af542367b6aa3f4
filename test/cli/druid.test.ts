/** The commands in front of a Druid: found out, announced, explained, listed, examined. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { runCommand } from '../../src/cli/command.ts'
import { explain as explainCommand } from '../../src/cli/explain.ts'
import { ask, askPlainly, outcomeOf } from '../proxy/client.ts'
import { adminAddress, readyAddress, runToEnd, seenBy, startCommand } from './child.ts'
import { type FakeDruid, startFakeDruid } from './fake-druid.ts'
import { fakeIo } from './fake-io.ts'

const query = {
  queryType: 'timeseries',
  dataSource: 'wiki',
  granularity: 'hour',
  intervals: ['2026-01-01T00:00:00Z/2026-01-01T08:00:00Z'],
  aggregations: [{ type: 'count', name: 'n' }],
}
const sql = "SELECT page FROM wiki WHERE __time >= TIMESTAMP '2026-01-01 00:00:00' LIMIT 5"
const text = JSON.stringify(query)
const jsonType = { 'content-type': 'application/json' }

interface Running {
  readonly druid: FakeDruid
  readonly url: string
  readonly admin: string
  readonly out: () => string
}

async function startProxy(t: TestContext, ...flags: string[]): Promise<Running> {
  const druid = await startFakeDruid(t)
  const usual = ['--listen=127.0.0.1:0', '--admin.listen=127.0.0.1:0', '--telemetry.log-level=silent']
  const child = startCommand(t, [druid.url, ...usual, ...flags])
  const url = await readyAddress(child)
  return { druid, url, admin: await adminAddress(child), out: child.out }
}

const post = (url: string, body: string, path = '/druid/v2') =>
  ask(url, path, { method: 'POST', headers: jsonType, body })

test('one URL is enough: it is found out, announced and cached', async (t) => {
  const { druid, url, admin, out } = await startProxy(t)
  assert.deepEqual(out().split('\n').slice(1, 3), [
    `In Grafana, set the URL of the Druid data source to ${url}`,
    `In Superset, set the SQLAlchemy URI of the database to ${url.replace('http', 'druid')}/druid/v2/sql/`,
  ])
  assert.match(out(), new RegExp(`→ ${druid.url}/ \\(Druid 33\\.0\\.0; caching is on\\)\\n`))
  const [first, second] = [await post(url, text), await post(url, text)]
  assert.deepEqual([outcomeOf(first), outcomeOf(second)], ['miss/absent', 'hit'])
  assert.deepEqual(second.body, first.body)
  assert.equal(druid.queries.length, 1)
  const status = (await (await fetch(`${admin}/-/status`)).json()) as { backends: { type: string }[] }
  assert.equal(status.backends[0]!.type, 'druid')
})

test('workers get the detected kinds', async (t) => {
  const { druid, url } = await startProxy(t, '--workers=2')
  assert.equal(outcomeOf(await post(url, text)), 'miss/absent')
  for (let i = 0; i < 8; i++) assert.equal(outcomeOf(await post(url, text)), 'hit')
  assert.equal(druid.queries.length, 1)
})

test('context keys that the operator declares as irrelevant do not distinguish queries', async (t) => {
  const tagged = (context: object) => JSON.stringify({ ...query, context })
  const { url } = await startProxy(t, '--backends.main.ignore-context=[team, board]')
  await post(url, tagged({ team: 'a' }))
  assert.equal(outcomeOf(await post(url, tagged({ team: 'b', board: 5 }))), 'hit')
  assert.equal(outcomeOf(await post(url, tagged({ tenant: 'b' }))), 'miss/absent')
})

test('explain: the body of a query, as curl takes it', async (t) => {
  const { druid, url, admin } = await startProxy(t)
  await post(url, text)
  const explain = async (argv: readonly string[], input = '') => {
    const io = {
      ...fakeIo(),
      readInput: async () => input,
      readFile: async (name: string) => {
        if (name !== 'query.json') throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
        return Buffer.from(JSON.stringify(query, null, 2))
      },
    }
    const code = await runCommand(explainCommand, [...argv, '--admin', admin], io)
    return { code, ...io.said }
  }
  const envelope = JSON.stringify({ body: text, headers: jsonType })
  for (const [argv, input] of [
    [['--data', text]],
    [['--data', '@query.json']],
    [['--data', '@-'], text],
    [[text]],
    [['-'], text],
    [['query.json']],
    [['--data', envelope]],
  ] as const) {
    const { code, out, err } = await explain(argv, input)
    assert.deepEqual([code, err], [0, ''], out)
    assert.match(out, /^Hit: all 8 buckets are fresh/, argv.join(' '))
  }
  const asData = await explain(['--data', text, '--json'])
  assert.equal((JSON.parse(asData.out) as { outcome: string }).outcome, 'hit')
  assert.match((await explain([sql])).out, /^Bypass: /)
  assert.match((await explain(['--data', text, '--run'])).out, /\nran {6}status 200/)
  assert.equal(druid.queries.length, 1)
  for (const [argv, said] of [
    [['--data', '@nowhere.json'], /--data: there is no file nowhere\.json/],
    [['up', '--data', text], /a query or --data, not both/],
    [['--data', text, '--step', '5'], /--step goes with PromQL/],
    [['--data', '{"queryType":'], /the body is not JSON/],
    [[], /a query is missing/],
  ] as const) {
    const { code, err } = await explain(argv)
    assert.equal(code, 2)
    assert.match(err, said)
  }
})

test('explain: the admin listener takes the body itself, called JSON or nothing', async (t) => {
  const { url, admin } = await startProxy(t)
  await post(url, text)
  const explain = async (body: string, type: string, parameters = '') => {
    const headers = { 'content-type': type }
    const answer = await askPlainly(admin, `/-/explain${parameters}`, { method: 'POST', headers, body })
    return JSON.parse(answer.body.toString()) as { outcome: string; reason?: string }
  }
  assert.equal((await explain(text, 'application/json')).outcome, 'hit')
  assert.equal((await explain(text, 'application/x-www-form-urlencoded')).outcome, 'hit')
  assert.equal((await explain(text, 'text/plain')).reason, 'malformed_request')
  assert.equal((await explain(text, 'application/json', '?path=/status')).reason, 'not_a_range_query')
  assert.equal((await explain(JSON.stringify({ query: sql }), 'application/json')).outcome, 'bypass')
})

test('top and tail: queries are described by their content, also forwarded ones', async (t) => {
  const { druid, url, admin } = await startProxy(t)
  const tail = startCommand(t, ['tail', '--admin', admin])
  await seenBy(admin, 1)
  await post(url, text)
  druid.answers.set('/druid/v2/sql', [])
  await post(url, JSON.stringify({ query: sql }), '/druid/v2/sql')
  await post(url, JSON.stringify({ ...query, granularity: 'all' }))
  await tail.says(/^.*\n.*\n.*\n$/)
  assert.match(tail.out(), / ms timeseries wiki: n\n/)
  assert.match(
    tail.out(),
    / ms \/druid\/v2\/sql SELECT page FROM wiki WHERE __time >= TIMESTAMP ':time' LIMIT 5\n/,
  )
  assert.match(tail.out(), /miss\/absent .* ms \/druid\/v2 timeseries wiki: n\n/)
  const { out } = await runToEnd(t, ['top', '--admin', admin])
  assert.match(out, /@3600s timeseries wiki: n\n/)
})

test('doctor: the checks of a Druid', async (t) => {
  const druid = await startFakeDruid(t)
  const examine = () => runToEnd(t, ['doctor', druid.url, '--admin.enabled=false'])
  const well = await examine()
  assert.deepEqual([well.code, well.err], [0, ''], well.out)
  assert.match(well.out, /^ok {4}database main +http:\S+ is Druid 33\.0\.0\.$/m)
  assert.match(well.out, /^ok {4}clock main /m)
  assert.match(well.out, /^ok {4}SQL main +SQL answers; there are 3 data sources\.$/m)
  assert.match(
    well.out,
    /^ok {4}state main +It is healthy: 1 extension, 512 MiB of 1\.0 GiB of memory used\.$/m,
  )
  assert.match(well.out, /^ok {4}settings main +The database works on a query for up to 1m /m)
  assert.ok(!well.out.includes('lookback'))
  druid.answers.set('/druid/v2/sql', [
    { n: 1, winter: '2026-01-01T00:00:00.000+01:00', summer: '2026-07-01T00:00:00.000+02:00' },
  ])
  druid.answers.set('/status/health', false)
  druid.answers.set('/status/properties', { 'druid.service': 'broker' })
  const ill = await examine()
  assert.equal(ill.code, 1)
  assert.match(
    ill.out,
    /^fail {2}zone main +SQL that names no zone is read in another one than UTC.*\n.*sqlTimeZone/m,
  )
  assert.match(ill.out, /^warn {2}state main +It reports that it is not healthy/m)
  assert.match(ill.out, /^warn {2}settings main .* up to 5m .* gives up after 2m30s/m)
  for (const path of ['/druid/v2/sql', '/status/health', '/status/properties']) druid.answers.delete(path)
  const mute = await examine()
  assert.equal(mute.code, 0)
  assert.match(mute.out, /^warn {2}SQL main +SQL does not answer \(status 404\)\.\n.*Broker or a Router/m)
})

test('check --connect: a Druid is found, a wrong type is reported with the right one, and another server is refused', async (t) => {
  const druid = await startFakeDruid(t)
  const check = (...flags: string[]) => runToEnd(t, ['check', druid.url, '--connect', ...flags])
  assert.equal((await check()).out, `main ${druid.url}: Druid 33.0.0\nok\n`)
  const mistaken = await check('--backends.main.type=prometheus')
  assert.equal(mistaken.code, 1)
  assert.match(
    mistaken.out,
    /: this is Druid 33\.0\.0, not Prometheus\. Set its type to druid, or to auto\.\n/,
  )
  druid.answers.set('/status', {})
  const neither = await check()
  assert.equal(neither.code, 1)
  assert.match(neither.out, /: something answers that is not a database: no build info \(status 404\)\. /)
})

test('init: a file for a Druid can be used', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'windowpane-init-'))
  t.after(() => rm(cwd, { recursive: true, force: true }))
  const druid = await startFakeDruid(t)
  const made = await runToEnd(t, ['init', druid.url], { cwd })
  assert.equal(made.code, 0)
  const file = await readFile(join(cwd, 'windowpane.yaml'), 'utf8')
  assert.match(file, /^ {4}#type: auto$/m)
  assert.match(file, /^ {4}#ignoreContext: \[\]$/m)
  const checked = await runToEnd(t, ['check', '--config', 'windowpane.yaml', '--connect'], { cwd })
  assert.equal(checked.out, `main ${druid.url}: Druid 33.0.0\nok\n`)
  const odd = await runToEnd(t, ['init', 'w.yaml', 'druid://router:8888/druid/v2/sql/'], { cwd })
  assert.equal(odd.code, 2)
  assert.match(odd.err, /did you mean "http:\/\/router:8888"\?/)
})
