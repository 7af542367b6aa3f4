import assert from 'node:assert/strict'
import test from 'node:test'
import {
  clockWith,
  fetchedAtOf,
  hasFloorTtl,
  lifetimeMsOf,
  mustRevalidate,
  noLimits,
  withFloorTtl,
} from './lifetime.ts'

const instants = [1, 1_234_567, Date.UTC(2026, 0, 1), Date.UTC(2108, 0, 1)]

test('a clock without limits is the instant itself', () => {
  for (const at of instants) {
    assert.equal(clockWith(at, noLimits), at)
    assert.deepEqual(
      [fetchedAtOf(at), lifetimeMsOf(at), mustRevalidate(at)],
      [at, Number.POSITIVE_INFINITY, false],
    )
  }
  assert.ok(Number.isNaN(fetchedAtOf(Number.NaN)))
})

test('a part of a millisecond is not taken for a limit', () => {
  assert.equal(clockWith(1234.56, noLimits), 1234)
})

test('limits are kept in the clock: exactly up to 127 s, and never exceeded', () => {
  const all = [...Array(4096).keys()].slice(1)
  const longer = [3600, 7200, 86_400, 604_799, 2_080_767, 2_080_768, 1e9, 2 ** 31, Number.MAX_SAFE_INTEGER]
  for (const fetchedAt of instants) {
    for (const seconds of [...all, ...longer]) {
      for (const isStrict of [false, true]) {
        const clock = clockWith(fetchedAt, { seconds, mustRevalidate: isStrict })
        assert.equal(fetchedAtOf(clock), fetchedAt)
        assert.equal(mustRevalidate(clock), isStrict)
        const kept = lifetimeMsOf(clock) / 1000
        const most = Math.min(seconds, 2_080_768)
        assert.ok(kept <= most && kept > most * (63 / 64), `${kept} for ${seconds}`)
        if (seconds <= 127) assert.equal(kept, seconds)
      }
    }
  }
})

test('an answer that must be revalidated may have no limit of its own', () => {
  const clock = clockWith(1000, { seconds: Number.POSITIVE_INFINITY, mustRevalidate: true })
  assert.deepEqual([lifetimeMsOf(clock), mustRevalidate(clock)], [Number.POSITIVE_INFINITY, true])
})

test('order against whole instants and between fetches does not change', () => {
  const limits = [noLimits, { seconds: 1, mustRevalidate: false }, { seconds: 1e9, mustRevalidate: true }]
  for (const fetchedAt of instants) {
    for (const limit of limits) {
      const clock = clockWith(fetchedAt, limit)
      for (const at of [fetchedAt - 1, fetchedAt, fetchedAt + 1]) {
        assert.equal(clock <= at, fetchedAt <= at)
        assert.equal(clock > at, fetchedAt > at)
      }
      for (const other of limits) assert.ok(clock < clockWith(fetchedAt + 1, other))
    }
  }
})

test('the floor travels in a clock as limits do, and is no limit of the database', () => {
  const at = 1_767_222_060_000
  const clock = withFloorTtl(at, 5000)
  assert.deepEqual(
    [hasFloorTtl(clock), fetchedAtOf(clock), lifetimeMsOf(clock), mustRevalidate(clock)],
    [true, at, Number.POSITIVE_INFINITY, false],
  )
  assert.ok(clock < at && clock > at - 1)
  const strict = withFloorTtl(
    clockWith(at, { seconds: Number.POSITIVE_INFINITY, mustRevalidate: true }),
    5000,
  )
  assert.deepEqual([hasFloorTtl(strict), mustRevalidate(strict)], [true, true])
})

test('of a floor and a limit of the database the shorter is kept', () => {
  const at = 1_767_222_060_000
  for (const [seconds, floorMs, keptMs] of [
    [2, 5000, 2000],
    [60, 5000, 5000],
    [60, 500, 1000],
    [10_000_000, 5000, 5000],
  ] as const) {
    const clock = withFloorTtl(clockWith(at, { seconds, mustRevalidate: true }), floorMs)
    assert.deepEqual(
      [hasFloorTtl(clock), lifetimeMsOf(clock), fetchedAtOf(clock), mustRevalidate(clock)],
      [false, keptMs, at, true],
    )
  }
})

test('no limit of the database is taken for the floor', () => {
  for (const seconds of [1, 127, 128, 2_000_000, 2_064_384, 2_080_768, 1e9]) {
    const clock = clockWith(1_767_222_060_000, { seconds, mustRevalidate: false })
    assert.equal(hasFloorTtl(clock), false, `${seconds}`)
    assert.ok(lifetimeMsOf(clock) <= 1000 * seconds)
  }
  assert.equal(hasFloorTtl(1_767_222_060_000), false)
  assert.equal(hasFloorTtl(Number.NaN), false)
})
