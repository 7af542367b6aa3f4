/** The suite's own geometry, without any server: the behaviour of a correct cache. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planWalk, type Run } from './itinerary.ts'
import { KnownBuckets } from './model.ts'
import { forms } from './queries.ts'
import { seededRandom } from './random.ts'
import { encode, spellInstant, spellStep } from './spelling.ts'

const to = Date.parse('2025-03-01T00:00:00Z')
const run: Run = { seed: 7, span: { from: to - 86_400_000, to }, forms, replay: '' }

test('a walk depends on nothing but the seed and its number', () => {
  const written = (number: number) =>
    planWalk(run, number).stops.map(({ ask }) => [ask.method, encode(ask.search), encode(ask.form)])
  const forwards = [0, 1, 2, 500].map(written)
  const backwards = [500, 2, 1, 0].map(written).reverse()
  assert.deepEqual(forwards, backwards)
})

test('a perfect interval cache reaches the shares that the suite asserts, with room to spare', () => {
  const counts = { hit: 0, partial: 0, miss: 0, other: 0 }
  const known = new KnownBuckets()
  let points = 0
  for (let number = 0; number < 2500; number++) {
    const { form, question, stops } = planWalk(run, number)
    for (const { window } of stops) {
      points += Math.floor((window.end - window.start) / window.step) + 1
      counts[form.eligible ? known.ask(question, window).outcome : 'other']++
    }
  }
  const total = counts.hit + counts.partial + counts.miss + counts.other
  assert.ok(counts.hit / total > 0.43, `hit ${counts.hit / total}`)
  assert.ok(counts.partial / total > 0.28, `partial ${counts.partial / total}`)
  assert.ok(counts.other / total < 0.1, `other ${counts.other / total}`)
  assert.ok(points / total < 200, `points per request ${points / total}`)
})

test('every spelling of an instant means that instant', () => {
  const random = seededRandom(1)
  for (let i = 0; i < 500; i++) {
    const ms = to + random.int(0, 100) * 500 + random.pick([0, 0, 1, 37])
    const text = spellInstant(ms, random)
    const read = text.includes('T') ? Date.parse(text) : Math.round(Number(text) * 1000)
    assert.equal(read, ms, text)
  }
})

test('steps are spelled as numbers and as durations', () => {
  const random = seededRandom(2)
  const texts = new Set(Array.from({ length: 100 }, () => spellStep(61_337, random)))
  assert.deepEqual([...texts].sort(), ['1m1s337ms', '61.337', '61337ms'])
})

test('the model fetches from the first gap to the last and trusts a known suffix', () => {
  const known = new KnownBuckets()
  const ask = (first: number, last: number) =>
    known.ask('up', { start: first * 10, end: last * 10 + 3, step: 10 })
  assert.deepEqual(ask(10, 19), { asked: 10, outcome: 'miss' })
  assert.deepEqual(ask(12, 15), { asked: 0, outcome: 'hit' })
  assert.deepEqual(ask(12, 21), { asked: 2, outcome: 'partial' })
  assert.deepEqual(ask(5, 15), { asked: 5, outcome: 'partial' })
  assert.deepEqual(ask(40, 41), { asked: 2, outcome: 'miss' })
  assert.deepEqual(ask(20, 45), { asked: 24, outcome: 'partial' })
})
