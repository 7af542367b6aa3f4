/** The proxy's stderr: log lines of one format, and nothing else. As a process. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { version } from '../../src/version.ts'
import { ask, askPlainly } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { json, type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { freePort } from '../servers/ports.ts'
import { eventually } from '../wait.ts'
import { adminAddress, type Child, readyAddress, startCommand } from './child.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 600_000 })
const quiet = ['--listen=127.0.0.1:0', '--admin.enabled=false']

type Line = Readonly<Record<string, unknown>> & { readonly level: string; readonly message: string }

/** Fails where anything on stderr is not a line of the log. */
const linesOf = (child: Child): Line[] =>
  child
    .err()
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const parsed = JSON.parse(line) as Line
      assert.ok(typeof parsed['time'] === 'string' && parsed.level !== '' && parsed.message !== '', line)
      return parsed
    })

const linesAbout = (child: Child, message: string): Line[] =>
  linesOf(child).filter((line) => line.message === message)

async function stop(child: Child): Promise<void> {
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
}

async function fileFor(t: TestContext, upstream: ScriptedUpstream, more = ''): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-log-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'windowpane.yaml')
  await writeFile(
    file,
    `listen: 127.0.0.1:0\nadmin: { enabled: false }\nbackends:\n  main: { url: "${upstream.url}" }\n${more}`,
  )
  return file
}

for (const workers of [1, 2]) {
  test(`start, reload, drain and end are logged with version, configuration and counts, ${workers} workers`, async (t) => {
    const upstream = await startScriptedUpstream(t)
    const file = await fileFor(t, upstream, `workers: ${workers}\n`)
    const child = startCommand(t, ['--config', file])
    const url = await readyAddress(child)
    for (let i = 0; i < 3; i++) await ask(url, path)
    child.process.kill('SIGHUP')
    await child.says(/was reloaded/, 'err')
    await fileWith(file, 'rules: [{ match: { backend: main }, mod: on }]\n')
    child.process.kill('SIGHUP')
    await child.says(/is refused/, 'err')
    await stop(child)
    const [listening] = linesAbout(child, 'listening')
    assert.deepEqual(
      [listening!['database'], listening!['url'], listening!['state'], listening!['workers']],
      [`${upstream.url}/`, url, 'Prometheus 3.5.0; caching is on', workers],
    )
    const [reloaded] = linesAbout(child, 'the configuration was reloaded')
    assert.equal(reloaded!['changes'], 0)
    const [refused] = linesAbout(child, 'the new configuration is refused')
    assert.match(refused!['detail'] as string, /rules\.0\.mod: unknown key/)
    const [draining] = linesAbout(child, 'draining')
    // Workers report their requests in flight now and then.
    assert.deepEqual([draining!['signal'], typeof draining!['requestsInFlight']], ['SIGTERM', 'number'])
    const [ended] = linesAbout(child, 'ended')
    const { requests, hit, miss, bypass, uptimeSeconds } = ended!
    assert.deepEqual([requests, hit, miss, bypass, typeof uptimeSeconds], [3, 2, 1, 0, 'number'])
    for (const line of [listening, reloaded, refused, draining, ended]) {
      assert.deepEqual([line!['version'], line!['configuration']], [version, file])
    }
    assert.deepEqual(linesOf(child).at(-1), ended)
  })
}

async function fileWith(file: string, more: string): Promise<void> {
  await writeFile(file, more, { flag: 'a' })
}

test('without a file the configuration is called flags', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const child = startCommand(t, [upstream.url, ...quiet])
  await readyAddress(child)
  await stop(child)
  assert.deepEqual(
    linesOf(child).map(({ message, configuration }) => [message, configuration]),
    [
      ['listening', 'flags'],
      ['draining', 'flags'],
      ['ended', 'flags'],
    ],
  )
})

test('a store that cannot be opened and warnings of Node are lines of the log', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const secure = `  secure: { url: "${upstream.url.replace('http:', 'https:')}", route: { path: /secure } }\n`
  const file = await fileFor(t, upstream, secure)
  const store = ['--stores.disk.url=lmdb:/dev/null/panes', '--backends.main.store=disk']
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  const child = startCommand(t, ['--config', file, ...store], { env })
  await readyAddress(child)
  await child.says(/warning of Node: Warning: Setting the NODE_TLS_REJECT_UNAUTHORIZED/, 'err')
  await stop(child)
  const [disk] = linesOf(child).filter(({ message }) => message.startsWith('stores.disk: '))
  assert.deepEqual([disk!.level, typeof disk!['remedy']], ['warn', 'string'])
})

