/** Observations that a thread sends to the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from '../testing/fake-clock.ts'
import type { LearnedEvent } from '../ttl/learned/learning.ts'
import { type LearnedBatch, LearnedRelay } from './learned-relay.ts'

const refetch = (buckets: number): LearnedEvent => ({
  ...{ kind: 'refetch', shape: { key: 'k', sources: ['up'] }, at: 0 },
  oldAges: new Float64Array(buckets).fill(1),
  newAges: new Float64Array(buckets).fill(2),
  changed: new Uint8Array(buckets).fill(1),
})

function stand() {
  const clock = fakeClock()
  const sent: LearnedBatch[] = []
  const relay = new LearnedRelay({ clock, send: (batch) => sent.push(structuredClone(batch)) })
  return { clock, sent, relay }
}

test('events are sent together, a moment later, as they are', async () => {
  const { clock, sent, relay } = stand()
  const sample: LearnedEvent = { kind: 'sample', at: 1, ageMs: 2, isStale: true, error: 0.5 }
  relay.add('main', refetch(3))
  relay.add('other', sample)
  await clock.advance(99)
  assert.equal(sent.length, 0)
  await clock.advance(1)
  const events = [
    { backend: 'main', event: refetch(3) },
    { backend: 'other', event: sample },
  ]
  assert.deepEqual(sent, [{ kind: 'learned', events, dropped: new Map() }])
  await clock.advance(1000)
  assert.equal(sent.length, 1, 'nothing is sent where nothing was observed')
})

test('a batch about many buckets does not wait', () => {
  const { sent, relay } = stand()
  for (let i = 0; i < 5; i++) relay.add('main', refetch(8192))
  assert.deepEqual(
    sent.map(({ events }) => events.length),
    [2, 2],
  )
})

test('a main thread that takes nothing is not sent more without end; dropped events are counted', async () => {
  const { clock, sent, relay } = stand()
  for (let i = 0; i < 100; i++) {
    relay.add(i % 2 === 0 ? 'main' : 'other', refetch(1))
    await clock.advance(100)
  }
  assert.equal(sent.length, 16)
  relay.taken()
  await clock.advance(100)
  const dropped = new Map([
    ['main', 42],
    ['other', 42],
  ])
  assert.deepEqual(sent.slice(16), [{ kind: 'learned', events: [], dropped }])
})
