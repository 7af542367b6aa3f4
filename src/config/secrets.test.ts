/** No secret is ever shown: not printed, not as JSON, not in a message, not in a frame. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { maskedLines } from './frame.ts'
import { describeProblem, type LoadOptions, loadConfig } from './load.ts'
import { leavesOf, printConfig } from './view.ts'

const secret = 'hunter2'

/** Every text that is ever shown about it. */
function shown(options: LoadOptions): string {
  const loaded = loadConfig(options)
  if ('problems' in loaded) return loaded.problems.map(describeProblem).join('\n') + JSON.stringify(loaded)
  const views = [printConfig(loaded), leavesOf(loaded), loaded.config, [...loaded.sources]]
  return views
    .map((view) => (typeof view === 'string' ? view : JSON.stringify(view) + inspect(view, { depth: 20 })))
    .join('\n')
}

const file = (text: string) => ({ file: { name: 'w.yaml', bytes: Buffer.from(text) } })

test('a secret from the environment can be used and not be seen', () => {
  const env = {
    WINDOWPANE_ADMIN_TOKEN: secret,
    WINDOWPANE_BACKENDS_MAIN_URL: 'http://a',
    WINDOWPANE_BACKENDS_MAIN_AUTH_USERNAME: 'u',
    WINDOWPANE_BACKENDS_MAIN_AUTH_PASSWORD: secret,
  }
  const loaded = loadConfig({ env })
  assert.ok('config' in loaded)
  assert.equal(loaded.config.admin.token!.reveal(), secret)
  assert.equal(loaded.config.backends['main']!.auth.password!.reveal(), secret)
  assert.ok(!shown({ env }).includes(secret))
  assert.match(shown({ env }), /# token: \*\*\* {2}# WINDOWPANE_ADMIN_TOKEN/)
  assert.ok(!`${loaded.config.admin.token}${String(loaded.config.admin.token)}`.includes(secret))
})

test('user and password of a URL on the command line move to where secrets are kept', () => {
  const upstream = `http://u%40x:${secret}%2F@a:9090/p`
  const loaded = loadConfig({ upstream })
  assert.ok('config' in loaded)
  const { url, auth } = loaded.config.backends['main']!
  assert.deepEqual(url, ['http://a:9090/p'])
  assert.equal(auth.username, 'u@x')
  assert.equal(auth.password!.reveal(), `${secret}/`)
  assert.ok(!shown({ upstream }).includes(secret))
})

test('a password without user, and one in the second URL only, are no exception', () => {
  for (const url of [`http://:${secret}@a`, `[http://a, "http://u:${secret}@b/x@y"]`]) {
    const env = { WINDOWPANE_BACKENDS_MAIN_URL: url }
    const loaded = loadConfig({ env })
    assert.ok('config' in loaded)
    assert.equal(loaded.config.backends['main']!.auth.password!.reveal(), secret)
    assert.ok(!shown({ env }).includes(secret))
  }
})

test('explicit credentials take precedence over those of a URL', () => {
  const env = {
    WINDOWPANE_BACKENDS_MAIN_URL: `http://u:${secret}@a`,
    WINDOWPANE_BACKENDS_MAIN_AUTH_TOKEN_FILE: 't',
  }
  const loaded = loadConfig({ env })
  assert.ok('config' in loaded)
  assert.equal(loaded.config.backends['main']!.auth.password, undefined)
  assert.deepEqual(loaded.config.backends['main']!.url, ['http://a'])
})

const backend = (rest: string) => `backends:\n  main:\n    url: http://a\n${rest}`

for (const [name, text] of [
  ['in its place', `admin:\n  token: ${secret}\n`],
  ['in brackets', `admin: { token: ${secret}, listen: 1 }\n`],
  ['as JSON', `{"admin":{"token":"${secret}","listen":1}}\n`],
  ['in quotes', `admin:\n  listen: 1\n  "token": '${secret}'\n`],
  ['as a block', `admin:\n  token: |\n    ${secret}\n  listen: 1\n`],
  ['folded', `admin:\n  token: >-\n\n    a\n    ${secret}\n  listen: 1\n`],
  ['on the next line', `admin:\n  token:\n    ${secret}\n  listen: 1\n`],
  ['on the next line in brackets', `admin: { token:\n ${secret}, listen: 1 }\n`],
  ['as a question', `admin:\n  ? token\n  : ${secret}\n  listen: 1\n`],
  ['as a list', `admin:\n  token:\n    - ${secret}\n    - b\n  listen: 1\n`],
  ['as a map', `admin:\n  token: { ${secret}: 1 }\n`],
  ['under a misspelt key', backend(`    auth:\n      pasword: ${secret}\n      usrname: u\n`)],
  [
    'under a key of another program',
    backend(`    auth:\n      bearer_token: ${secret}\n      api-key: ${secret}\n`),
  ],
  ['beside another mistake', backend(`    auth:\n      password: ${secret}\n      usernam: u\n`)],
  ['in a URL', `backends:\n  main:\n    url: http://u:${secret}@a\n    mode: x\n`],
  ['in a broken URL', `backends:\n  main:\n    url: "htp://u:${secret}@a b"\n    mode: x\n`],
  ['in a header', `rules:\n  - match: { headers: [{ name: Authorization, equals: "Bearer ${secret}" }] }\n`],
  [
    'in a URL beside another secret',
    `backends: { main: { url: "http://u:${secret}@a", token: x, mode: y } }\n`,
  ],
  [
    'in a URL behind another secret',
    `backends: { main: { token: x, url: "http://u:${secret}@a", mode: y } }\n`,
  ],
  ['in a URL that is escaped', `backends: { main: { url: "http:\\/\\/u:${secret}\\x40a", mode: y } }\n`],
  ['in a URL without a scheme', `backends: { main: { url: "u:${secret}@a", mode: y } }\n`],
  ['in a URL with a slash', `backends: { main: { url: "http://u:x/${secret}@a", mode: y } }\n`],
  ['in a file that is no YAML', `admin:\n  token: ${secret}\n\tlisten: 1\n`],
] as const) {
  test(`a secret in the file is not shown: ${name}`, () =>
    assert.ok(!shown(file(text)).includes(secret), shown(file(text))))
}

test('a secret in a flag or a misspelt variable is refused without being shown', () => {
  const options = {
    ...file('backends: { main: { url: http://a } }'),
    flags: [
      { name: 'admin.token', value: secret },
      { name: 'admin.tokn', value: secret },
      { name: 'backends.main.url', value: `http://u:${secret}@a` },
    ],
    env: { WINDOWPANE_ADMIN_TOKN: secret, WINDOWPANE_ADMIN: `{ token: ${secret}, x: [` },
  }
  const text = shown(options)
  assert.ok(!text.includes(secret), text)
  assert.match(text, /--admin\.token: a secret does not belong here/)
  assert.match(text, /--backends\.main\.url: a URL here must not hold/)
})

test('a masked line is never longer than its line, and other lines stay as they are', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a: 1', '  tokenFile: x', 'b:', '  - c', '', '# d')), (lines) => {
      assert.deepEqual(maskedLines(lines.join('\n')), lines.length === 0 ? [''] : lines)
    }),
  )
})

test('the password of a URL is not shown, whatever else its line has', () => {
  const password = fc
    .array(fc.constantFrom(...'aZ0-_.~!$&()*+,;=:%?#/@ []{}'), { maxLength: 8 })
    .map((characters) => `Kn0x${characters.join('')}Vw7q`)
  const other = fc.constantFrom(
    '',
    'token: x',
    'token: "a@b"',
    'password: http://h',
    '"secret": y',
    'url: http://h',
  )
  const line = fc.tuple(other, password, other, fc.constantFrom('{ ', '- ', '', '  # '))
  fc.assert(
    fc.property(line, ([before, given, behind, start]) => {
      const text = `${start}${before === '' ? '' : `${before}, `}url: http://u:${given}@h:1/x, ${behind}`
      const [masked = ''] = maskedLines(text)
      assert.ok(!/Kn0x|Vw7q/.test(masked), masked)
    }),
    { numRuns: 2_000 },
  )
})
