/** One limit for several threads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../core/budget.ts'
import { emptyCell, meterCells, SharedMeter } from './shared-meter.ts'

const budgets = (limit: number) => {
  const cells = meterCells(2)
  return {
    cells,
    one: new Budget(limit, { meter: new SharedMeter({ cells, own: 0 }) }),
    two: new Budget(limit, { meter: new SharedMeter({ cells, own: 1 }) }),
  }
}

test('bytes taken by one thread are not available to the other', () => {
  const { one, two } = budgets(100)
  assert.ok(one.reserve(60))
  assert.ok(!two.reserve(41))
  assert.equal(two.used, 60)
  assert.ok(two.reserve(40))
  one.release(60)
  assert.ok(two.reserve(60))
  assert.equal(one.used, 100)
})

test('the bytes of a thread that has ended are free', () => {
  const { cells, one, two } = budgets(100)
  assert.ok(two.reserve(100))
  assert.ok(!one.reserve(1))
  emptyCell(cells, 1)
  assert.equal(one.used, 0)
  assert.ok(one.reserve(100))
})

test('a thread gives back its own to keep the limit, and hears when little is left', () => {
  const cells = meterCells(2)
  let tight = 0
  const meter = new SharedMeter({ cells, own: 1, tightAbove: 80, onTight: () => tight++ })
  const [one, two] = [
    new Budget(80, { meter: new SharedMeter({ cells, own: 0 }) }),
    new Budget(100, { meter }),
  ]
  let held = 80
  one.reserve(80)
  one.onPressure(
    (bytes) => {
      held -= bytes
      one.release(bytes)
    },
    () => held,
  )
  assert.ok(two.reserve(20))
  assert.equal(tight, 1)
  assert.ok(!two.reserve(1), 'it can take free bytes, not bytes held elsewhere')
  assert.ok(one.relieve())
  assert.equal(one.used, 80)
  assert.equal(held, 60)
  two.release(20)
  assert.equal(tight, 2, 'a release is no sign of pressure, a refused reservation is')
})
