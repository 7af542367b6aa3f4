import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { fakeIo } from '../../test/cli/fake-io.ts'
import type { Connector } from '../config/judge.ts'
import { loadConfig } from '../config/load.ts'
import { check } from './check.ts'
import { runCommand, usageOf } from './command.ts'

interface Given {
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly connect?: Connector
}

async function run(argv: readonly string[], { files, env = {}, connect }: Given = {}) {
  const io = {
    ...fakeIo({ env }),
    ...(files === undefined ? {} : { readFile: async (path: string) => fileIn(files, path) }),
    ...(connect === undefined ? {} : { connect }),
  }
  const code = await runCommand(check, argv, io)
  return { ...io.said, code }
}

function fileIn(files: Readonly<Record<string, string>>, path: string): Buffer {
  const text = files[path]
  if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
  return Buffer.from(text)
}

const good = { 'w.yaml': 'backends: { main: { url: http://a:9090 } }\nlimits: { drain: 5s }\n' }
const bad = { 'w.yaml': 'backends:\n  main:\n    url: http://a:9090\n    mod: on\nlimits: { drain: 5 }\n' }

test('a good file is ok', async () => {
  assert.deepEqual(await run(['--config', 'w.yaml'], { files: good }), { out: 'ok\n', err: '', code: 0 })
})

test('the environment can name the file, and no file is needed', async () => {
  assert.equal((await run([], { files: good, env: { WINDOWPANE_CONFIG: 'w.yaml' } })).code, 0)
  assert.equal((await run(['http://a:9090'])).code, 0)
  assert.equal((await run(['--backends.main.url=http://a:9090'])).code, 0)
})

test('all problems are reported at once, on stderr, each with its frame', async () => {
  const { out, err, code } = await run(['--config=w.yaml', '--listen=x'], { files: bad })
  assert.equal(code, 2)
  assert.equal(out, '')
  assert.equal(
    err,
    `--listen: expected host:port, such as 127.0.0.1:9191 or [::]:9191, or unix:/path, got "x"

w.yaml:4:5: backends.main.mod: unknown key; did you mean "mode"?
  3 |     url: http://a:9090
> 4 |     mod: on
    |     ^
  5 | limits: { drain: 5 }

w.yaml:5:18: limits.drain: expected a duration such as 500ms, 5s, 15m or 1h30m, above 0, at most 24d, got 5; did you mean "5s"?
  4 |     mod: on
> 5 |     limits: { drain: 5 }
    |                  ^
  6 |

3 problems
`.replace('> 5 |     limits', '> 5 | limits'),
  )
})

test('problems for programs', async () => {
  const { out, code } = await run(['--config', 'w.yaml', '--json'], { files: bad })
  assert.equal(code, 2)
  const { ok, problems } = JSON.parse(out) as { ok: boolean; problems: Record<string, unknown>[] }
  assert.equal(ok, false)
  assert.equal(problems.length, 2)
  assert.deepEqual(
    { ...problems[0], frame: '' },
    {
      source: 'w.yaml:4:5',
      file: 'w.yaml',
      line: 4,
      column: 5,
      path: 'backends.main.mod',
      message: 'unknown key',
      suggestion: 'mode',
      frame: '',
    },
  )
})

test('--print shows every value with its source, and can be loaded again', async () => {
  const env = { WINDOWPANE_LIMITS_MAX_STALE: '1m', WINDOWPANE_ADMIN_TOKEN: 'hunter2' }
  const { out, code } = await run(['--config', 'w.yaml', '--print', '--listen', ':1'], { files: good, env })
  assert.equal(code, 0)
  for (const line of [
    'listen: :1  # --listen',
    '  drain: 5s  # w.yaml:2:18',
    '  maxStale: 1m  # WINDOWPANE_LIMITS_MAX_STALE',
    '  memory: 512MiB  # default',
    '  # token: ***  # WINDOWPANE_ADMIN_TOKEN',
    '# ok',
  ]) {
    assert.ok(out.split('\n').includes(line), `${line}\nin\n${out}`)
  }
  assert.ok(!out.includes('hunter2'))
  assert.ok('config' in loadConfig({ file: { name: 'p', bytes: Buffer.from(out) } }))
})

test('--json shows the same', async () => {
  const { out } = await run(['--config', 'w.yaml', '--json'], { files: good })
  const { ok, values } = JSON.parse(out) as { ok: boolean; values: { path: string }[] }
  assert.ok(ok)
  assert.deepEqual(
    values.find((value) => value.path === 'limits.drain'),
    { path: 'limits.drain', value: '5s', source: 'w.yaml:2:18' },
  )
})

