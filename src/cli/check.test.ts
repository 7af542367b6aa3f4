import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { loadConfig } from '../config/load.ts'
import type { Connector } from '../config/probe.ts'
import { type CheckIo, check, checkWords } from './check.ts'
import { usageOf } from './command.ts'

interface Given {
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly connect?: Connector
}

async function run(argv: readonly string[], { files, env = {}, connect }: Given = {}) {
  const said = { out: '', err: '', code: 0 }
  const io: CheckIo = {
    env,
    out: (text) => {
      said.out += text
    },
    err: (text) => {
      said.err += text
    },
    ...(files === undefined ? {} : { readFile: async (path: string) => fileIn(files, path) }),
    ...(connect === undefined ? {} : { connect }),
  }
  said.code = await check(argv, io)
  return said
}

function fileIn(files: Readonly<Record<string, string>>, path: string): Buffer {
  const text = files[path]
  if (text === undefined) throw new Error('ENOENT: no such file')
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

test('all problems are told at once, on stderr, each with its frame', async () => {
  const { out, err, code } = await run(['--config=w.yaml', '--listen=x'], { files: bad })
  assert.equal(code, 2)
  assert.equal(out, '')
  assert.equal(
    err,
    `--listen: listen: expected host:port, such as 127.0.0.1:9191 or [::]:9191, got "x"

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

test('--connect says what each database is, and fails if one does not answer', async () => {
  const connect: Connector = async (_, url) => {
    if (url.includes('b')) throw new Error('connect ECONNREFUSED')
    return 'Prometheus 3.5.0'
  }
  const one = await run(['http://a:9090', '--connect'], { connect })
  assert.deepEqual(one, { out: 'main http://a:9090: Prometheus 3.5.0\nok\n', err: '', code: 0 })
  const two = await run(['--connect', '--backends.main.url=[http://a, http://b]'], { connect })
  assert.equal(two.code, 1)
  assert.match(
    two.out,
    /main http:\/\/b: no connection: connect ECONNREFUSED\nthe configuration can be used; 1 of 2 databases does not answer\n$/,
  )
  const data = await run(['--connect', '--json', '--backends.main.url=http://b'], { connect })
  assert.equal(data.code, 1)
  assert.equal((JSON.parse(data.out) as { ok: boolean }).ok, false)
  assert.deepEqual((JSON.parse(data.out) as { connections: unknown }).connections, [
    { backend: 'main', url: 'http://b', ok: false, found: 'connect ECONNREFUSED' },
  ])
})

test('--connect asks over the network with the credentials that are configured', async (t) => {
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
    out: `main ${url}: no connection: refuses the credentials (status 401)\nthe configuration can be used; 1 of 1 database does not answer\n`,
    err: '',
    code: 1,
  })
  assert.equal((await run(['http://127.0.0.1:1', '--connect'])).code, 1)
})

test('what cannot be understood is refused with the usage', async () => {
  assert.equal((await run(['--help'])).out, usageOf(checkWords))
  assert.match((await run(['--config'])).err, /--config needs the name of a file/)
  assert.match(
    (await run(['http://u:hunter2@a', 'http://b'])).err,
    /expected one URL, got http:\/\/a\/ http:\/\/b\//,
  )
  const missing = await run(['--config', 'nowhere.yaml'], { files: {} })
  assert.equal(missing.code, 2)
  assert.match(missing.err, /nowhere.yaml: cannot be read: ENOENT/)
  const unknown = await run(['http://a', '--prnt'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.err, /--prnt: no key of the configuration has this flag/)
})
