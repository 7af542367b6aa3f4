import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixed } from './fixed.ts'
import { ladder } from './ladder.ts'
import { stretched } from './stretched.ts'

const hour = 3_600_000

test('a stretched ladder reaches its cap at the settled age, and not before', () => {
  const usual = ladder()
  const slow = stretched(usual, hour)
  assert.equal(slow.settledAgeMs, hour)
  assert.equal(slow.ttl(hour), usual.capMs)
  assert.ok(slow.ttl(hour - 1) < usual.capMs)
  assert.deepEqual([slow.ttl(-1), slow.ttl(0)], [usual.ttl(-1), usual.ttl(0)])
  for (let age = 0; age <= 2 * hour; age += 10_000) assert.ok(slow.ttl(age) <= usual.ttl(age), String(age))
})

test('a policy that reaches its cap later is left as it is, and one with a single TTL keeps it', () => {
  const late = ladder({ floorMs: 5000, doublingMs: hour, capMs: hour })
  assert.equal(stretched(late, hour), late)
  const single = stretched(fixed(60_000), hour)
  assert.deepEqual([single.settledAgeMs, single.ttl(0), single.ttl(hour)], [hour, 60_000, 60_000])
})
