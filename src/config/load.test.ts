import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import fc from 'fast-check'
import { defaultLimits } from '../proxy/limits.ts'
import { describeProblem, type LoadedConfig, type LoadOptions, loadConfig } from './load.ts'
import { policyOf } from './policy-types.ts'
import { leavesOf, printConfig } from './view.ts'

const everything = readFileSync(join(import.meta.dirname, 'fixtures/everything.yaml'))
const minimal = Buffer.from('backends: { main: { url: http://a:9090 } }\n')

function load(options: LoadOptions): LoadedConfig {
  const loaded = loadConfig(options)
  if ('problems' in loaded) assert.fail(loaded.problems.map(describeProblem).join('\n'))
  return loaded
}

const file = (bytes: Uint8Array | string) => ({ file: { name: 'w.yaml', bytes: Buffer.from(bytes) } })

const problemsOf = (options: LoadOptions): string[] => {
  const loaded = loadConfig(options)
  assert.ok('problems' in loaded)
  return loaded.problems.map((problem) => describeProblem(problem).split('\n')[0]!)
}

test('a URL is enough; everything else has the defaults of the code', () => {
  const { config } = load({ upstream: 'http://a:9090' })
  assert.deepEqual(config.limits, defaultLimits)
  assert.deepEqual(Object.keys(config.backends), ['main'])
  assert.deepEqual(config.backends['main']!.url, ['http://a:9090'])
  assert.equal(config.backends['main']!.maxStaleMs, defaultLimits.maxStaleMs)
  assert.equal(config.listen, '127.0.0.1:9191')
  assert.equal(policyOf(config.policies['default']!).ttl(180_000), 20_000)
})

test('every section is read, in human units', () => {
  const { config } = load(file(everything))
  assert.equal(config.limits.memoryBytes, 2 ** 31)
  assert.equal(config.limits.maxAnswerBytes, 128e6)
  assert.equal(config.limits.maxStaleMs, 5_400_000)
  assert.deepEqual(config.limits.patienceMs, { slow: 20_000, down: 1_000 })
  const { main, 'eu-west': west, local } = config.backends
  assert.equal(main!.maxStaleMs, 5_400_000)
  assert.equal(west!.maxStaleMs, 0)
  assert.equal(west!.mode, 'off')
  assert.equal(west!.url.length, 2)
  assert.equal(local!.socket, '/run/prometheus.sock')
  assert.ok(config.rules[1]!.match.query.regex!.test('sum by (job) (up)'))
  assert.deepEqual(config.stores['disk'], {
    type: 'lmdb',
    url: undefined,
    path: '/var/lib/windowpane',
    sizeBytes: 20e9,
    reserveBytes: 0,
    timeoutMs: 250,
  })
})

test('every configured policy becomes one', () => {
  const { config } = load(file(everything))
  const caps = Object.entries(config.policies).map(([name, policy]) => [name, policyOf(policy).capMs])
  assert.deepEqual(Object.fromEntries(caps), {
    default: 7_200_000,
    smooth: 3_600_000,
    late: 86_400_000,
    careful: 3_600_000,
    written: 3_600_000,
    exact: 1_000,
    weekly: 92_688_080,
    kept: 43_200_000,
    implied: 86_400_000,
  })
})

test('a policy with a staleness and without a type learns, also by one flag', () => {
  const flags = [{ name: 'policies.default.staleness', typed: 'staleness', value: '2.5%' }]
  const loaded = load({ ...file('backends: { main: { url: http://a } }'), flags })
  const { learns, capMs } = policyOf(loaded.config.policies['default']!)
  assert.deepEqual([learns?.budget, learns?.floorMs, capMs], [0.025, 5_000, 86_400_000])
  const leaf = leavesOf(loaded).find(({ path }) => path === 'policies.default.type')
  assert.deepEqual([leaf?.value, leaf?.source], ['learned', '--staleness'])
})

