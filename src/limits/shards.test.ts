import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { Limit } from './limit.ts'
import { shardCount, shardsToTry, shareOf } from './shards.ts'

const limitArbitrary = fc.record<Limit>({
  name: fc.constant('a'),
  capacity: fc.integer({ min: 1, max: 10_000 }),
  refillAmount: fc.integer({ min: 1, max: 10_000 }),
  refillPeriodSeconds: fc.constantFrom(1, 60, 86_400),
})

test('the shares add up to the limit: no token and no credit is lost in the division', () => {
  fc.assert(
    fc.property(limitArbitrary, fc.integer({ min: 1, max: 40 }), (limit, asked) => {
      const count = shardCount(asked, [limit])
      const shares = Array.from({ length: count }, (_, shard) => shareOf(limit, shard, count))
      assert.equal(
        shares.reduce((sum, { capacity }) => sum + capacity, 0),
        limit.capacity,
      )
      assert.ok(shares.every(({ capacity }) => capacity > 0))
      // count * credit / units = amount / period, without division.
      for (const { creditPerMs, unitsPerToken } of shares)
        assert.equal(
          BigInt(count) * BigInt(creditPerMs) * BigInt(limit.refillPeriodSeconds * 1000),
          BigInt(limit.refillAmount) * BigInt(unitsPerToken),
        )
    }),
  )
})

test('a request is charged to at most three shards, and only to shards that can hold it', () => {
  const cost = fc.integer({ min: 0, max: 10_000 })
  fc.assert(
    fc.property(limitArbitrary, fc.integer({ min: 1, max: 40 }), cost, (limit, asked, cost) => {
      const count = shardCount(asked, [limit])
      const shares = Array.from({ length: count }, (_, shard) => [shareOf(limit, shard, count)])
      const tried = shardsToTry(
        shares,
        () => cost,
        () => 0.99,
      )
      assert.equal(new Set(tried).size, tried.length)
      assert.ok(tried.length <= 3)
      if (count > 1)
        assert.ok(tried.every((shard) => shard < count && cost <= shareOf(limit, shard, count).capacity))
      const isPossible = cost <= shareOf(limit, 0, count).capacity
      if (count > 1) assert.equal(tried.length > 0, isPossible)
    }),
  )
})
