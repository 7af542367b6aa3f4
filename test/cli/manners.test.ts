/** Help, unknown words, exit codes: the common behaviour of all commands. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { usageOf } from '../../src/cli/command.ts'
import { allWords, helpOf } from '../../src/cli/commands.ts'
import { freePort } from '../servers/ports.ts'
import { runToEnd } from './child.ts'
import { refusal, startFakeAdmin, talkingTo } from './fake-admin.ts'

const escapeCode = '\u001b'

function assertFits(text: string, rows = Number.POSITIVE_INFINITY): void {
  const lines = text.trimEnd().split('\n')
  assert.ok(lines.length <= rows, `${lines.length} lines`)
  for (const line of lines) assert.ok(line.length <= 80, `${line.length} columns: ${line}`)
}

test('the main help fits a terminal of 80 by 24, names every command, and is shown without arguments', async (t) => {
  const cwd = await folder(t)
  for (const argv of [['--help'], ['-h'], ['help'], []]) {
    const { code, out, err } = await runToEnd(t, argv, { cwd })
    assert.deepEqual([code, err], [0, ''])
    assertFits(out, 24)
    for (const { name } of allWords) assert.match(out, new RegExp(`^(?: {2}|More: .*)\\b${name}\\b`, 'm'))
    assert.match(out, /windowpane demo /)
    assert.ok(!out.includes(escapeCode))
  }
})

test('every command explains itself, in 80 columns, with its flags', () => {
  for (const words of allWords) {
    const usage = usageOf(words)
    assertFits(usage)
    assert.match(usage, new RegExp(`^Usage: windowpane ${words.name}`))
    for (const { name, env, key } of words.flags) {
      for (const part of [`--${name}`, env ?? '', key ?? '']) assert.ok(usage.includes(part), part)
    }
  }
})

test('the help of a command can be requested in either way', async (t) => {
  await Promise.all(
    ['serve', 'check', 'demo', 'purge'].map(async (name) => {
      for (const argv of [
        ['help', name],
        [name, '--help'],
      ]) {
        assert.deepEqual(await runToEnd(t, argv), { code: 0, out: helpOf(name), err: '' })
      }
    }),
  )
})

test('an unknown command is reported with the nearest one, an unknown flag too', async (t) => {
  for (const [argv, said] of [
    [['explian', 'up'], /no command "explian"; did you mean "windowpane explain"\?/],
    [['prometheus'], /no command "prometheus"\nA database is named by its URL/],
    [['help', 'pruge'], /did you mean "windowpane purge"/],
    [['top', '--bye', 'asked'], /there is no flag --bye; did you mean --by\?\nwindowpane top --help/],
    [['purge', '--backend'], /--backend needs a value/],
    [['explain'], /a query is missing/],
    [['mode', 'main', 'sometimes'], /mode "sometimes" is none of off, shadow, on/],
    [['shadow', 'repord'], /expected report, or show/],
    [['top', '--by', 'size'], /--by size is none of/],
    [['tail', '--min-ms', 'soon'], /--min-ms soon: expected a number of milliseconds/],
    [['purge', '--all', '--from', 'soon'], /--from soon: expected RFC 3339/],
    [['tail', '--admin', 'not an address'], /is no address of an admin listener/],
    [['top', '--admin', 'ftp://user:hunter2@h:1'], /"ftp:\/\/h:1\/" is no address of an admin listener/],
  ] as const) {
    const { code, out, err } = await runToEnd(t, argv)
    assert.deepEqual([code, out], [2, ''], argv.join(' '))
    assert.match(err, said)
  }
})

const asking = [
  ['explain', 'up'],
  ['top'],
  ['tail'],
  ['purge', '--all', '--yes'],
  ['shadow', 'report'],
  ['mode', 'main', 'on'],
]

test('no admin listener: a sentence, a remedy, 3', async (t) => {
  const admin = `http://127.0.0.1:${await freePort()}`
  for (const argv of asking) {
    const { code, out, err } = await runToEnd(t, [...argv, '--admin', admin])
    assert.deepEqual([code, out], [3, ''], argv.join(' '))
    assert.match(
      err,
      /^windowpane: no admin listener answers at http:[^\n]*ECONNREFUSED[^\n]*\nStart the proxy, or name/,
    )
  }
})

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'windowpane-cli-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

test('the admin listener is found by flag, environment and configuration, and the token with it', async (t) => {
  const admin = await startFakeAdmin(t, { '/-/mode': { backend: 'main', mode: 'on', was: 'off' } })
  const place = await folder(t)
  const [tokenFile, config] = [join(place, 'token'), join(place, 'windowpane.yaml')]
  await writeFile(tokenFile, 's3cret\n')
  const listen = admin.url.replace('http://', '')
  await writeFile(
    config,
    `backends: { main: { url: "http://a" } }\nadmin: { listen: "${listen}", tokenFile: ${tokenFile} }\n`,
  )
  const mode = ['mode', 'main', 'on']
  for (const [argv, env, token] of [
    [['--admin', admin.url], {}, undefined],
    [['--admin', listen, '--token-file', tokenFile], {}, 's3cret'],
    [[], { WINDOWPANE_ADMIN: admin.url, WINDOWPANE_ADMIN_TOKEN: 'of the environment' }, 'of the environment'],
    [[], { WINDOWPANE_ADMIN_LISTEN: listen }, undefined],
    [['--config', config], {}, 's3cret'],
    [[], { WINDOWPANE_CONFIG: config }, 's3cret'],
    [['--admin', `${admin.url}/-/`], { WINDOWPANE_ADMIN: 'http://nowhere' }, undefined],
  ] as const) {
    const { code, err } = await runToEnd(t, [...mode, ...argv], { env })
    assert.deepEqual([code, err], [0, talkingTo(admin)])
    assert.deepEqual(admin.asked.at(-1), {
      method: 'POST',
      target: '/-/mode',
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      body: '{"backend":"main","mode":"on"}',
    })
  }
  const unread = await runToEnd(t, [...mode, '--admin', listen, '--token-file', join(place, 'none')])
  assert.equal(unread.code, 2)
  assert.match(unread.err, /the token cannot be read: there is no file \S+none\n/)
  await writeFile(tokenFile, '\r\n')
  const empty = await runToEnd(t, [...mode, '--admin', listen, '--token-file', tokenFile])
  assert.equal(empty.code, 2)
  assert.match(empty.err, /the token cannot be read: \S+token is empty\nName a file/)
  await writeFile(config, 'backends: { main: { url: "http://a" } }\nadmin: { listen: "127.0.0.1:0" }\n')
  assert.match(
    (await runToEnd(t, [...mode, '--config', config])).err,
    /takes any free port[^\n]*\nName the address/,
  )
  await writeFile(config, 'backends: { main: { url: "http://a" } }\nadmin: { enabled: false }\n')
  const none = await runToEnd(t, [...mode, '--config', config])
  assert.deepEqual(
    [none.code, none.err],
    [3, 'windowpane: the proxy has no admin listener\nSet admin.enabled: true.\n'],
  )
  await writeFile(config, 'backend: {}\n')
  const broken = await runToEnd(t, [...mode, '--config', config])
  assert.equal(broken.code, 2)
  assert.match(broken.err, /did you mean "backends"/)
})

test('WINDOWPANE_ADMIN with an address does not get in the way of the configuration', async (t) => {
  const { code } = await runToEnd(t, ['check', 'http://a:9090'], {
    env: { WINDOWPANE_ADMIN: 'http://b:9192' },
  })
  assert.equal(code, 0)
  const map = await runToEnd(t, ['check', 'http://a:9090', '--json'], {
    env: { WINDOWPANE_ADMIN: '{ listen: ":7" }' },
  })
  assert.match(map.out, /":7"/)
})

test('a refusal of the listener is reported with its remedy and a code', async (t) => {
  for (const [answer, code, said] of [
    [
      refusal(401, 'a bearer token is needed'),
      3,
      /a bearer token is needed\nName its file with --token-file/,
    ],
    [
      refusal(403, 'this listener is read-only; admin.allowWrites changes that'),
      1,
      /read-only.*\nSet admin.allowWrites/,
    ],
    [refusal(400, 'there is no backend "main"; there are: eu'), 2, /there is no backend "main"/],
    [refusal(500, 'internal error'), 1, /status 500: internal error/],
    [undefined, 1, /there is nothing here\nIs it another version/],
    [refusal(200, 'hello'), 3, /the server there is no Windowpane/],
  ] as const) {
    const admin = await startFakeAdmin(t, { '/-/mode': answer })
    const ended = await runToEnd(t, ['mode', 'main', 'on', '--admin', admin.url])
    assert.equal(ended.code, code)
    assert.match(ended.err, said)
    assert.equal(ended.out, '')
  }
})
