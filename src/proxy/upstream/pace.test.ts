import assert from 'node:assert/strict'
import test from 'node:test'
import { Pace } from './pace.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Readers whose pieces are noted when they are split, each in an eighth of a millisecond, and who note when they read on. */
function setUp() {
  const turns: (() => void)[] = []
  const pace = new Pace((action) => turns.push(action))
  const done: string[] = []
  const readers = Array.from({ length: 20 }, (_, name) => {
    const pieces: number[] = []
    const reader = {
      get isHolding() {
        return pieces.length > 0
      },
      proceed: () => void done.push(`read ${name}`),
      splitNext() {
        done.push(`split ${name}`)
        pace.release(pieces.shift()!, reader)
        return 0.125
      },
      hold(bytes: number, count = 1) {
        for (let i = 0; i < count; i++) {
          pieces.push(bytes)
          pace.hold(bytes, reader)
        }
      },
    }
    return reader
  })
  const turn = () => {
    turns.shift()!()
    return done.splice(0)
  }
  return { pace, readers, turn, turns, done }
}

test('256 KiB of a turn are for everybody; whoever comes later waits for the next', () => {
  const { pace, readers, turn, turns } = setUp()
  assert.equal(pace.pass(128 * KiB, readers[0]!), false)
  assert.equal(pace.pass(64 * KiB, readers[1]!), false)
  assert.equal(pace.pass(64 * KiB, readers[2]!), true)
  assert.equal(pace.pass(1, readers[3]!), true)
  assert.deepEqual(turn(), ['read 2', 'read 3'])
  assert.equal(turns.length, 0, 'nobody waits, nothing is asked for')
  assert.equal(pace.pass(128 * KiB, readers[0]!), false, 'another turn, another share')
})

test('who comes alone is passed on four times as much', () => {
  const { pace, readers, turn } = setUp()
  assert.equal(pace.pass(1023 * KiB, readers[0]!), false)
  assert.equal(pace.pass(KiB, readers[0]!), true)
  assert.deepEqual(turn(), ['read 0'])
  assert.equal(pace.pass(300 * KiB, readers[0]!), false)
  assert.equal(pace.pass(1, readers[1]!), true, 'two are not alone')
  assert.equal(pace.pass(1, readers[0]!), true)
})

test('those who wait read on in the order in which they came, as long as there is something left of the turn', () => {
  const { pace, readers, turn, turns, done } = setUp()
  for (const reader of readers.slice(0, 6)) {
    pace.pass(1024 * KiB, reader)
    reader.proceed = () => {
      done.push(`read ${readers.indexOf(reader)}`)
      pace.pass(128 * KiB, reader)
    }
  }
  assert.deepEqual(turn(), ['read 0', 'read 1'])
  assert.deepEqual(turn(), ['read 2', 'read 3'])
  assert.deepEqual(turn(), ['read 4', 'read 5'])
  assert.deepEqual(turn(), ['read 1', 'read 3'], 'those for whom nothing was left')
  assert.equal(turns.length, 1)
})

test('what can wait is not split before it is due; then half a millisecond a turn, the oldest answer first', () => {
  const { pace, readers, turn, turns } = setUp()
  readers[0]!.hold(64 * KiB, 3)
  readers[1]!.hold(64 * KiB, 2)
  assert.equal(turns.length, 0)
  pace.due(readers[1]!)
  pace.due(readers[0]!)
  readers[1]!.hold(64 * KiB)
  assert.deepEqual(turn(), ['split 1', 'split 1', 'split 1', 'split 0'])
  assert.deepEqual(turn(), ['split 0', 'split 0'])
  assert.equal(turns.length, 0)
})

test('with 8 MiB held nobody reads on, and what is not due is split too', () => {
  const { pace, readers, turn } = setUp()
  readers[0]!.hold(2 * MiB, 3)
  assert.equal(pace.pass(1, readers[2]!), false)
  readers[1]!.hold(2 * MiB, 1)
  assert.equal(pace.pass(1, readers[2]!), true)
  assert.deepEqual(turn(), ['split 0'], 'until there is room')
  assert.deepEqual(turn(), ['read 2'])
})

test('who has nothing left to split is forgotten', () => {
  const { pace, readers, turn, turns } = setUp()
  const [reader] = readers
  reader!.hold(8 * MiB)
  reader!.splitNext()
  assert.equal(pace.pass(1, reader!), false, 'there is room again')
  assert.deepEqual(turn(), ['split 0'])
  pace.due(reader!)
  assert.equal(turns.length, 0)
})

test('at the end all is split at once', () => {
  const { pace, readers, done } = setUp()
  readers[0]!.hold(64 * KiB, 2)
  readers[1]!.hold(64 * KiB, 8)
  pace.due(readers[1]!)
  pace.finish()
  assert.equal(done.length, 10)
  assert.ok(!readers[0]!.isHolding && !readers[1]!.isHolding)
})
