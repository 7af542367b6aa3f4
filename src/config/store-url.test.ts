/** Stores by URL, from the file, the environment and flags. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { describeProblem, type LoadedConfig, type LoadOptions, loadConfig } from './load.ts'
import { leavesOf, printConfig } from './view.ts'

const upstream = 'http://a:9090'

function load(options: LoadOptions): LoadedConfig {
  const loaded = loadConfig({ upstream, ...options })
  if ('problems' in loaded) assert.fail(loaded.problems.map(describeProblem).join('\n'))
  return loaded
}

const flags = (values: Readonly<Record<string, string>>) => ({
  flags: Object.entries(values).map(([name, value]) => ({ name, value })),
})

const shared = { type: 'lmdb', path: '/x y', sizeBytes: 2 ** 30, reserveBytes: 2 ** 28, timeoutMs: 250 }

test('a URL sets the type and its keys, wherever it is written; other keys have their defaults', () => {
  const url = 'lmdb:/x%20y?size=1GiB'
  for (const options of [
    { file: { name: 'w.yaml', bytes: Buffer.from(`stores: { shared: { url: '${url}' } }`) } },
    { env: { WINDOWPANE_STORES_SHARED_URL: url } },
    flags({ 'stores.shared.url': url, 'backends.main.store': 'shared' }),
  ])
    assert.deepEqual(load(options).config.stores['shared'], { ...shared, url })
})

test('keys may stand beside a URL, and may repeat the URL in another notation', () => {
  const url = 'lmdb:///x y?size=1GiB'
  const given = { url, type: 'lmdb', size: '1024MiB', reserve: '256MiB', timeout: '250ms' }
  const named = Object.entries(given).map(([key, value]) => [`stores.shared.${key}`, value])
  assert.deepEqual(load(flags(Object.fromEntries(named))).config.stores['shared'], { ...shared, url })
})

test('a flag that contradicts the file is reported, at the place of the key', () => {
  const file = { name: 'w.yaml', bytes: Buffer.from('stores: { shared: { type: memory } }') }
  const loaded = loadConfig({ upstream, file, ...flags({ 'stores.shared.url': 'lmdb:/x' }) })
  assert.ok('problems' in loaded)
  assert.match(
    describeProblem(loaded.problems[0]!),
    /^w\.yaml:1:27: stores\.shared\.type: is "memory", and "url" sets it to "lmdb": set one of them\n/,
  )
})

test('every key that a URL set has the URL as its source; the printed configuration can be loaded again', () => {
  const loaded = load(flags({ 'stores.shared.url': 'lmdb:/x?size=1024MiB' }))
  const sources = leavesOf(loaded)
    .filter(({ path }) => path.startsWith('stores.shared.'))
    .map(({ path, value, source }) => [path.slice('stores.shared.'.length), value, source])
  assert.deepEqual(sources, [
    ['type', 'lmdb', '--stores.shared.url'],
    ['url', 'lmdb:/x?size=1024MiB', '--stores.shared.url'],
    ['path', '/x', '--stores.shared.url'],
    ['size', '1GiB', '--stores.shared.url'],
    ['reserve', '256MiB', 'default'],
    ['timeout', '250ms', 'default'],
  ])
  const bytes = Buffer.from(printConfig(loaded))
  assert.deepEqual(load({ file: { name: 'p.yaml', bytes } }).config, loaded.config)
})

test('a password in the URL of the environment is kept, and never shown', () => {
  const loaded = load({ env: { WINDOWPANE_STORES_SHARED_URL: 'redis://user:hunter2@cache/0' } })
  const store = loaded.config.stores['shared']
  assert.ok(store?.type === 'redis' && store.password?.reveal() === 'hunter2')
  assert.doesNotMatch(printConfig(loaded) + JSON.stringify(leavesOf(loaded)), /hunter2/)
})

test('two passwords are distinguished from each other without showing either', () => {
  const env = {
    WINDOWPANE_STORES_SHARED_URL: 'redis://:first@h',
    WINDOWPANE_STORES_SHARED_PASSWORD: 'second',
  }
  const loaded = loadConfig({ upstream, env })
  assert.ok('problems' in loaded)
  const said = loaded.problems.map(describeProblem).join('\n')
  assert.match(said, /stores\.shared\.password: is set as well by "url": set one of them/)
  assert.doesNotMatch(said, /first|second/)
})

test('a URL with a password is refused outside the environment, and never shown', () => {
  const url = 'redis://user:hunter2@cache:6379/0?ttl=1'
  for (const options of [
    flags({ 'stores.shared.url': url }),
    { env: { WINDOWPANE_STORES_SHARED_URL: url } },
  ]) {
    const loaded = loadConfig({ upstream, ...options })
    assert.ok('problems' in loaded)
    assert.doesNotMatch(loaded.problems.map(describeProblem).join('\n'), /hunter2/)
  }
})
