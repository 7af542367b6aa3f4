import assert from 'node:assert/strict'
import test from 'node:test'
import { entityOf } from './entity.ts'

const asker = { headers: [], address: '10.1.2.3' }
const withHeader = (value: string) => ({ headers: ['x-scope-orgid', value], address: '10.1.2.3' })
const tenant = { header: 'x-scope-orgid' } as const
const isValid = (entity: string) => /^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,255}$/.test(entity)

test('clients with equal credentials are one entity, and those without any are another', () => {
  const of = (value: string) =>
    entityOf('identity', { headers: ['authorization', value], address: '' }, 'separate')
  assert.equal(of('Bearer a'), of('Bearer a'))
  assert.notEqual(of('Bearer a'), of('Bearer b'))
  assert.ok(isValid(of('Bearer a')))
  assert.equal(entityOf('identity', asker, 'separate'), 'anonymous')
})

test('every way to partition identities gives a valid name', () => {
  for (const partition of ['shared', 'user', { headers: ['x-a', 'x-b'] }] as const)
    assert.ok(isValid(entityOf('identity', withHeader('a'), partition)))
})

test('an address is an entity in one form, whatever the socket calls it', () => {
  const of = (address: string) => entityOf('address', { headers: [], address }, 'separate')
  assert.equal(of('::ffff:10.1.2.3'), '10.1.2.3')
  assert.equal(of('10.1.2.3'), '10.1.2.3')
  assert.equal(of('::1'), '0::1')
  assert.equal(of('fe80::1%eth0'), 'fe80::1')
  assert.equal(of(''), 'anonymous')
})

test('a header names the entity where its value is a plain name', () => {
  assert.equal(entityOf(tenant, withHeader('team-a'), 'separate'), 'team-a')
  assert.equal(entityOf(tenant, asker, 'separate'), 'anonymous')
  assert.equal(entityOf(tenant, withHeader(''), 'separate'), 'anonymous')
})

test('hostile values of a header become a short hash', () => {
  for (const value of ['x'.repeat(100_000), 'a#b', 'a\0b', 'ä', ' a', '../x', '-a']) {
    const entity = entityOf(tenant, withHeader(value), 'separate')
    assert.match(entity, /^sha256:[A-Za-z0-9_-]{43}$/)
  }
})

test('credentials never become the name of an entity', () => {
  const headers = ['x-api-key', 'secret1']
  assert.match(entityOf({ header: 'x-api-key' }, { headers, address: '' }, 'separate'), /^sha256:/)
})