test('the configuration is frozen to its last value', () => {
  const isFrozen = (value: unknown): boolean =>
    typeof value !== 'object' ||
    value === null ||
    value instanceof RegExp ||
    (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  assert.ok(isFrozen(load(file(everything)).config))
})

test('an alias stands for the value of its anchor', () => {
  const { config } = load(
    file('policies: { a: &p { floor: 7s }, b: *p }\nbackends: { main: { url: http://a } }'),
  )
  assert.deepEqual(config.policies['b'], config.policies['a'])
})

test('the printed configuration can be loaded again, and is the same', () => {
  const before = load(file(everything))
  const after = load(file(printConfig(before)))
  assert.deepEqual(after.config, before.config)
  assert.deepEqual(
    leavesOf(after).map(({ path, value }) => [path, value]),
    leavesOf(before).map(({ path, value }) => [path, value]),
  )
})

test('any text survives being printed and loaded', () => {
  const text = fc.oneof(
    fc.string({ minLength: 1, unit: 'grapheme' }),
    fc.constantFrom(
      'true',
      'null',
      '~',
      '1',
      '0x1f',
      '1e3',
      'off',
      '- a',
      'a: b',
      '#',
      '*a',
      '&a',
      "'",
      '"',
      '{}',
      'a #b',
    ),
  )
  fc.assert(
    fc.property(text, fc.nat(2 ** 40), fc.nat(2 ** 30), (name, ms, bytes) => {
      const rule = JSON.stringify({ name, match: { backend: 'main' }, bypass: true })
      const limits = `{ retention: ${ms + 1}ms, maxAnswer: ${bytes + 1}, memory: 8GiB }`
      const before = load(file(`${minimal}rules: [${rule}]\nlimits: ${limits}\n`))
      assert.equal(before.config.rules[0]!.name, name)
      assert.deepEqual(load(file(printConfig(before))).config, before.config)
    }),
  )
})

test('a flag goes before the environment, the environment before the file, the file before the default', () => {
  const keys = [
    ['maxStale', 'WINDOWPANE_LIMITS_MAX_STALE', 'limits.max-stale'],
    ['drain', 'WINDOWPANE_LIMITS_DRAIN', 'limits.drain'],
    ['retention', 'WINDOWPANE_LIMITS_RETENTION', 'limits.retention'],
  ] as const
  const seconds = fc.option(fc.integer({ min: 1, max: 1e6 }), { nil: undefined })
  const given = fc.record({ file: seconds, env: seconds, flag: seconds })
  fc.assert(
    fc.property(fc.tuple(given, given, given), (all) => {
      const lines = all.flatMap(({ file: s }, i) => (s === undefined ? [] : [`  ${keys[i]![0]}: ${s}s\n`]))
      const env = Object.fromEntries(
        all.flatMap(({ env: s }, i) => (s === undefined ? [] : [[keys[i]![1], `${s}s`]])),
      )
      const flags = all.flatMap(({ flag: s }, i) =>
        s === undefined ? [] : [{ name: keys[i]![2], value: `${s}s` }],
      )
      const { config, sources } = load({ ...file(`${minimal}limits:\n${lines.join('')}`), env, flags })
      all.forEach((one, i) => {
        const wanted = one.flag ?? one.env ?? one.file
        const property = `${keys[i]![0]}Ms` as 'maxStaleMs' | 'drainMs' | 'retentionMs'
        assert.equal(config.limits[property], wanted === undefined ? defaultLimits[property] : wanted * 1000)
        const kind =
          one.flag !== undefined
            ? 'flag'
            : one.env !== undefined
              ? 'env'
              : one.file !== undefined
                ? 'file'
                : 'default'
        assert.equal(sources.get(`limits.${keys[i]![0]}`)!.kind, kind)
      })
      assert.deepEqual(sources.get('backends.main.maxStale'), sources.get('limits.maxStale'))
    }),
  )
})

test('entries of maps and lists are set by name and index, or whole', () => {
  const env = {
    WINDOWPANE_BACKENDS: '{ eu-west: { url: "http://b" } }',
    WINDOWPANE_BACKENDS_EU_WEST_URL_1: 'http://c',
    WINDOWPANE_BACKENDS_EU_WEST_ROUTE_PATH: '/eu',
    WINDOWPANE_RULES_0_BYPASS: 'true',
    WINDOWPANE_RULES_0_MATCH_HEADERS_0_NAME: 'X-A',
    WINDOWPANE_LIMITS_MAX_REQUESTS: '7',
  }
  const flags = [
    { name: 'backends.main.url', value: '[http://a, http://b]' },
    { name: 'rules.1', value: '{ match: { backend: main }, mode: off }' },
  ]
  const { config } = load({ env, flags })
  assert.deepEqual(config.backends['eu-west']!.url, ['http://b', 'http://c'])
  assert.deepEqual(config.backends['main']!.url, ['http://a', 'http://b'])
  assert.equal(config.rules[0]!.match.headers[0]!.name, 'X-A')
  assert.equal(config.rules[1]!.mode, 'off')
  assert.equal(config.limits.maxRequests, 7)
})

test('a variable that could mean two backends means the one that the file has', () => {
  const both = 'backends: { a-auth: { url: http://a } }'
  const env = { WINDOWPANE_BACKENDS_A_AUTH_TYPE: 'prometheus', WINDOWPANE_BACKENDS_A_AUTH_MODE: 'off' }
  const { config } = load({ ...file(both), env })
  assert.equal(config.backends['a-auth']!.mode, 'off')
})

test('mistakes in the environment and in flags are reported by their names', () => {
  const env = {
    WINDOWPANE_LIMITS_DRAIN: '5',
    WINDOWPANE_LIMITS_MAX_STALL: '1m',
    WINDOWPANE_LIMTS_DRAIN: '5s',
    WINDOWPANE_RULES_3_BYPASS: 'true',
    WINDOWPANE_RULES: '[',
  }
  const flags = [
    { name: 'limits.max-bucket', value: '1' },
    { name: 'listen', value: undefined },
    { name: 'limits.memory', value: 'lots' },
  ]
  assert.deepEqual(problemsOf({ ...file(minimal), env, flags }), [
    'WINDOWPANE_LIMITS_MAX_STALL: no key of the configuration has this variable; did you mean "WINDOWPANE_LIMITS_MAX_STALE"?',
    'WINDOWPANE_LIMTS_DRAIN: no key of the configuration has this variable; did you mean "WINDOWPANE_LIMITS_DRAIN"?',
    'WINDOWPANE_RULES: rules: a bracket, a quote or a comma is missing before this',
    '--limits.max-bucket: no key of the configuration has this flag; did you mean "--limits.max-buckets"?',
    '--listen: needs a value',
    'WINDOWPANE_RULES_3_BYPASS: rules.3.bypass: there is no entry 3: the next one is 0',
    '--limits.memory: expected a size such as 64MiB or 2GB, at least 16MiB, got "lots"',
    'WINDOWPANE_LIMITS_DRAIN: limits.drain: expected a duration such as 500ms, 5s, 15m or 1h30m, above 0, at most 24d, got "5"; did you mean "5s"?',
  ])
})

test('variables of others are left alone', () => {
  const env = {
    WINDOWPANE_PORT: 'tcp://10.0.0.1:9191',
    WINDOWPANE_SERVICE_HOST: '10.0.0.1',
    WINDOWPANE_ADMIN_SERVICE_PORT_HTTP: '9192',
    WINDOWPANE_ADMIN_PORT_9192_TCP_ADDR: '10.0.0.1',
    WINDOWPANE_FIXTURE_URL: 'http://x',
    WINDOWPANE_CONFIG: 'w.yaml',
    PATH: '/bin',
  }
  assert.equal(load({ ...file(minimal), env }).config.listen, '127.0.0.1:9191')
})

test('without a file the problems of the whole are those of the configuration', () => {
  assert.deepEqual(problemsOf({}), ['configuration: backends: is missing: expected at least one backend'])
})
