/** Every key of the definition: documented, in the schema, and settable by file, environment and flag. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import type { Key, Plain } from './definition.ts'
import { splitArguments } from './flags.ts'
import { describeProblem, type LoadedConfig, type LoadOptions, loadConfig } from './load.ts'
import { environmentName, flagName, type Row, rowsOf } from './names.ts'
import { definition } from './schema.ts'
import { leavesOf } from './view.ts'

const rows = rowsOf(definition)
const idOf = ({ path, of }: Row): string => (of.length === 0 ? path : `${path} (${of.join(', ')})`)

/** A value that no key has by default. */
function sample(path: string, { type }: Key): string {
  if (type.kind === 'list') return sample(path, { type: type.item } as Key)
  assert.equal(type.kind, 'scalar')
  if (type.kind !== 'scalar') return ''
  if (type.choices !== undefined) return type.choices.at(-1)!
  const samples: Record<string, string> = {
    duration: '59s',
    percentage: '0.7%',
    size: path.endsWith('maxHeader') ? '2MiB' : '128MiB',
    number: /slope$|Ratio$/.test(path) ? '0.75' : '77',
    'number or `auto`': '7',
    'true or false': path.endsWith('enabled') ? 'false' : 'true',
    'host:port': '127.0.0.1:7777',
    host: 'metrics.example.org',
    path: '/prometheus',
    URL: 'http://other:9090',
    'URL of a store': 'memory:',
    'header name': 'X-Other',
    'time zone': 'Europe/Berlin',
    'name of a policy': 'p',
    'name of a store': 's',
    'name of a backend': 'other',
    hosts: 'h1:9042,h2',
    keyspace: 'panes_eu',
    replication: 'dc1:3,dc2:2',
    '`identity`, `address` or `header:NAME`': 'header:X-Other',
  }
  return samples[type.label] ?? 'some-text'
}

/** The other keys that a key needs, by the end of its path. */
const companions: readonly [RegExp, Readonly<Record<string, string>>][] = [
  [/\.cert$/, { key: 'k' }],
  [/objects\.paths\.\d+\.(?!path$)/, { path: '/p' }],
  [/\.key$/, { cert: 'c' }],
  [/^quotas\..*\.name$/, { capacity: '5' }],
  [/^quotas\..*\.capacity$/, { name: 'requests' }],
  [/^quotas\..*\.(refill|every)$/, { name: 'requests', capacity: '5' }],
  [/auth\.username$/, { passwordFile: 'p' }],
  [/auth\.password(File)?$/, { username: 'u' }],
  [/^stores\..*\.username$/, { passwordFile: 'p' }],
  [/^stores\..*\.password(File)?$/, { username: 'u' }],
  [/^stores\..*\.cert$/, { key: 'k' }],
  [/^stores\..*\.key$/, { cert: 'c' }],
  [/identityHeaders$/, { identity: 'headers' }],
  [/headersFile$/, { endpoint: 'http://c' }],
]

const named: Readonly<Record<string, string>> = {
  policies: 'p',
  stores: 's',
  backends: 'main',
  quotas: 'main',
}
const required: Readonly<Record<string, string>> = {
  fixed: ', ttl: 5s',
  rate: ', changesEvery: 5d',
  steps: ', steps: [{ age: 1m, ttl: 1m }]',
  lmdb: ', path: x',
  redis: ', hosts: h',
  cassandra: ', hosts: h',
  dynamodb: ', table: panes',
}

const pathOf = ({ path }: Row): string =>
  path.replace('<name>', named[path.split('.')[0]!] ?? '').replaceAll('<n>', '0')

function baseFile({ path, of }: Row): string {
  const kind = (section: string, usual: string) => (path.startsWith(section) ? (of[0] ?? usual) : usual)
  const [policy, store] = [kind('policies', 'ladder'), kind('stores', 'memory')]
  return `backends: { main: { url: http://a, route: { path: /a } }, other: { url: http://b } }
policies: { p: { type: ${policy}${required[policy] ?? ''} } }
stores: { s: { type: ${store}${required[store] ?? ''} } }
rules: [{ match: { backend: main, headers: [{ name: X }] }, bypass: true }]
`
}

