import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { diffConfig } from './diff.ts'
import { loadConfig } from './load.ts'
import type { Config } from './schema.ts'

const everything = readFileSync(join(import.meta.dirname, 'fixtures/everything.yaml'), 'utf8')

function config(text: string, env: Record<string, string> = {}): Config {
  const loaded = loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(text) }, env })
  assert.ok('config' in loaded)
  return loaded.config
}

const changes = (after: string): string[] =>
  diffConfig(config(everything), config(after)).map(
    ({ path, kind, before, after: now, apply }) => `${path} ${kind} ${before} ${now} ${apply}`,
  )

test('the same configuration differs in nothing, however it is written', () => {
  assert.deepEqual(changes(everything.replace('1h30m', '90m').replace('2GiB', '2048MiB')), [])
})

for (const [name, from, to, expected] of [
  [
    'a limit',
    '1h30m',
    '1h',
    [
      'limits.maxStale changed 1h30m 1h live',
      'backends.main.maxStale changed 1h30m 1h live',
      'backends.local.maxStale changed 1h30m 1h live',
      'backends.events.maxStale changed 1h30m 1h live',
    ],
  ],
  ['memory', '2GiB', '3GiB', ['limits.memory changed 2GiB 3GiB restart']],
  ['the address', '0.0.0.0:9191', '0.0.0.0:80', ['listen changed 0.0.0.0:9191 0.0.0.0:80 restart']],
  ['a kind of database', 'type: druid', 'type: auto', ['backends.events.type changed druid auto reopen']],
  ['a mode', 'mode: off', 'mode: on', ['backends.eu-west.mode changed off on live']],
  [
    'a second URL',
    'url: http://prometheus:9090',
    'url: [http://prometheus:9090, http://b]',
    ['backends.main.url.1 added null null reopen'],
  ],
  [
    'a kind of policy',
    'exact: { type: fixed, ttl: 1s }',
    'exact: { type: linear }',
    ['policies.exact.type changed fixed linear live'],
  ],
  [
    'a step',
    '{ age: 1h, ttl: 1h }',
    '{ age: 2h, ttl: 1h }',
    ['policies.written.steps.1.age changed 1h 2h live'],
  ],
  [
    'a pattern',
    "'^sum by",
    "'^max by",
    ['rules.1.match.query.regex changed ^sum by \\(job\\) ^max by \\(job\\) live'],
  ],
  ['a store', 'size: 20GB', 'size: 30GB', ['stores.disk.size changed 20GB 30GB restart']],
  ['the log level', 'logLevel: debug', 'logLevel: warn', ['telemetry.logLevel changed debug warn live']],
  [
    'the share of traces',
    'sampleRatio: 0.05',
    'sampleRatio: 1',
    ['telemetry.traces.sampleRatio changed 0.05 1 live'],
  ],
  [
    'the collector',
    'collector:4318',
    'other:4318',
    ['telemetry.traces.endpoint changed http://collector:4318 http://other:4318 restart'],
  ],
  ['a new store', '  disk:', '  more: {}\n  disk:', ['stores.more added null null live']],
  [
    'a name of a rule',
    '  - name: alerts are exact\n    match',
    '  - match',
    ['rules.0.name changed alerts are exact null live'],
  ],
] as const) {
  test(`a change of ${name}`, () => {
    assert.ok(everything.includes(from))
    assert.deepEqual(changes(everything.replace(from, to)), expected)
  })
}

test('a backend that is gone, and one that is new', () => {
  const [before, after] = ['a', 'b'].map((name) => config(`backends: { ${name}: { url: http://a } }`))
  assert.deepEqual(
    diffConfig(before!, after!).map(({ path, kind }) => [path, kind]),
    [
      ['backends.a', 'removed'],
      ['backends.b', 'added'],
    ],
  )
})

test('a secret that changed is reported, and not shown', () => {
  const text = 'backends: { main: { url: http://a } }'
  const [before, same, after] = ['one', 'one', 'two'].map((token) =>
    config(text, { WINDOWPANE_ADMIN_TOKEN: token }),
  )
  assert.deepEqual(diffConfig(before!, same!), [])
  assert.deepEqual(diffConfig(before!, after!), [
    { path: 'admin.token', kind: 'changed', before: '***', after: '***', apply: 'restart' },
  ])
})
