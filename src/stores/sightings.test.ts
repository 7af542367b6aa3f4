/** The number of times that a shape was seen, beside more shapes than there is memory for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from '../testing/fake-clock.ts'
import { Sightings } from './sightings.ts'

const periodMs = 3_600_000
const newSightings = () => {
  const clock = fakeClock()
  return { clock, sightings: new Sightings(clock, periodMs) }
}

test('of 300 000 shapes that are seen once none counts as seen before, and those in use stay known', () => {
  const { sightings } = newSightings()
  let [wrong, forgotten] = [0, 0]
  for (let n = 0; n < 300_000; n++) {
    if (sightings.see(`once ${n}`) !== 1) wrong++
    // 2 000 shapes, each seen again after 6 000 others.
    if (n % 3 === 0 && sightings.see(`often ${(n / 3) % 2000}`) < (n < 6000 ? 1 : 2)) forgotten++
  }
  assert.ok(wrong < 30, `${wrong} of 300 000 counted twice`)
  assert.ok(forgotten < 100, `${forgotten} of 98 000 counted as new`)
})

test('a shape counts for one period at least, and is new after two', async () => {
  const { clock, sightings } = newSightings()
  assert.equal(sightings.see('a', 2), 2)
  assert.equal(sightings.count('b'), 0)
  await clock.advance(periodMs)
  assert.equal(sightings.see('a'), 3)
  assert.equal(sightings.count('a'), 3)
  await clock.advance(2 * periodMs)
  assert.equal(sightings.see('a'), 1)
})

test('a counter stays at its highest value', () => {
  const { sightings } = newSightings()
  for (let i = 0; i < 300; i++) sightings.see('a')
  assert.equal(sightings.see('a', 200), 255)
})
