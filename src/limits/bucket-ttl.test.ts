import assert from 'node:assert/strict'
import test from 'node:test'
import { bucketTtlSeconds } from './bucket-ttl.ts'
import type { Limit, LimitSource } from './limit.ts'

const per = (refillAmount: number, refillPeriodSeconds: number, capacity = refillAmount): Limit => ({
  ...{ name: `l${refillAmount}`, capacity, refillAmount, refillPeriodSeconds },
})
const minute = 60
const slow = per(10, minute, 1000)

test('the ttl is seven times the longest time to fill', () => {
  for (const [limits, seconds] of [
    [[per(100, minute)], 420],
    [[slow], 42_000],
    [[per(100, minute), slow], 42_000],
    [[per(10_000, minute, 15_000)], 630],
    [[per(1000, 86_400)], 604_800],
  ] as const)
    assert.equal(bucketTtlSeconds(limits, { source: 'system' }), seconds)
})

test('only limits of the entity itself, and a multiplier of 0, mean that there is none', () => {
  assert.equal(bucketTtlSeconds([slow], { source: 'entity' }), 'none')
  for (const source of ['entity_default', 'resource', 'system', 'override'] satisfies LimitSource[]) {
    assert.equal(bucketTtlSeconds([slow], { source }), 42_000)
    assert.equal(bucketTtlSeconds([slow], { source, multiplier: 0 }), 'none')
    assert.equal(bucketTtlSeconds([slow], { source, multiplier: -1 }), 'none')
  }
})

test('a ttl is never 0: 1000 a minute, one at a time', () => {
  assert.equal(bucketTtlSeconds([per(1000, minute, 1)], { source: 'system' }), 1)
})

test('debt is paid before the row is collected', () => {
  const limit = per(1000, minute)
  assert.equal(bucketTtlSeconds([limit], { source: 'system', level: -10_000 }), 660)
  assert.equal(bucketTtlSeconds([limit], { source: 'system', level: 0 }), 420)
  assert.equal(bucketTtlSeconds([limit, slow], { source: 'system', level: { l10: -10_000 } }), 66_000)
  assert.equal(bucketTtlSeconds([limit], { source: 'system', multiplier: 0.5, level: { l1000: 0 } }), 60)
})

test('wrong limits and multipliers are mistakes in the program', () => {
  assert.throws(() => bucketTtlSeconds([], { source: 'system' }), /no limits/)
  assert.throws(() => bucketTtlSeconds([slow], { source: 'system', multiplier: Number.NaN }), /multiplier/)
})
