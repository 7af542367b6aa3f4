import assert from 'node:assert/strict'
import test from 'node:test'
import { GarbageWatch, garbageWatchOf } from './garbage.ts'
import { allOff, allOn } from './runtime.ts'

/** Buffers of the size that the test sets; a collection reduces them to a size that it sets too. */
function setUp() {
  const state = { held: 100, left: 100, collections: 0 }
  const watch = new GarbageWatch({
    maxBytes: 80,
    bufferBytes: () => state.held,
    collect: () => {
      state.collections++
      state.held = state.left
    },
  })
  return { watch, state }
}

test('a collection is triggered when buffers have grown by the permitted garbage', () => {
  const { watch, state } = setUp()
  state.held = 179
  watch.count(10)
  assert.equal(state.collections, 0)
  state.held = 180
  watch.count(9)
  assert.equal(state.collections, 0, 'not yet looked at again')
  watch.count(1)
  assert.equal(state.collections, 1)
})

test('buffers that survive a collection are in use, and not garbage', () => {
  const { watch, state } = setUp()
  state.held = 180
  state.left = 170
  watch.count(10)
  state.held = 249
  watch.count(10)
  assert.equal(state.collections, 1)
  state.held = 250
  watch.count(10)
  assert.equal(state.collections, 2)
})

test('shared memory counts beside buffers, until a collection', () => {
  const { watch, state } = setUp()
  state.held = 139
  watch.countShared(40)
  assert.equal(state.collections, 0)
  watch.countShared(10)
  assert.equal(state.collections, 1)
  state.held = 150
  watch.countShared(29)
  assert.equal(state.collections, 1)
})

test('collections of V8 itself count, too', () => {
  const { watch, state } = setUp()
  state.held = 40
  watch.count(10)
  state.held = 120
  watch.count(10)
  assert.equal(state.collections, 1)
})

test('small limits and threads that share memory are watched, where collections may be triggered', () => {
  const isWatched = (mib: number, threads: number, runtime = allOn) =>
    garbageWatchOf(mib * 2 ** 20, threads, runtime) !== undefined
  assert.deepEqual(
    [isWatched(128, 1), isWatched(128, 2), isWatched(512, 1), isWatched(512, 2)],
    [true, true, false, true],
  )
  assert.ok(!isWatched(128, 2, allOff))
})
