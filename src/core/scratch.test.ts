import assert from 'node:assert/strict'
import test from 'node:test'
import { Budget } from './budget.ts'
import { ScratchPool, writeOut } from './scratch.ts'

test('a buffer is at least as long as requested, and is reused after its release', () => {
  const pool = new ScratchPool()
  for (const length of [0, 1, 16_384, 16_385, 100_000, 2 ** 23]) {
    const buffer = pool.acquire(length)
    assert.ok(buffer.length >= length)
    assert.notEqual(pool.acquire(length), buffer, 'not shared while in use')
    pool.release(buffer)
    assert.equal(pool.acquire(length), buffer)
  }
})

test('a very long buffer is not pooled, and of the others 32 MiB at most', () => {
  const pool = new ScratchPool()
  const long = pool.acquire(2 ** 23 + 1)
  pool.release(long)
  assert.notEqual(pool.acquire(2 ** 23 + 1), long)
  const many = Array.from({ length: 20 }, () => pool.acquire(2 ** 21))
  for (const buffer of many) pool.release(buffer)
  const again = new Set(Array.from({ length: 20 }, () => pool.acquire(2 ** 21)))
  assert.equal(many.filter((buffer) => again.has(buffer)).length, 16)
})

test('of the long ones as many are kept as are allowed together', () => {
  const pool = new ScratchPool(16 * 2 ** 20)
  const many = Array.from({ length: 6 }, () => pool.acquire(4 * 2 ** 20))
  for (const buffer of [...many, pool.acquire(20_000)]) pool.release(buffer)
  const again = new Set(Array.from({ length: 6 }, () => pool.acquire(4 * 2 ** 20)))
  assert.equal(many.filter((buffer) => again.has(buffer)).length, 4)
})

test('a buffer grows with its bytes, and the old one is had again', () => {
  const pool = new ScratchPool()
  const buffer = pool.acquire(5000)
  buffer.write('windowpane')
  const larger = pool.grow(buffer, 10, buffer.length + 1)
  assert.equal(larger.length, 2 * buffer.length)
  assert.equal(larger.toString('utf8', 0, 10), 'windowpane')
  assert.equal(pool.acquire(5000), buffer)
})

for (const [what, write] of [
  ['fails', () => assert.fail('recompose')],
  ['writes nothing', () => 0],
] as const) {
  test(`an answer whose writer ${what} takes no room`, () => {
    const budget = new Budget(100_000)
    const scratch = new ScratchPool()
    const buffer = scratch.acquire(5000)
    scratch.release(buffer)
    try {
      assert.equal(writeOut({ budget, scratch }, 5000, write), undefined)
    } catch (error) {
      assert.match(String(error), /recompose/)
    }
    assert.equal(budget.used, 0)
    assert.equal(scratch.acquire(5000), buffer)
  })
}
