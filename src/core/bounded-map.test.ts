import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BoundedMap } from './bounded-map.ts'
import { Budget } from './budget.ts'

test('beyond its bound the entry that was set longest ago is evicted', () => {
  const map = new BoundedMap<string, number>({ maxEntries: 2 })
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  assert.deepEqual(Object.fromEntries(map), { a: 3, c: 4 })
})

test('an entry that is used becomes the newest', () => {
  const map = new BoundedMap<string, number>({ maxEntries: 2 })
  map.set('a', 1).set('b', 2)
  assert.equal(map.use('a'), 1)
  assert.equal(map.use('x'), undefined)
  map.set('c', 3)
  assert.deepEqual([...map.keys()], ['a', 'c'])
})

test('weights add up to the held entries, and they are what is taken of the budget', () => {
  const keys = fc.constantFrom('a', 'b', 'c', 'd')
  const step = fc.oneof(
    fc.record({ set: keys, value: fc.nat(20) }),
    fc.record({ remove: keys }),
    fc.record({ use: keys }),
    fc.record({ evictTo: fc.nat(30) }),
  )
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const budget = new Budget(100)
      const map = new BoundedMap<string, number>({ maxWeight: 30, weightOf: (value) => value, budget })
      for (const each of steps) {
        if ('set' in each) {
          map.set(each.set, each.value)
          assert.equal(map.get(each.set), each.value)
        } else if ('remove' in each) map.delete(each.remove)
        else if ('use' in each) map.use(each.use)
        else map.evictTo(each.evictTo)
        assert.equal(
          map.weight,
          [...map.values()].reduce((sum, value) => sum + value, 0),
        )
        assert.equal(map.weight, budget.used)
        assert.ok(map.weight <= ('evictTo' in each ? each.evictTo : 30))
      }
      map.clear()
      assert.deepEqual([map.size, map.weight, budget.used], [0, 0, 0])
    }),
  )
})

test('an entry that is too heavy alone is not held, nor the one it replaces, and evicts no other', () => {
  const budget = new Budget(100)
  const map = new BoundedMap<string, number>({ maxWeight: 10, weightOf: (value) => value, budget })
  map.set('a', 4).set('b', 5).set('a', 11)
  assert.deepEqual([...map, map.weight, budget.used], [['b', 5], 5, 5])
})

test('an entry without room in the budget is not held, nor the one it replaces', () => {
  const budget = new Budget(10)
  const map = new BoundedMap<string, number>({ weightOf: (value) => value, budget })
  map.set('a', 2)
  budget.reserve(7)
  map.set('a', 4)
  assert.deepEqual([map.size, map.weight, budget.used], [0, 0, 7])
})

test('the budget evicts the oldest entries where others need the memory', () => {
  const budget = new Budget(10)
  const map = new BoundedMap<string, number>({ weightOf: (value) => value, budget })
  map.set('a', 4).set('b', 4)
  assert.ok(budget.reserve(5))
  assert.deepEqual([...map, budget.used], [['b', 4], 9])
})
