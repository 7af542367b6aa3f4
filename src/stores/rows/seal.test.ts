import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { checked, copied, isSame, payloadIn, seal, unseal } from './seal.ts'

const key = Buffer.from('key')

test('a sealed value is read back, in memory of its own', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (payload) => {
      const value = seal(key, payload)
      const opened = unseal(key, value)!
      assert.ok(isSame(opened, Buffer.from(payload)))
      value.fill(0)
      assert.ok(isSame(opened, Buffer.from(payload)))
    }),
  )
})

test('a value that is altered, cut short, longer or under another key does not open', () => {
  const value = seal(key, Buffer.from('payload'))
  for (let at = 0; at < value.length; at++) {
    const altered = copied(value)
    altered[at]! ^= 1
    assert.equal(checked(key, altered), undefined, `byte ${at}`)
    assert.equal(checked(key, value.subarray(0, at)), undefined, `${at} bytes`)
  }
  assert.equal(checked(key, Buffer.concat([value, Buffer.from([0])])), undefined)
  assert.equal(checked(Buffer.from('kez'), value), undefined)
})

test('the payload can be seen unchecked; too short a value has none', () => {
  assert.equal(payloadIn(seal(key, Buffer.from('payload'))).toString(), 'payload')
  assert.equal(payloadIn(Buffer.from('short')).length, 0)
})

test('the bytes of a value equal those of earlier releases', () => {
  assert.equal(seal(key, Buffer.from('payload')).toString('hex'), '7061796c6f616407000000ca6c26b0')
})