function load(options: LoadOptions): LoadedConfig {
  const loaded = loadConfig(options)
  if ('problems' in loaded) assert.fail(loaded.problems.map(describeProblem).join('\n'))
  return loaded
}

/** Sets the key and its companions through `set`, and returns the value in force. */
function outcome(
  row: Row,
  give: (values: [path: string, text: string][]) => LoadOptions,
): [Plain | null, string] {
  const path = pathOf(row)
  const parent = path.slice(0, path.lastIndexOf('.') + 1)
  const beside = companions
    .filter(([ending]) => ending.test(path))
    .flatMap(([, keys]) => Object.entries(keys))
  const values = [[path, valueFor(row)], ...beside.map(([name, text]) => [parent + name, text])] as [
    string,
    string,
  ][]
  const loaded = load({ file: { name: 'w.yaml', bytes: Buffer.from(baseFile(row)) }, ...give(values) })
  const at = row.key.type.kind === 'list' ? `${path}.0` : path
  const leaf = leavesOf(loaded).find((one) => one.path === at)!
  return [leaf.value, leaf.source]
}

/** The kind of a store cannot become one that needs a path: a base file has one kind only. */
const valueFor = (row: Row): string => {
  if (row.path === 'policies.<name>.type') return 'linear'
  return row.path === 'stores.<name>.type' ? 'memory' : sample(row.path, row.key)
}

for (const row of rows) {
  const { key } = row
  const path = pathOf(row)
  const text = valueFor(row)
  test(`${idOf(row)} is set by the environment`, () => {
    const [value, source] = outcome(row, (values) => ({
      env: Object.fromEntries(values.map(([at, one]) => [environmentName(at), one])),
    }))
    assert.equal(String(value), key.isSecret ? '***' : text)
    assert.equal(source, environmentName(path))
  })
  if (key.isSecret) continue
  test(`${idOf(row)} is set by a flag`, () => {
    const [value, source] = outcome(row, (values) => {
      return splitArguments(
        values.flatMap(([at, one]) => [flagName(at), one]),
        {},
      )
    })
    assert.equal(String(value), text)
    assert.equal(source, flagName(path))
  })
}

test('every key is documented, with its variable and its flag', async () => {
  const page = await readFile('docs/reference/configuration.md', 'utf8')
  for (const row of rows) {
    assert.ok(page.includes(`| \`${row.path}\` |`), row.path)
    assert.ok(row.key.meaning.length > 0, row.path)
  }
  assert.ok(page.includes('`WINDOWPANE_BACKENDS_<NAME>_MAX_STALE` `--backends.<name>.max-stale`'))
})

test('no two keys share a variable or a flag', () => {
  const paths = [...new Set(rows.map((row) => row.path))]
  assert.equal(new Set(paths.map(environmentName)).size, paths.length)
  assert.equal(new Set(paths.map(flagName)).size, paths.length)
})

test('a command line is split into the flags of the command and the keys of the configuration', () => {
  const argv = [
    'http://a',
    '--config',
    'f',
    '--print',
    '--admin.allow-writes',
    'x',
    '--listen=:1',
    '--limits.drain',
    '5s',
  ]
  assert.deepEqual(splitArguments(argv, { config: 'value', print: 'switch' }), {
    own: new Map([
      ['config', 'f'],
      ['print', ''],
    ]),
    flags: [
      { name: 'admin.allow-writes', value: undefined },
      { name: 'listen', value: ':1' },
      { name: 'limits.drain', value: '5s' },
    ],
    positionals: ['http://a', 'x'],
  })
})

test('a key in a section that needs a restart needs one, and its description states it', () => {
  const needsRestart = (path: string) => rows.find((row) => row.path === path)?.needsRestart
  for (const path of [
    'listen',
    'tls.cert',
    'limits.patience.slow',
    'stores.<name>.type',
    'admin.allowWrites',
    'telemetry.traces.endpoint',
  ]) {
    assert.equal(needsRestart(path), true, path)
  }
  for (const path of [
    'limits.maxStale',
    'backends.<name>.mode',
    'backends.<name>.auth.tokenFile',
    'rules.<n>.mode',
    'telemetry.logLevel',
  ]) {
    assert.equal(needsRestart(path), false, path)
  }
})
