import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pack, unpack } from './pack.ts'

const place = Buffer.from('key')

test('packed bytes are unpacked, short or long, compressible or not', async () => {
  const some = fc.oneof(
    fc.uint8Array({ maxLength: 4096 }),
    fc.nat(200_000).map((length) => new Uint8Array(length).fill(7)),
  )
  await fc.assert(
    fc.asyncProperty(some, async (bytes) => {
      const value = await pack(place, bytes)
      assert.ok(value.length <= bytes.length + 13)
      assert.deepEqual(await unpack(place, value), Buffer.from(bytes))
    }),
    { numRuns: 50 },
  )
})

test('a value that was cut, changed, or found at another place is absent', async () => {
  const value = await pack(place, Buffer.from('abc'.repeat(100)))
  assert.equal(await unpack(Buffer.from('other'), value), undefined)
  await fc.assert(
    fc.asyncProperty(fc.nat(value.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
      assert.equal(await unpack(place, value.subarray(0, at)), undefined)
      const changed = Buffer.from(value)
      changed[at] = changed[at]! ^ change
      assert.equal(await unpack(place, changed), undefined)
    }),
  )
})