test('--connect shows the kind of each database, and fails if one does not answer', async () => {
  const connect: Connector = async (_, url) => {
    if (url.includes('b')) throw new Error('connect ECONNREFUSED')
    return { verdict: 'known', found: 'Prometheus 3.5.0' }
  }
  const one = await run(['http://a:9090', '--connect'], { connect })
  assert.deepEqual(one, { out: 'main http://a:9090: Prometheus 3.5.0\nok\n', err: '', code: 0 })
  const two = await run(['--connect', '--backends.main.url=[http://a, http://b]'], { connect })
  assert.equal(two.code, 1)
  assert.match(
    two.out,
    /main http:\/\/b: no connection: connect ECONNREFUSED\nthe configuration is sound, but 1 of 2 databases does not answer\n$/,
  )
  const data = await run(['--connect', '--json', '--backends.main.url=http://b'], { connect })
  assert.equal(data.code, 1)
  assert.equal((JSON.parse(data.out) as { ok: boolean }).ok, false)
  assert.deepEqual((JSON.parse(data.out) as { connections: unknown }).connections, [
    { backend: 'main', url: 'http://b', ok: false, answers: false, found: 'connect ECONNREFUSED' },
  ])
})

test('--connect queries over the network with the configured credentials', async (t) => {
  const data = { version: '3.5.0', revision: '8be3a95', goVersion: 'go1.24' }
  const server = createServer((request, response) => {
    const isKnown = request.headers.authorization === `Basic ${btoa('u:from file')}`
    response.statusCode = isKnown && request.url === '/p/api/v1/status/buildinfo' ? 200 : 401
    response.end(JSON.stringify({ status: 'success', data }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-check-'))
  t.after(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })
  const password = join(folder, 'password')
  await writeFile(password, 'from file\n')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/p/`
  const auth = ['--backends.main.auth.username=u', `--backends.main.auth.password-file=${password}`]
  assert.deepEqual(await run([url, '--connect', ...auth]), {
    out: `main ${url}: Prometheus 3.5.0\nok\n`,
    err: '',
    code: 0,
  })
  const refused = await run([url, '--connect'])
  assert.deepEqual(refused, {
    out: `main ${url}: requires credentials (status 401). Set the auth of this backend, or rely on the credentials that clients bring.\nthe configuration is sound, but 1 of 1 database cannot be used\n`,
    err: '',
    code: 1,
  })
  assert.equal((await run(['http://127.0.0.1:1', '--connect'])).code, 1)
})

/** A server of one answer, or of one answer per path; its URL has no slash at the end. */
async function serverOf(
  t: TestContext,
  answer: string | ((path: string) => string | undefined),
): Promise<string> {
  const server = createServer((request, response) => {
    const text = typeof answer === 'string' ? answer : answer(request.url!)
    response.statusCode = text === undefined ? 404 : 200
    response.end(text ?? '404 page not found\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const buildInfo = JSON.stringify({
  status: 'success',
  data: { version: '3.5.0', revision: '8be3a95', goVersion: 'go1.24' },
})

test('--connect: a server that is no database is refused, with a remedy', async (t) => {
  const pages = {
    'the page of a web server': '<html><title>Welcome to nginx!</title></html>',
    'a login page': '<form action="/login"><input type="password"></form>',
    'some other API': '{"version":"1.2.3"}',
    'an answer that is empty': '',
  }
  for (const [name, page] of Object.entries(pages)) {
    const url = await serverOf(t, page)
    const { out, code } = await run([url, '--connect'])
    assert.equal(code, 1, name)
    assert.match(
      out,
      /: something answers that is not a database: .*\. Give the URL of the database as a Grafana/,
    )
    assert.match(out, /\nthe configuration is sound, but 1 of 1 database cannot be used\n$/)
    const typed = await run([url, '--connect', '--backends.main.type=druid'])
    assert.equal(typed.code, 1, name)
    assert.match(typed.out, /something answers that is not Druid/)
  }
})

test('--connect: a URL with the path of a page or an endpoint is refused with the one that is meant', async (t) => {
  const url = await serverOf(t, (path) => (path === '/p/api/v1/status/buildinfo' ? buildInfo : undefined))
  for (const path of ['/p/api/v1', '/p/api/v1/', '/p/graph', '/p/query', '/p/api/v1/query_range']) {
    const { out, code } = await run([`${url}${path}`, '--connect'])
    assert.equal(code, 1, path)
    assert.ok(out.includes(`. Use ${url}/p instead: that is Prometheus 3.5.0.\n`), `${path}: ${out}`)
  }
  assert.equal((await run([`${url}/p`, '--connect'])).code, 0)
})

test('--connect: an unknown server with the API is reported as forwarded, and is no failure', async (t) => {
  const url = await serverOf(t, (path) =>
    path.startsWith('/api/v1/query?') ? '{"status":"success"}' : undefined,
  )
  const { out, code } = await run([url, '--connect'])
  assert.equal(code, 0)
  assert.match(
    out,
    /: no build info \(status 404\); assuming Prometheus, by its port; requests are forwarded uncached\nok\n$/,
  )
})

test('the files that are named are looked for', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-files-'))
  t.after(() => rm(folder, { recursive: true }))
  const there = join(folder, 'there')
  await writeFile(there, 'x')
  const at = (name: string) => join(folder, name)
  const files = {
    'w.yaml': `backends:
  main:
    url: https://a:9090
    store: disk
    socket: ${there}
    tls: { ca: ${at('ca.pem')} }
    auth: { tokenFile: ${at('token')} }
tls: { cert: ${there}, key: ${folder} }
admin: { tokenFile: ${there} }
stores: { disk: { type: lmdb, path: ${there}/panes } }
`,
  }
  const { out, code, err } = await run(['--config', 'w.yaml'], { files })
  assert.deepEqual([code, err], [1, ''])
  assert.deepEqual(out.split('\n'), [
    `w.yaml:8:${21 + there.length}: tls.key: ${folder} is not a file`,
    `w.yaml:10:37: stores.disk.path: ${there} is not a folder`,
    `w.yaml:5:13: backends.main.socket: ${there} is not a socket`,
    `w.yaml:6:16: backends.main.tls.ca: there is no file ${at('ca.pem')}`,
    `w.yaml:7:24: backends.main.auth.tokenFile: there is no file ${at('token')}`,
    'the configuration is sound, but 5 of the files that it names cannot be used',
    '',
  ])
  const data = JSON.parse((await run(['--config', 'w.yaml', '--json'], { files })).out) as {
    ok: boolean
    problems: { path: string }[]
  }
  assert.deepEqual([data.ok, data.problems.length], [false, 5])
  const flag = await run(['http://a:9090', `--tls.cert=${at('c')}`, `--tls.key=${there}`])
  assert.equal(flag.out.split('\n')[0], `--tls.cert: there is no file ${at('c')}`)
  const folders = ['--backends.main.store=disk', `--stores.disk.url=lmdb:${at('new/panes')}`]
  assert.equal((await run(['http://a:9090', ...folders])).code, 0)
})

test('errors name the flag that was typed', async () => {
  const { err, code } = await run(['http://a', '--memory', 'lots', '--ttl-cap=never', '--limits.drain=soon'])
  assert.equal(code, 2)
  assert.match(err, /^--memory: expected a size/m)
  assert.match(err, /^--ttl-cap: expected a duration/m)
  assert.match(err, /^--limits\.drain: expected a duration/m)
  const small = await run(['http://a', '--memory', '32MiB'])
  assert.match(small.err, /^--memory: is less than limits\.maxAnswer, 64MiB: raise it, or lower that too$/m)
  const taken = await run(['http://a', '--listen', '127.0.0.1:9192'])
  assert.match(
    taken.err,
    /^--listen: 127\.0\.0\.1:9192 is the address of the admin listener: choose another, or/m,
  )
  const part = await run(['--backends.main={ url: "http://a", mod: on }'])
  assert.match(part.err, /^--backends\.main: backends\.main\.mod: unknown key/m)
  const url = await run(['prometheus.example.org'])
  assert.match(
    url.err,
    /^the URL given: expected the URL of a database.* did you mean "http:\/\/prometheus\.example\.org"/,
  )
  for (const short of ['prometheus:9090', '127.0.0.1:9090/prometheus', '[::1]:9090']) {
    const { code, out } = await run([short, '--print'])
    assert.equal(code, 0)
    assert.ok(out.includes(`http://${short}`), out)
  }
})

test('a file that is given as a URL, or is missing, is reported as a file', async () => {
  const there = await run(['w.yaml'], { files: good })
  assert.equal(there.code, 2)
  assert.match(there.err, /w\.yaml is a file, not the URL of a database; .* --config w\.yaml$/m)
  const missing = await run(['/etc/w.yaml'], { files: {} })
  assert.match(missing.err, /there is no file \/etc\/w\.yaml, and a database is named by its URL/)
})

test('unknown arguments are refused with the usage', async () => {
  assert.equal((await run(['--help'])).out, usageOf(check.words))
  assert.match((await run(['--config'])).err, /--config needs a value: --config FILE/)
  assert.match(
    (await run(['http://u:hunter2@a', 'http://b'])).err,
    /expected one URL, got http:\/\/a\/ http:\/\/b\//,
  )
  const missing = await run(['--config', 'nowhere.yaml'], { files: {} })
  assert.equal(missing.code, 2)
  assert.match(missing.err, /configuration: there is no file nowhere\.yaml/)
  const unknown = await run(['http://a', '--prnt'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.err, /--prnt: no key of the configuration has this flag/)
})
