import assert from 'node:assert/strict'
import test from 'node:test'
import { Backlog } from './backlog.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Holders that record when their pieces are split, each in an eighth of a millisecond, and when they continue. */
function setUp() {
  const turns: (() => void)[] = []
  let now = 0
  const backlog = new Backlog({ elapsed: () => now }, { afterTurn: (action) => turns.push(action) })
  const done: string[] = []
  const holders = Array.from({ length: 3 }, (_, name) => {
    const pieces: number[] = []
    const holder = {
      get isHolding() {
        return pieces.length > 0
      },
      proceed: () => void done.push(`proceed ${name}`),
      splitNext() {
        done.push(`split ${name}`)
        backlog.release(pieces.shift()!, holder)
        now += 0.125
      },
      /** Whether there is room for more. */
      hold(bytes: number, count = 1): boolean {
        let hasRoom = true
        for (let i = 0; i < count; i++) {
          pieces.push(bytes)
          hasRoom = backlog.hold(bytes, holder)
        }
        return hasRoom
      },
    }
    return holder
  })
  const turn = () => {
    turns.shift()!()
    return done.splice(0)
  }
  return { backlog, holders, turn, turns, done }
}

test('bytes that can wait are not split before they are due; then half a millisecond a turn, the oldest response first', () => {
  const { backlog, holders, turn, turns } = setUp()
  holders[0]!.hold(64 * KiB, 3)
  holders[1]!.hold(64 * KiB, 2)
  assert.equal(turns.length, 0)
  backlog.due(holders[1]!)
  backlog.due(holders[0]!)
  holders[1]!.hold(64 * KiB)
  assert.deepEqual(turn(), ['split 1', 'split 1', 'split 1', 'split 0'])
  assert.deepEqual(turn(), ['split 0', 'split 0'])
  assert.equal(turns.length, 0)
})

test('with 8 MiB held there is no room for more, and bytes that are not due are split too', () => {
  const { holders, turn, turns } = setUp()
  assert.equal(holders[0]!.hold(2 * MiB, 3), true)
  assert.equal(holders[1]!.hold(2 * MiB), false)
  assert.deepEqual(turn(), ['split 0', 'proceed 1'], 'until there is room')
  assert.equal(turns.length, 0)
})

test('of the readers that wait for room, two continue in each turn', () => {
  const { holders, turn, turns } = setUp()
  assert.equal(holders[0]!.hold(8 * MiB), false)
  assert.equal(holders[1]!.hold(64 * KiB), false)
  assert.equal(holders[2]!.hold(64 * KiB), false)
  assert.deepEqual(turn(), ['split 0', 'proceed 0', 'proceed 1'])
  assert.deepEqual(turn(), ['proceed 2'])
  assert.equal(turns.length, 0)
})

test('a holder without bytes is forgotten', () => {
  const { backlog, holders, turn, turns } = setUp()
  const [holder] = holders
  assert.equal(holder!.hold(8 * MiB), false)
  holder!.splitNext()
  assert.deepEqual(turn(), ['split 0', 'proceed 0'])
  backlog.due(holder!)
  assert.equal(turns.length, 0)
  assert.equal(holders[1]!.hold(64 * KiB), true)
})

test('at the end all is split at once', () => {
  const { backlog, holders, done } = setUp()
  holders[0]!.hold(64 * KiB, 2)
  holders[1]!.hold(64 * KiB, 8)
  backlog.due(holders[1]!)
  backlog.finish()
  assert.equal(done.length, 10)
  assert.ok(!holders[0]!.isHolding && !holders[1]!.isHolding)
})
