import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Budget, spareOf } from './budget.ts'

/** A positive number reserves, a negative one gives the reservation of that index back. */
const steps = fc.array(fc.integer({ min: -20, max: 60 }), { maxLength: 80 })

test('a budget never exceeds its limit and refuses only reservations that do not fit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 150 }), steps, (limit, steps) => {
      const budget = new Budget(limit)
      const held: number[] = []
      for (const step of steps) {
        const sum = held.reduce((a, b) => a + b, 0)
        assert.equal(budget.used, sum)
        if (step >= 0) {
          const fits = sum + step <= limit
          assert.equal(budget.reserve(step), fits)
          if (fits) held.push(step)
        } else if (-step <= held.length) {
          budget.release(held.splice(-step - 1, 1)[0]!)
        }
        assert.ok(budget.used <= limit)
      }
    }),
  )
})

test('a holder is called with exactly the missing bytes before a reservation is refused', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 30 })),
      fc.integer({ min: 1, max: 120 }),
      (held, wanted) => {
        const budget = new Budget(100)
        const slots = held.filter((bytes) => budget.reserve(bytes))
        const asked: number[] = []
        budget.onPressure(
          (bytes) => {
            asked.push(bytes)
            for (const slot of slots.splice(0)) budget.release(slot)
          },
          () => slots.reduce((sum, bytes) => sum + bytes, 0),
        )
        const missing = budget.used + wanted - 100
        assert.equal(budget.reserve(wanted), wanted <= 100)
        assert.deepEqual(asked, missing > 0 && wanted <= 100 ? [missing] : [])
      },
    ),
  )
})

test('a holder that gives nothing back makes a refusal that takes nothing', () => {
  const budget = new Budget(10)
  budget.onPressure(
    () => {},
    () => 8,
  )
  assert.ok(budget.reserve(8))
  assert.ok(!budget.reserve(3))
  assert.equal(budget.used, 8)
  assert.ok(budget.reserve(2))
})

test('a reservation that could not succeed by any means reclaims nothing', () => {
  const budget = new Budget(100)
  let held = 60
  assert.ok(budget.reserve(60) && budget.reserve(30))
  budget.onPressure(
    (bytes) => {
      budget.release(Math.min(bytes, held))
      held -= Math.min(bytes, held)
    },
    () => held,
  )
  assert.ok(!budget.reserve(71))
  assert.deepEqual([held, budget.used], [60, 90])
  assert.ok(budget.reserve(70))
  assert.deepEqual([held, budget.used], [0, 100])
})

test('the holder registered last is called first, and none for more than it has', () => {
  const budget = new Budget(100)
  assert.ok(budget.reserve(100))
  const held = { panes: 60, packed: 30 }
  const asked: string[] = []
  for (const name of ['panes', 'packed'] as const) {
    budget.onPressure(
      (bytes) => {
        asked.push(`${name} ${bytes}`)
        held[name] -= bytes
        budget.release(bytes)
      },
      () => held[name],
    )
  }
  assert.ok(budget.reserve(20))
  assert.deepEqual(asked.splice(0), ['packed 20'])
  assert.ok(budget.reserve(25))
  assert.deepEqual(asked.splice(0), ['packed 10', 'panes 15'])
  assert.ok(!budget.reserve(46))
  assert.deepEqual(asked, [])
})

test('the spare part cannot be reserved, and is made room for', () => {
  const budget = new Budget(100, { spare: 20 })
  let held = 0
  budget.onPressure(
    (bytes) => {
      held -= bytes
      budget.release(bytes)
    },
    () => held,
  )
  assert.ok(budget.reserve(80))
  assert.ok(!budget.reserve(1))
  held = 80
  assert.ok(budget.reserve(30))
  assert.deepEqual([held, budget.used, budget.limit], [50, 80, 100])
})

test('a large budget spares a fixed amount, a small one two fifths', () => {
  const MiB = 2 ** 20
  assert.deepEqual(
    [10, 512, 1024, 4096].map((limit) => spareOf(limit * MiB)),
    [4, 96, 128, 256].map((spare) => spare * MiB),
  )
})

test('derived data has a share of what can be reserved, which threads divide', () => {
  assert.equal(new Budget(100, { spare: 20 }).derivedBytes, 10)
  assert.equal(new Budget(100, { spare: 20, threads: 2 }).derivedBytes, 5)
})
