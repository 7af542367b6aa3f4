import assert from 'node:assert/strict'
import test from 'node:test'
import { Pace } from './pace.ts'

function setUp() {
  const turns: (() => void)[] = []
  const pace = new Pace((action) => turns.push(action))
  const proceeded: number[] = []
  const readers = Array.from({ length: 20 }, (_, name) => ({ proceed: () => void proceeded.push(name) }))
  const turn = () => {
    turns.shift()!()
    return proceeded.splice(0)
  }
  return { pace, readers, turn, turns }
}

test('a millisecond of a turn is for everybody; whoever comes later waits for the next', () => {
  const { pace, readers, turn, turns } = setUp()
  assert.equal(pace.spend(0.5, readers[0]!), false)
  assert.equal(pace.spend(0.4, readers[1]!), false)
  assert.equal(pace.spend(0.2, readers[2]!), true)
  assert.equal(pace.spend(0.01, readers[3]!), true)
  assert.deepEqual(turn(), [2, 3])
  assert.equal(turns.length, 0, 'nobody waits, nothing is asked for')
  assert.equal(pace.spend(0.5, readers[0]!), false, 'another turn, another millisecond')
})

test('those who wait go on in the order in which they came, a few in each turn, and each once', () => {
  const { pace, readers, turn, turns } = setUp()
  for (const reader of readers) pace.spend(2, reader)
  pace.spend(2, readers[0]!)
  assert.deepEqual(turn(), [0, 1, 2, 3, 4, 5, 6, 7])
  pace.spend(2, readers[0]!)
  assert.deepEqual(turn(), [8, 9, 10, 11, 12, 13, 14, 15])
  assert.deepEqual(turn(), [16, 17, 18, 19, 0])
  assert.equal(turns.length, 0)
})
