import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from '../testing/fake-clock.ts'
import { inTime } from './deadline.ts'

test('an immediate value is returned unchanged, without a timer', () => {
  const clock = fakeClock(0)
  assert.equal(inTime('value', clock, 10), 'value')
  assert.equal(clock.pending, 0)
})

test('a value that comes in time is returned, without a remaining timer', async () => {
  const clock = fakeClock(0)
  assert.equal(await inTime(Promise.resolve('value'), clock, 10), 'value')
  await assert.rejects(async () => inTime(Promise.reject(new Error('broken')), clock, 10), /broken/)
  await clock.advance(0)
  assert.equal(clock.pending, 0)
})

test('a value that does not come in time is a timeout', async () => {
  const clock = fakeClock(0)
  const late = assert.rejects(async () => inTime(new Promise(() => {}), clock, 10), /in time/)
  await clock.advance(10)
  await late
})
