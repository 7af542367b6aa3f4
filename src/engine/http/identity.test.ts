import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOfOthers, namesThatSayWho } from '../../../test/rigs/header-names.ts'
import { type Identity, identityOf } from './identity.ts'

const of = (headers: Record<string, string>, identity: Identity = 'separate'): string =>
  identityOf(Object.entries(headers).flat(), identity)

for (const name of namesThatSayWho) {
  test(`${name} identifies the client`, () => {
    const lower = name.toLowerCase()
    assert.notEqual(of({ [lower]: 'a' }), of({}))
    assert.notEqual(of({ [lower]: 'a' }), of({ [lower]: 'b' }))
    assert.equal(of({ [lower]: 'a' }), of({ [lower]: 'a' }))
    assert.equal(of({ [lower]: 'a' }, 'shared'), of({}, 'shared'))
  })
}

for (const name of namesOfOthers) {
  test(`${name} does not identify the client`, () => {
    assert.equal(of({ [name.toLowerCase()]: 'a' }), '')
  })
}

test('an underscore does not hide a header from the patterns', () => {
  assert.notEqual(of({ x_remote_user: 'a' }), '')
})

test('names that were never seen before are matched as the known ones are', () => {
  for (let i = 0; i < 5_000; i++) {
    assert.notEqual(of({ [`x-${i}-token`]: 'a' }), '')
    assert.equal(of({ [`x-${i}-panel`]: 'a' }), '')
  }
})

test('a name that is longer than any known one keeps its client apart, whatever its value', () => {
  for (const identity of ['separate', 'user'] as const) {
    const long = { ['x'.repeat(100_000)]: 'a' }
    assert.notEqual(of(long, identity), '')
    assert.notEqual(
      of({ ...long, authorization: '1' }, identity),
      of({ ...long, authorization: '2' }, identity),
    )
  }
})

test('one user shares, whatever the token is, and within one tenant only', () => {
  const ann = { 'x-grafana-user': 'ann' }
  assert.equal(of({ ...ann, authorization: '1' }, 'user'), of({ ...ann, authorization: '2' }, 'user'))
  assert.notEqual(of(ann, 'user'), of({ 'x-grafana-user': 'bob' }, 'user'))
  assert.notEqual(of({ ...ann, 'x-scope-orgid': '1' }, 'user'), of({ ...ann, 'x-scope-orgid': '2' }, 'user'))
})

test('without a user header, user is as separate', () => {
  assert.notEqual(of({ authorization: '1' }, 'user'), of({ authorization: '2' }, 'user'))
})

test('given headers alone decide', () => {
  const identity = { headers: ['x-team'] }
  assert.equal(of({ authorization: '1' }, identity), of({}, identity))
  assert.notEqual(of({ 'x-team': 'a' }, identity), of({ 'x-team': 'b' }, identity))
})

test('answers vary by Origin, for every client', () => {
  for (const identity of ['separate', 'shared', 'user'] as const) {
    assert.notEqual(of({ origin: 'https://a' }, identity), of({ origin: 'https://b' }, identity))
  }
})
