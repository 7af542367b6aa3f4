import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { kindOfStore, storeKindNames } from './kinds.ts'
import { loadLibrary as loadLmdb } from './lmdb/library.ts'
import { loadLibrary as loadIovalkey } from './redis/library.ts'
import { keysOfStoreUrl, storeUrlForms } from './url.ts'

const keysOf = (url: string): unknown => {
  const keys = keysOfStoreUrl(url)
  return keys instanceof Map ? Object.fromEntries(keys) : keys
}

test('a URL is the keys of a store', () => {
  for (const url of ['memory:', 'memory://', 'MEMORY:']) assert.deepEqual(keysOf(url), { type: 'memory' })
  assert.deepEqual(keysOf('lmdb:/a?size=1GiB&reserve=0B'), {
    ...{ type: 'lmdb', path: '/a', size: '1GiB', reserve: '0B' },
  })
  for (const [url, path] of [
    ['lmdb:/var/lib/x', '/var/lib/x'],
    ['lmdb:///var/lib/x', '/var/lib/x'],
    ['lmdb:x/y', 'x/y'],
    ['lmdb:../x', '../x'],
    ['lmdb:/a%3Fb%25c#d:e', '/a?b%c#d:e'],
  ])
    assert.deepEqual(keysOf(url!), { type: 'lmdb', path })
})

test('a URL of Redis names servers, a database and a user', () => {
  for (const [url, keys] of [
    ['redis://h:1/0', { hosts: 'h:1', database: '0' }],
    ['valkey://h', { hosts: 'h' }],
    ['redis://h/', { hosts: 'h' }],
    ['rediss://[::1]:1/3', { hosts: '[::1]:1', database: '3', tls: 'true' }],
    ['redis://a:1,b:2/0?sentinel=main', { hosts: 'a:1,b:2', database: '0', sentinel: 'main' }],
    ['redis://a:1,b:2?cluster=true', { hosts: 'a:1,b:2', cluster: 'true' }],
    ['redis://:p%40%2F:@h', { hosts: 'h', password: 'p@/:' }],
    ['redis://u:a@b@h', { hosts: 'h', username: 'u', password: 'a@b' }],
    ['redis://u@h', { hosts: 'h', username: 'u' }],
  ] as const)
    assert.deepEqual(keysOf(url), { type: 'redis', ...keys })
})

test('a text that is no URL of a store is refused, whatever its parameters are called', () => {
  const lmdb = ['lmdb', 'lmdb:', 'lmdb:%zz', 'lmdb://host/x']
  const redis = [
    'redis:',
    'redis://',
    'redis:///0',
    'redis:h',
    'redis://h:x',
    'redis://h/x',
    'redis://%zz:@h',
  ]
  for (const url of ['', '/x', ':x', 'memcached://h/0', 'memory:x', ...lmdb, ...redis])
    assert.ok('refused' in keysOfStoreUrl(url), url)
  for (const query of ['type=memory', 'path=/y', 'url=x', 'size=1&size=2'])
    assert.ok('refused' in keysOfStoreUrl(`lmdb:/x?${query}`), query)
  const keys = keysOfStoreUrl('lmdb:/x?refused=1&__proto__=2')
  assert.ok(keys instanceof Map && keys.get('__proto__') === '2', 'left to the reader of keys')
})

test('kinds have schemes of their own, and their forms of URLs are ones', () => {
  const schemes = storeKindNames.flatMap((type) => kindOfStore({ type }).schemes)
  assert.equal(new Set(schemes).size, schemes.length)
  for (const form of storeUrlForms) assert.ok(keysOfStoreUrl(form) instanceof Map, form)
})

test('the versions in install hints are those of package.json', async () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  const missing = new Error('cannot find it')
  for (const [name, load] of Object.entries({ lmdb: loadLmdb, iovalkey: loadIovalkey })) {
    const refused = await load(() => Promise.reject(missing))
    assert.ok('refused' in refused)
    assert.equal(refused.remedy, `npm install ${name}@${manifest.peerDependencies[name]}`)
    assert.equal(refused.cause, missing)
  }
})
