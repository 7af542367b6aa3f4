import assert from 'node:assert/strict'
import test from 'node:test'
import { WindowpaneError } from '../core/errors.ts'
import type { Limit } from './limit.ts'
import { bucketLimit, checkLimits, problemOf } from './token-bucket.ts'

const limit = (given: Partial<Limit> = {}): Limit => ({
  ...{ name: 'a', capacity: 100, refillAmount: 100, refillPeriodSeconds: 60 },
  ...given,
})

test('a limit is counted in the smallest whole units', () => {
  for (const [amount, seconds, unitsPerToken, creditPerMs, full] of [
    [100, 60, 600, 1, 60_000],
    [10_000, 60, 6, 1, 60_000],
    [1, 86_400, 86_400_000, 1, 86_400_000],
    [1_000_000, 86_400, 432, 5, 432_000_000],
    [7, 60, 60_000, 7, 420_000],
  ] as const) {
    const counted = bucketLimit(
      limit({ capacity: amount, refillAmount: amount, refillPeriodSeconds: seconds }),
    )
    assert.deepEqual(counted, { name: 'a', capacity: amount, unitsPerToken, creditPerMs })
    assert.equal(counted.capacity * counted.unitsPerToken, full)
  }
})

test('limits that cannot be counted are named with a reason', () => {
  for (const [limits, reason] of [
    [[], /no limits/],
    [[limit(), limit()], /Two limits have the name "a"/],
    [Array.from({ length: 17 }, (_, i) => limit({ name: `l${i}` })), /at most 16/],
    [[limit({ name: 'a#b' })], /limit name "a#b"/],
    [[limit({ name: '1a' })], /limit name/],
    [[limit({ name: '' })], /limit name/],
    [[limit({ name: `a${'b'.repeat(64)}` })], /limit name/],
    [[limit({ capacity: 0 })], /capacity of the limit "a" is 0/],
    [[limit({ capacity: 1.5 })], /capacity/],
    [[limit({ refillAmount: -1 })], /refillAmount/],
    [[limit({ refillPeriodSeconds: Number.NaN })], /refillPeriodSeconds/],
    [[limit({ refillPeriodSeconds: Number.POSITIVE_INFINITY })], /refillPeriodSeconds/],
    [[limit({ capacity: 1_000_000_000, refillAmount: 7, refillPeriodSeconds: 86_400 })], /exactly/],
    [[limit({ refillPeriodSeconds: Number.MAX_SAFE_INTEGER })], /exactly/],
  ] as const) {
    assert.match(problemOf(limits) ?? '', reason)
    assert.throws(() => checkLimits(limits), WindowpaneError)
  }
  assert.equal(problemOf([limit(), limit({ name: 'B_.-9' })]), undefined)
})
