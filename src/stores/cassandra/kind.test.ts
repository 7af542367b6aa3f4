import assert from 'node:assert/strict'
import test from 'node:test'
import { inspect } from 'node:util'
import { describeProblem, type LoadOptions, loadConfig } from '../../config/load.ts'
import { printConfig } from '../../config/view.ts'
import { keysOfStoreUrl } from '../url.ts'
import { cassandraKind } from './kind.ts'
import { loadLibrary } from './library.ts'
import { ttlSeconds } from './time.ts'

const keysOf = (url: string): unknown => {
  const keys = keysOfStoreUrl(url)
  return keys instanceof Map ? Object.fromEntries(keys) : keys
}

const upstream = 'http://a:9090'
const load = (options: LoadOptions) => loadConfig({ upstream, ...options })
const byEnvironment = (url: string) => load({ env: { WINDOWPANE_STORES_SHARED_URL: url } })
const problemsOf = (loaded: ReturnType<typeof load>): string =>
  'problems' in loaded ? loaded.problems.map(describeProblem).join('\n') : ''

test('a URL names hosts, keyspace, user and password; parameters are keys', () => {
  assert.deepEqual(keysOf('cassandra://h1:9042,h2/panes?dc=eu&tls=true'), {
    ...{ type: 'cassandra', hosts: 'h1:9042,h2', keyspace: 'panes', dc: 'eu', tls: 'true' },
  })
  assert.deepEqual(keysOf('scylla://u%40x:p%3A%2F:q@[::1]:9042'), {
    ...{ type: 'cassandra', hosts: '[::1]:9042', username: 'u@x', password: 'p:/:q' },
  })
  for (const url of [
    'cassandra:',
    'cassandra:///k',
    'cassandra://h/k/l',
    'cassandra://%zz:p@h',
    'cassandra://u:%zz@h',
  ])
    assert.ok('refused' in (keysOf(url) as object), url)
})

test('hosts, keyspaces and replications that cannot be are refused', () => {
  for (const [url, about] of [
    ['cassandra://h:x/k', 'hosts'],
    ['cassandra://h,,i/k', 'hosts'],
    ['cassandra://h/k"x', 'keyspace'],
    ['cassandra://h/1k', 'keyspace'],
    ['cassandra://h/k?replication=0', 'replication'],
    ["cassandra://h/k?replication=a':1", 'replication'],
    ['cassandra://h/k?consistency=all', 'consistency'],
  ] as const)
    assert.match(problemsOf(byEnvironment(url)), new RegExp(`stores\\.shared\\.${about}: expected`), url)
})

test('a password in a URL is a secret: from the environment only, and shown nowhere', () => {
  const url = 'cassandra://me:geheim@h1,h2/k'
  const loaded = byEnvironment(url)
  assert.ok(!('problems' in loaded), problemsOf(loaded))
  const store = loaded.config.stores['shared']!
  assert.ok(store.type === 'cassandra')
  assert.equal(store.password?.reveal(), 'geheim')
  assert.ok(!printConfig(loaded).includes('geheim'))
  assert.ok(!inspect({ ...store, url: '' }).includes('geheim'))
  assert.ok(!JSON.stringify(cassandraKind.placeOf!(store)).includes('geheim'))
  for (const said of [
    problemsOf(load({ flags: [{ name: 'stores.shared.url', value: url }] })),
    problemsOf(byEnvironment('cassandra://me@h')),
    problemsOf(
      load({ file: { name: 'w.yaml', bytes: Buffer.from(`stores: { shared: { url: '${url}' } }`) } }),
    ),
  ]) {
    assert.notEqual(said, '')
    assert.ok(!said.includes('geheim'), said)
  }
})

test('the statements that create the tables name the keyspace and where its copies are', () => {
  const definition = (replication: string): string =>
    cassandraKind.setup!.definition({ keyspace: 'k', replication } as never)
  assert.match(definition('3'), /KEYSPACE IF NOT EXISTS "k" WITH .*'SimpleStrategy', 'replication_factor': 3/)
  assert.match(definition('a:3,b-1:2'), /'NetworkTopologyStrategy', 'a': 3, 'b-1': 2/)
  assert.equal(definition('1').match(/CREATE TABLE IF NOT EXISTS "k"\./g)?.length, 3)
})

test('without the package, a sentence names the package to install', async () => {
  const refused = await loadLibrary(() => Promise.reject(new Error('not found')))
  assert.ok('refused' in refused)
  assert.equal(refused.remedy, 'npm install cassandra-driver@4.10.0')
})

test('a lifetime is rounded up, and ends before servers of version 4 refuse it', () => {
  const now = Date.UTC(2026, 10, 16)
  assert.equal(ttlSeconds(now + 1, now), 2)
  assert.equal(ttlSeconds(now + 1000, now), 2)
  assert.equal(ttlSeconds(now + 1001, now), 3)
  assert.equal(ttlSeconds(now, now), undefined)
  const last = now + ttlSeconds(Number.MAX_SAFE_INTEGER, now)! * 1000
  assert.ok(last <= Date.UTC(2038, 0, 19, 3, 14, 6) && last > Date.UTC(2038, 0, 19, 3, 14))
  const later = Date.UTC(2040, 0)
  assert.equal(ttlSeconds(later + 60_000, later), 61)
})
