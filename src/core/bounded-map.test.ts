import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BoundedMap } from './bounded-map.ts'

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

test('weights add up to the held entries, and every eviction is reported once', () => {
  const keys = fc.constantFrom('a', 'b', 'c', 'd')
  const step = fc.oneof(
    fc.record({ set: keys, value: fc.nat(20) }),
    fc.record({ remove: keys }),
    fc.record({ use: keys }),
    fc.record({ evictTo: fc.nat(30) }),
  )
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let taken = 0
      const onRemoved = (weight: number) => (taken -= weight)
      const map = new BoundedMap<string, number>({ maxWeight: 30, weightOf: (value) => value, onRemoved })
      for (const each of steps) {
        if ('set' in each) {
          taken += each.value
          map.set(each.set, each.value)
          assert.equal(map.get(each.set), each.value)
        } else if ('remove' in each) map.delete(each.remove)
        else if ('use' in each) map.use(each.use)
        else map.evictTo(each.evictTo)
        assert.equal(
          map.weight,
          [...map.values()].reduce((sum, value) => sum + value, 0),
        )
        assert.equal(map.weight, taken)
        assert.ok(map.weight <= ('evictTo' in each ? each.evictTo : 30))
      }
      map.clear()
      assert.deepEqual([map.size, map.weight, taken], [0, 0, 0])
    }),
  )
})

test('an entry that is too heavy alone is not held, nor the one it replaces, and evicts no other', () => {
  let removed = 0
  const map = new BoundedMap<string, number>({
    maxWeight: 10,
    weightOf: (value) => value,
    onRemoved: (weight) => {
      removed += weight
    },
  })
  map.set('a', 4).set('b', 5).set('a', 11)
  assert.deepEqual([...map, map.weight, removed], [['b', 5], 5, 15])
})
