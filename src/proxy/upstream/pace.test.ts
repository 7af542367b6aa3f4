import assert from 'node:assert/strict'
import test from 'node:test'
import { Pace } from './pace.ts'

const KiB = 1024

/** Readers that note when they read on. */
function setUp() {
  const turns: (() => void)[] = []
  const pace = new Pace({ afterTurn: (action) => turns.push(action) })
  const done: string[] = []
  const readers = Array.from({ length: 20 }, (_, name) => ({
    proceed: () => void done.push(`read ${name}`),
  }))
  const turn = () => {
    turns.shift()!()
    return done.splice(0)
  }
  return { pace, readers, turn, turns, done }
}

test('256 KiB of a turn are for all readers; later ones wait for the next', () => {
  const { pace, readers, turn, turns } = setUp()
  assert.equal(pace.read(128 * KiB, readers[0]!), false)
  assert.equal(pace.read(64 * KiB, readers[1]!), false)
  assert.equal(pace.read(64 * KiB, readers[2]!), true)
  assert.equal(pace.read(1, readers[3]!), true)
  assert.deepEqual(turn(), ['read 2', 'read 3'])
  assert.equal(turns.length, 0, 'no reader waits, no turn is requested')
  assert.equal(pace.read(128 * KiB, readers[0]!), false, 'another turn, another share')
})

test('a reader that comes alone reads four times as much', () => {
  const { pace, readers, turn } = setUp()
  assert.equal(pace.read(1023 * KiB, readers[0]!), false)
  assert.equal(pace.read(KiB, readers[0]!), true)
  assert.deepEqual(turn(), ['read 0'])
  assert.equal(pace.read(300 * KiB, readers[0]!), false)
  assert.equal(pace.read(1, readers[1]!), true, 'two are not alone')
  assert.equal(pace.read(1, readers[0]!), true)
})

test('waiting readers continue in the order in which they came, as long as there is something left of the turn', () => {
  const { pace, readers, turn, turns, done } = setUp()
  for (const reader of readers.slice(0, 6)) {
    pace.read(1024 * KiB, reader)
    reader.proceed = () => {
      done.push(`read ${readers.indexOf(reader)}`)
      pace.read(128 * KiB, reader)
    }
  }
  assert.deepEqual(turn(), ['read 0', 'read 1'])
  assert.deepEqual(turn(), ['read 2', 'read 3'])
  assert.deepEqual(turn(), ['read 4', 'read 5'])
  assert.deepEqual(turn(), ['read 1', 'read 3'], 'those for whom nothing was left')
  assert.equal(turns.length, 1)
})
