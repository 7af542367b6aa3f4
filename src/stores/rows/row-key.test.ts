import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { bucketKey, readRowKey, rowKey, versionBytes } from './row-key.ts'

const row = { newest: 1_767_225_600_000, isSettled: true, bytes: 7 }
const prefix = Buffer.from('k\0')

test('byte order of row keys is time order, before the origin too, and keys are read back', () => {
  const bucket = fc.integer({ min: -(2 ** 45), max: 2 ** 45 })
  fc.assert(
    fc.property(bucket, bucket, (a, b) => {
      const key = (from: number) => rowKey(prefix, { ...row, from, to: from + 3 })
      assert.equal(Math.sign(Buffer.compare(key(a), key(b))), Math.sign(a - b))
      assert.deepEqual(readRowKey(key(a)), { ...row, from: a, to: a + 3 })
    }),
  )
})

test('a range of buckets holds exactly the rows that begin in it, also where it has no end', () => {
  const bucket = fc.integer({ min: -(2 ** 45), max: 2 ** 45 })
  fc.assert(
    fc.property(bucket, bucket, (from, at) => {
      const key = rowKey(prefix, { ...row, from, to: from + 1 })
      assert.equal(Buffer.compare(bucketKey(prefix, at), key) <= 0, at <= from)
    }),
  )
  const first = rowKey(prefix, { ...row, from: 0, to: 1 })
  assert.ok(Buffer.compare(bucketKey(prefix, Number.NEGATIVE_INFINITY), first) < 0)
  assert.ok(Buffer.compare(bucketKey(prefix, Number.POSITIVE_INFINITY), first) > 0)
})

test('the bytes of a key equal those of earlier releases', () => {
  const hex = (key: Buffer): string => key.toString('hex')
  assert.equal(
    hex(rowKey(prefix, { from: -2, to: 126, newest: 1_767_225_600_000, isSettled: false, bytes: 65_537 })),
    '6b00' + '7ffffffffffffffe' + '00000080' + '019b76daa800' + '00' + '00010001',
  )
  assert.equal(hex(bucketKey(prefix, 2 ** 32 + 5)), '6b00' + '8000000100000005')
})

test('another pane version has another prefix', () => {
  assert.equal(versionBytes()[0], 2)
  assert.notDeepEqual(versionBytes(1), versionBytes(2))
})
