import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Turnover } from './turnover.ts'

interface Value {
  readonly name: string
  readonly bytes: number
}

const value = (name: string, bytes = 10): Value => ({ name, bytes })

function filled(names: Iterable<string>): Turnover<Value> {
  const turnover = new Turnover<Value>()
  for (const name of names) turnover.add(name, value(name))
  return turnover
}

const evicted = (turnover: Turnover<Value>, count: number): string[] =>
  Array.from({ length: count }, () => Array.from(turnover.free(1), ([name]) => name)).flat()

/** Reads keys that are never read again, with room for `most` entries. */
function flood(turnover: Turnover<Value>, count: number, most = 100): void {
  for (let i = 0; i < count; i++) {
    const name = `once ${floods++}`
    turnover.use(name)
    if (turnover.size >= most) evicted(turnover, 1)
    turnover.add(name, value(name))
  }
}

let floods = 0

test('entries are counted, found, and evicted once, under any sequence', () => {
  const step = fc.record({
    kind: fc.constantFrom('add', 'add', 'use', 'use', 'replace', 'delete', 'free', 'take'),
    key: fc.constantFrom(...'abcdefghijkl'),
    bytes: fc.constantFrom(1, 100, 20_000, 300_000),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const turnover = new Turnover<Value>()
      const model = new Map<string, Value>()
      for (const { kind, key, bytes } of steps) {
        if (kind === 'add') {
          turnover.add(key, value(key, bytes))
          model.set(key, value(key, bytes))
        }
        if (kind === 'use') assert.deepEqual(turnover.use(key), model.get(key))
        if (kind === 'replace') {
          turnover.add(key, value(key, bytes), turnover.delete(key))
          model.set(key, value(key, bytes))
        }
        if (kind === 'delete') assert.equal(turnover.delete(key) !== undefined, model.delete(key))
        if (kind === 'free') {
          const [held, left] = [turnover.bytes, [...turnover.free(bytes)]]
          for (const [name] of left) assert.ok(model.delete(name))
          const freed = left.reduce((sum, [, each]) => sum + each.bytes, 0)
          assert.ok(freed >= Math.min(bytes, held))
          assert.ok(freed - (left.at(-1)?.[1].bytes ?? 0) < bytes, 'more left than was needed')
        }
        if (kind === 'take')
          for (const [name] of turnover.takeWhile((held) => held.bytes === bytes)) model.delete(name)
        assert.deepEqual(new Map(turnover.entries()), model)
        assert.equal(turnover.size, model.size)
        assert.equal(
          turnover.bytes,
          [...model.values()].reduce((sum, each) => sum + each.bytes, 0),
        )
      }
      assert.deepEqual(new Set(evicted(turnover, model.size)), new Set(model.keys()))
      assert.deepEqual(evicted(turnover, 1), [])
    }),
    { numRuns: 300 },
  )
})

test('the least recently used is evicted first among equals', () => {
  const turnover = filled('abcdef')
  for (const name of 'abcdef') turnover.use(name)
  turnover.use('a')
  turnover.use('c')
  assert.deepEqual(evicted(turnover, 6), ['b', 'd', 'e', 'f', 'a', 'c'])
})

test('unused entries are listed once, in order of use, and again when they were used since', () => {
  const turnover = filled('abcd')
  const unseen = (isDue = (_: Value) => true) => Array.from(turnover.unseen(isDue), ({ name }) => name)
  turnover.use('b')
  assert.deepEqual(
    unseen(({ name }) => name !== 'd'),
    ['a', 'c'],
  )
  assert.deepEqual(unseen(), ['d', 'b'])
  assert.deepEqual(unseen(), [])
  turnover.use('c')
  turnover.add('e', value('e'))
  turnover.replace('a', value('a', 3))
  assert.deepEqual(unseen(), ['c', 'e'])
  turnover.use('a')
  turnover.delete('a')
  assert.deepEqual(unseen(), [])
})

test('an entry that is being looked up may be evicted', () => {
  const turnover = filled('abcd')
  const seen: string[] = []
  for (const { name } of turnover.unseen(() => true)) {
    seen.push(name)
    turnover.delete('b')
    turnover.delete(name)
  }
  assert.deepEqual(seen, ['a', 'c', 'd'])
})

test('looking leaves no trace', () => {
  const looked = filled('abcdef')
  looked.get('f')
  assert.deepEqual(evicted(looked, 6), evicted(filled('abcdef'), 6))
})

test('a flood does not evict entries with occasional requests', () => {
  const turnover = filled('ab')
  for (let round = 0; round < 30; round++) {
    turnover.use('a')
    turnover.use('a')
    flood(turnover, 1000)
  }
  assert.equal(turnover.get('a')?.name, 'a')
  assert.equal(turnover.get('b'), undefined)
})

test('a replaced value keeps the standing of its key', () => {
  const turnover = filled('a')
  for (let i = 0; i < 5; i++) turnover.use('a')
  flood(turnover, 150)
  turnover.add('a', value('a', 11), turnover.delete('a'))
  flood(turnover, 150)
  assert.equal(turnover.get('a')?.bytes, 11)
})

test('an entry with repeated requests in a flood is admitted although each time it was absent', () => {
  const turnover = new Turnover<Value>()
  const isKept: boolean[] = []
  for (let round = 0; round < 4; round++) {
    isKept.push(turnover.use('late') !== undefined)
    if (!isKept.at(-1)) turnover.add('late', value('late'))
    flood(turnover, 1000)
  }
  assert.deepEqual(isKept, [false, false, true, true])
})

test('a once popular entry is evicted when it has no more requests', () => {
  const turnover = filled('a')
  for (let i = 0; i < 1000; i++) turnover.use('a')
  for (let i = 0; i < 10_000; i++) {
    const name = `next ${Math.floor(i / 50)}`
    if (turnover.use(name) !== undefined) continue
    if (turnover.size >= 100) evicted(turnover, 1)
    turnover.add(name, value(name))
  }
  assert.equal(turnover.get('a'), undefined)
})

test('of two with equal requests the small one stays longer', () => {
  const turnover = new Turnover<Value>()
  const fill = (name: string, bytes: number): void => {
    turnover.add(name, value(name, bytes))
    for (let i = 0; i < 3; i++) turnover.use(name)
  }
  for (let i = 0; i < 18; i++) fill(`large ${i}`, 1_000_000)
  for (let i = 0; i < 200; i++) fill(`small ${i}`, 10_000)
  const left = evicted(turnover, 18)
  assert.deepEqual(
    left,
    left.filter((name) => name.startsWith('large')),
  )
})

test('to free a little, few are looked at, however many there are', () => {
  let looks = 0
  const turnover = new Turnover<Value>()
  for (let i = 0; i < 10_000; i++) {
    const counted = {
      name: String(i),
      get bytes() {
        looks++
        return 10
      },
    }
    turnover.add(counted.name, counted)
    turnover.use(counted.name)
  }
  looks = 0
  evicted(turnover, 1)
  assert.ok(looks < 500, `${looks} looks`)
})
