import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RestartBackoff } from './restart-backoff.ts'

test('a worker that ends soon after its start waits twice as long each time, up to half a minute', () => {
  const backoff = new RestartBackoff()
  const delays = Array.from({ length: 8 }, () => backoff.next(1, 10))
  assert.deepEqual(delays, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  assert.equal(backoff.next(2, 10), 500, 'other places are unaffected')
})

test('a worker that ran for more than a minute starts again soon', () => {
  const backoff = new RestartBackoff()
  backoff.next(1, 10)
  assert.equal(backoff.next(1, 60_000), 1000)
  assert.equal(backoff.next(1, 60_001), 500)
  assert.equal(backoff.next(1, 10), 1000)
})
