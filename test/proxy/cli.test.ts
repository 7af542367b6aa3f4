/** The command as people start it: a process with arguments, output, signals and an exit code. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { version } from '../../src/version.ts'
import { type Child, readyAddress, startCommand } from '../cli/child.ts'
import { ask, outcomeOf, rawClient } from './client.ts'
import { rangePath } from './matrix.ts'
import { startScriptedUpstream } from './scripted-upstream.ts'

function windowpane(t: TestContext, ...argv: string[]): Child {
  const quiet = ['--admin.enabled=false', '--telemetry.log-level=silent']
  return startCommand(t, [...argv, ...(argv.length > 0 ? quiet : [])])
}

const minute = 60_000
const yesterday = Date.UTC(2026, 0, 1)
const path = rangePath({ start: yesterday, end: yesterday + 10 * minute })

test('it prints one line when it listens and one for Grafana, caches, and ends with 0 on SIGTERM', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const running = windowpane(t, upstream.url, '--listen', '127.0.0.1:0')
  const url = await readyAddress(running)
  await running.says(/^.*\n.*\n$/)
  assert.equal(
    running.out(),
    `windowpane ${version} is listening: ${url} → ${upstream.url}/ (Prometheus 3.5.0; caching is on)
In Grafana, set the URL of the Prometheus data source to ${url}
`,
  )
  assert.equal(outcomeOf(await ask(url, path)), 'miss/absent')
  assert.equal(outcomeOf(await ask(url, path)), 'hit')
  running.process.kill('SIGTERM')
  assert.equal(await running.exit, 0)
  assert.deepEqual([running.out().split('\n').length, running.err()], [3, ''])
})

/** A proxy with a client that has half of its answer, and one without a request. */
async function answeringHalf(t: TestContext) {
  const upstream = await startScriptedUpstream(t)
  upstream.script = (_request, response) => void response.write('first half,')
  const running = windowpane(t, upstream.url, '--listen', '127.0.0.1:0')
  const url = await readyAddress(running)
  const client = await rawClient(url)
  client.write('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n')
  await client.has('first half')
  return { upstream, running, url, client, idle: await rawClient(url) }
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} lets an answer under way finish; nothing new is let in`, async (t) => {
    const { upstream, running, url, client, idle } = await answeringHalf(t)
    running.process.kill(signal)
    await idle.closed
    await assert.rejects(ask(url, '/new'))
    upstream.seen[0]!.response.end('second half')
    assert.match((await client.closed).toString(), /second half/)
    assert.equal(await running.exit, 0)
  })
}

test('a second signal does not wait', async (t) => {
  const { running, idle } = await answeringHalf(t)
  running.process.kill('SIGTERM')
  await idle.closed
  running.process.kill('SIGTERM')
  assert.equal(await running.exit, 1)
})

test('every flag is taken, and credentials are not printed', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const secret = upstream.url.replace('//', '//user:s3cret@')
  const flags = ['--listen', '127.0.0.1:0', '--ttl-floor', '1s', '--ttl-doubling', '30s', '--ttl-cap', '2h']
  const more = ['--max-stale', '1h', '--memory', '64MiB', '--identity', 'shared']
  const running = windowpane(t, secret, ...flags, ...more)
  const url = await readyAddress(running)
  assert.doesNotMatch(running.out() + running.err(), /s3cret|user/)
  await ask(url, path, { headers: { Authorization: 'a' } })
  const hit = await ask(url, path, { headers: { Authorization: 'b' } })
  assert.match(hit.headers.find(([name]) => name === 'cache-status')![1], /^windowpane; hit; ttl=7200; /)
})

test('a database that cannot be reached is no reason not to start', async (t) => {
  const upstream = await startScriptedUpstream(t)
  await upstream.close()
  const running = windowpane(t, upstream.url, '--listen', '127.0.0.1:0')
  const url = await readyAddress(running)
  assert.match(
    running.out(),
    /\(not reached: .*ECONNREFUSED.*; assuming Prometheus, by its port .*; not ready: requests fail until it answers\)/,
  )
  assert.equal((await ask(url, path)).status, 502)
})

test('without a URL it explains itself and ends with 2', async (t) => {
  const running = windowpane(t, '--memory', '1GiB')
  assert.equal(await running.exit, 2)
  assert.equal(running.out(), '')
  assert.match(running.err(), /^windowpane: the URL of the database is missing[\s\S]*Usage: windowpane/)
})

test('all bad values are reported at once', async (t) => {
  const running = windowpane(t, 'prometheus.example', '--memory', 'lots', '--ttl-cap', 'never')
  assert.equal(await running.exit, 2)
  const lines = running.err().trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { message: string }).message.split(': ').slice(0, 2)),
    [
      ['cannot start', '--memory'],
      ['cannot start', '--ttl-cap'],
      ['cannot start', 'the URL given'],
    ],
  )
  assert.doesNotMatch(running.err(), /limits\.memory|backends\.main/)
})

test('a URL that cannot be used is reported without its credentials', async (t) => {
  const running = windowpane(t, 'http://user:s3cret@host:99999')
  assert.equal(await running.exit, 2)
  assert.match(running.err(), /expected the URL of a database/)
  assert.doesNotMatch(running.err(), /s3cret/)
})

test('an address in use ends with 2, a code and a remedy', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const running = windowpane(t, upstream.url, '--listen', `127.0.0.1:${upstream.port}`)
  assert.equal(await running.exit, 2)
  const { level, message, remedy } = JSON.parse(running.err()) as Record<string, string>
  assert.match(
    message!,
    /^cannot start: cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*\(WINDOWPANE_LISTEN_FAILED\)$/,
  )
  assert.deepEqual([level, remedy], ['error', 'Choose another address with --listen.'])
})

test('--help and --version print and end with 0', async (t) => {
  const help = windowpane(t, '--help')
  assert.equal(await help.exit, 0)
  assert.match(help.out(), /^Usage: windowpane/)
  const told = windowpane(t, '--version')
  assert.equal(await told.exit, 0)
  assert.equal(told.out(), `windowpane ${version}\n`)
})
