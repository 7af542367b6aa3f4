import assert from 'node:assert/strict'
import test from 'node:test'
import { type Arguments, readArguments, usage } from './arguments.ts'

const url = 'http://prometheus:9090'
const read = (...flags: string[]): Arguments => {
  const parsed = readArguments([url, ...flags])
  assert.ok('upstream' in parsed, JSON.stringify(parsed))
  return parsed
}
const mistakes = (...argv: string[]): string[] => {
  const parsed = readArguments(argv)
  assert.ok('mistakes' in parsed, JSON.stringify(parsed))
  return parsed.mistakes
}

test('a URL is enough; the defaults are those of the usage text', () => {
  assert.deepEqual(read(), {
    upstream: url,
    listen: '127.0.0.1:9191',
    floorMs: 5_000,
    doublingMs: 60_000,
    capMs: 3_600_000,
    maxStaleMs: 900_000,
    memoryBytes: 512 * 2 ** 20,
    identity: 'separate',
  })
})

test('every flag is read', () => {
  const flags = ['--listen', '[::]:80', '--ttl-floor', '1s', '--ttl-doubling', '2m', '--ttl-cap', '3h']
  assert.deepEqual(read(...flags, '--max-stale', '1d', '--memory=2GiB', '--identity', 'shared'), {
    upstream: url,
    listen: '[::]:80',
    floorMs: 1_000,
    doublingMs: 120_000,
    capMs: 10_800_000,
    maxStaleMs: 86_400_000,
    memoryBytes: 2 ** 31,
    identity: 'shared',
  })
})

test('every flag that is read stands in the usage text', () => {
  for (const flag of ['listen', 'ttl-floor', 'ttl-doubling', 'ttl-cap', 'max-stale', 'memory', 'identity']) {
    assert.ok(usage.includes(`--${flag} `), flag)
  }
})

for (const [text, ms] of [
  ['500ms', 500],
  ['1.5s', 1500],
  ['15m', 900_000],
  ['1h', 3_600_000],
] as const) {
  test(`a duration of ${text}`, () => assert.equal(read('--ttl-floor', text, '--ttl-cap', '1d').floorMs, ms))
}

for (const [text, bytes] of [
  ['16777216', 2 ** 24],
  ['64MB', 64e6],
  ['64mib', 2 ** 26],
  ['1.5GiB', 1.5 * 2 ** 30],
  ['1g', 1e9],
] as const) {
  test(`a size of ${text}`, () => assert.equal(read('--memory', text).memoryBytes, bytes))
}

test('all mistakes are told at once, each with its value and what is expected', () => {
  const told = mistakes(
    ...['ftp://somewhere', 'more', '--listen', 'nowhere', '--ttl-floor', '5', '--ttl-doubling', '0s'],
    ...['--ttl-cap=-1s', '--max-stale', 'x', '--memory', '1MiB', '--identity', 'none'],
  )
  const values = [
    'nowhere',
    '--ttl-floor 5',
    '0s',
    '--max-stale x',
    '1MiB',
    'none',
    'ftp://somewhere',
    'more',
  ]
  for (const value of values) {
    assert.ok(
      told.some((text) => text.includes(value)),
      `${value} in ${told.join('\n')}`,
    )
  }
})

for (const [flag, text] of [
  ['--listen', '127.0.0.1:65536'],
  ['--listen', '127.0.0.1'],
  ['--listen', ''],
  ['--memory', '15MiB'],
  ['--memory', '1TiB'],
  ['--ttl-cap', '1 h'],
  ['--ttl-cap', '1w'],
  ['--identity', 'SHARED'],
] as const) {
  test(`${flag} "${text}" is a mistake`, () => {
    assert.deepEqual(mistakes(url, `${flag}=${text}`).length, 1)
    assert.ok(mistakes(url, `${flag}=${text}`)[0]!.startsWith(`${flag} ${text}: expected `))
  })
}

test('a floor above the cap is a mistake', () => {
  assert.deepEqual(mistakes(url, '--ttl-floor', '2h'), ['--ttl-floor is longer than --ttl-cap'])
})

test('no URL, an unknown flag and a flag without its value are mistakes', () => {
  assert.match(mistakes()[0]!, /the URL of the database is missing/)
  assert.match(mistakes(url, '--nope')[0]!, /--nope/)
  assert.match(mistakes(url, '--memory')[0]!, /--memory/)
})

test('mistakes do not show credentials', () => {
  for (const argv of [
    ['ftp://user:secret@h'],
    ['user:secret@h'],
    [url, 'http://user:secret@h'],
    ['//user:se/cret@h'],
  ]) {
    assert.doesNotMatch(mistakes(...argv).join(), /se\/?cret/)
  }
})

test('help and version go before everything else', () => {
  assert.deepEqual(readArguments(['--help', '--memory', 'x']), { help: true })
  assert.deepEqual(readArguments(['-h']), { help: true })
  assert.deepEqual(readArguments(['-v']), { version: true })
})