test('as text, a line has its time, level, message and fields', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const child = startCommand(t, [upstream.url, ...quiet, '--telemetry.log-format=text'])
  await readyAddress(child)
  await stop(child)
  assert.match(child.err(), /^\d\d:\d\d:\d\d\.\d{3} info {2}listening version=\S+ configuration=flags pid=/)
})

test('a database that cannot be reached is one warning, at the start and for all clients', async (t) => {
  const port = await freePort()
  const database = `http://127.0.0.1:${port}/`
  const child = startCommand(t, [database, '--listen=127.0.0.1:0', '--admin.listen=127.0.0.1:0'])
  const url = await readyAddress(child)
  const admin = await adminAddress(child)
  const warnings = () => linesOf(child).filter(({ level }) => level === 'warn')
  const [warning] = warnings()
  assert.equal(warning!.message, 'database main: cannot be reached')
  assert.match(warning!['detail'] as string, /ECONNREFUSED/)
  assert.equal(warning!['url'], database)
  assert.equal((await askPlainly(admin, '/-/ready')).status, 503)
  assert.match(child.out(), /^windowpane \S+ is listening: .*; assuming Prometheus, .*; not ready: /)
  for (let i = 0; i < 3; i++) assert.equal((await ask(url, path)).status, 502)
  assert.equal(warnings().length, 1)
  await startScriptedUpstream(t, port)
  const ready = async () => (await askPlainly(admin, '/-/ready')).status
  await eventually(ready, (status) => status === 200)
  await child.says(/"message":"database main: answers"/, 'err')
  assert.equal(warnings().length, 1)
  await stop(child)
})

test('an unknown server is one warning, with the consequence', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.buildInfo = json(200, { status: 'success', data: { version: '0.36.1' } })
  const child = startCommand(t, [upstream.url, ...quiet])
  const url = await readyAddress(child)
  await ask(url, path)
  await stop(child)
  const warnings = linesOf(child).filter(({ level }) => level === 'warn')
  assert.deepEqual(
    warnings.map(({ message, detail }) => [message, detail]),
    [
      [
        'flavour of main: not known, so that requests are forwarded uncached',
        'not known to be Prometheus (version 0.36.1, no revision)',
      ],
    ],
  )
  assert.match(
    child.out(),
    /\(not known to be Prometheus \(version 0\.36\.1, no revision\); assuming .*; caching is off until it is known to be/,
  )
})

test('an admin port that is taken is logged with the consequence, and the proxy serves', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const taken = `127.0.0.1:${upstream.port}`
  const child = startCommand(t, [upstream.url, '--listen=127.0.0.1:0', `--admin.listen=${taken}`])
  const url = await readyAddress(child)
  const means = `There is no admin listener: ${taken} is taken by another process, and commands such as windowpane top and purge reach that one. The proxy serves without it; choose another address with --admin.listen HOST:PORT.\n`
  await child.says(/no admin listener.*\n/)
  assert.ok(child.out().endsWith(means), child.out())
  assert.equal((await ask(url, path)).status, 200)
  await stop(child)
  const [warning] = linesOf(child).filter(({ level }) => level === 'warn')
  assert.match(warning!.message, /^there is no admin listener: .* is taken by another process/)
  assert.match(warning!['detail'] as string, /EADDRINUSE/)
})

test('an uncaught exception is logged as the end, and ends the process', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const fault = "process.on('SIGUSR2',()=>{throw(new(Error)('a fault of the test'))})"
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}` }
  const child = startCommand(t, [upstream.url, ...quiet], { env })
  await readyAddress(child)
  child.process.kill('SIGUSR2')
  assert.equal(await child.exit, 1)
  const [ended] = linesAbout(child, 'ended')
  assert.equal(ended!.level, 'error')
  assert.match(ended!['detail'] as string, /^a fault of Windowpane: Error: a fault of the test\n/)
})

test('a second signal is logged as the end', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.script = (_request, response) => void response.write('first half,')
  const child = startCommand(t, [upstream.url, ...quiet])
  const url = await readyAddress(child)
  const cut = ask(url, '/slow').catch(() => undefined)
  await eventually(
    async () => upstream.seen.length,
    (count) => count === 1,
  )
  child.process.kill('SIGINT')
  await child.says(/"message":"draining"/, 'err')
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 1)
  await cut
  const [draining, ended] = [...linesAbout(child, 'draining'), ...linesAbout(child, 'ended')]
  assert.deepEqual([draining!['signal'], draining!['requestsInFlight']], ['SIGINT', 1])
  assert.deepEqual([ended!.level, ended!['signal'], ended!['requestsInFlight']], ['warn', 'SIGTERM', 1])
})
