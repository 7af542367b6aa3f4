import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visits } from '../../test/rigs/visits.ts'
import { OriginLatency } from './origin-latency.ts'
import { type RequestRecord, recordOf } from './record.ts'

const hit = recordOf('main', visits.hit)

const savedBy = (record: RequestRecord, latencies: readonly number[] = [100]): readonly number[] => {
  const latency = new OriginLatency()
  for (const ms of latencies) latency.observe(ms)
  latency.countSaved(record)
  return [latency.saved.queries, latency.saved.seconds]
}

test('a hit saves one query and the average time of a query', () => {
  assert.deepEqual(savedBy(hit), [1, 0.1])
  assert.deepEqual(savedBy(hit, []), [1, 0])
})

test('the average follows a database that becomes slower', () => {
  const slow = Array.from({ length: 100 }, () => 1000)
  const [, seconds] = savedBy(hit, [100, ...slow])
  assert.ok(seconds! > 0.99 && seconds! <= 1, String(seconds))
})

test('a coalesced request saves a query; one that sent a query, or was forwarded, does not', () => {
  const miss: RequestRecord = { ...hit, outcome: 'miss', asked: 0, isCollapsed: true }
  assert.deepEqual(savedBy(miss), [1, 0.1])
  assert.deepEqual(savedBy({ ...miss, asked: 3 }), [0, 0])
  assert.deepEqual(savedBy({ ...miss, isForwarded: true }), [0, 0])
  assert.deepEqual(savedBy({ ...hit, outcome: 'stale' }), [0, 0])
  assert.deepEqual(savedBy({ ...hit, outcome: 'bypass' }), [0, 0])
})
