import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { allocateBody } from './pane.ts'

/** The size that would be allocated for a pane with a slab of so many bytes. */
function sizeOf(t: TestContext, slabBytes: number): number {
  let asked = Number.NaN
  const allocate = t.mock.method(Buffer, 'allocUnsafeSlow', (size: number) => {
    asked = size
    throw new RangeError('Array buffer allocation failed')
  })
  const sizes = { from: 0, buckets: 10, columns: 3, lanes: 2, tableLength: 5, rankBytes: 7 }
  assert.throws(() => allocateBody({ ...sizes, frame: Buffer.alloc(3), notes: [], slabBytes }), RangeError)
  allocate.mock.restore()
  return asked
}

test('the size of a pane is right beyond 2³¹ bytes too, and padded to whole eights', (t) => {
  const rest = 4 * (16 + 2 * 10 + 3 * 9 + 5) + 7 + 3
  for (const slabBytes of [
    0,
    1,
    7,
    8,
    2 ** 31 - rest - 1,
    2 ** 31 - rest,
    2 ** 31,
    3 * 2 ** 30 + 1,
    2 ** 33,
  ]) {
    const size = sizeOf(t, slabBytes)
    assert.equal(size % 8, 0)
    assert.ok(size >= rest + slabBytes && size < rest + slabBytes + 8, `${size} for a slab of ${slabBytes}`)
  }
})
