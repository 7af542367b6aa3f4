import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from '../testing/fake-clock.ts'
import { SingleTimer } from './single-timer.ts'

test('a timer that is started several times runs its action once, after the first delay', async () => {
  const clock = fakeClock()
  let runs = 0
  const timer = new SingleTimer(clock, () => runs++)
  timer.start(100)
  timer.start(50)
  await clock.advance(99)
  assert.equal(runs, 0)
  await clock.advance(1)
  assert.equal(runs, 1)
  assert.equal(clock.pending, 0)
})

test('its action can start it again', async () => {
  const clock = fakeClock()
  const ranAt: number[] = []
  const timer = new SingleTimer(clock, () => {
    ranAt.push(clock.elapsed())
    if (ranAt.length < 2) timer.start(30)
  })
  timer.start(100)
  await clock.advance(1000)
  assert.deepEqual(ranAt, [100, 130])
})
