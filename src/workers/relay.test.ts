/** The reports of a thread to the main thread, and their timing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newDecision } from '../core/decision.ts'
import { recordOf, type Visit } from '../telemetry/record.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { recordsIn } from './record-columns.ts'
import { type Batch, Relay, type Topic } from './relay.ts'

const visit = (path = '/x'): Visit => ({
  ...{ decision: { ...newDecision(), outcome: 'hit' }, method: 'GET', path, plan: undefined },
  ...{ wire: undefined, isForwarded: false, ending: 'whole', status: 200, bytes: 1, totalMs: 1, endedAt: 2 },
})

function stand() {
  const clock = fakeClock()
  const sent: (Batch | Topic)[] = []
  const relay = new Relay({ clock, send: (message) => sent.push(structuredClone(message)) })
  const batches = () => sent.filter((message) => message.kind === 'batch')
  return { clock, relay, sent, batches, hooks: relay.hooks('main') }
}

test('requests are reported together, a moment later', async () => {
  const { clock, batches, hooks } = stand()
  for (let i = 0; i < 3; i++) hooks.observe(visit())
  await clock.advance(99)
  assert.equal(batches().length, 0)
  await clock.advance(1)
  assert.deepEqual(
    batches().map(({ records }) => records.count),
    [3],
  )
  await clock.advance(1000)
  assert.equal(batches().length, 1, 'there is no report of nothing')
})

test('records come out as they went in, each with its own shape', async () => {
  const { clock, batches, hooks } = stand()
  const paths = ['/a', '/b', '/a', '/c', '/b']
  for (const path of paths) hooks.observe(visit(path))
  await clock.advance(100)
  for (const path of ['/c', '/a']) hooks.observe(visit(path))
  await clock.advance(100)
  const expected = (path: string) => recordOf('main', visit(path))
  const told = () => batches().map(({ records }) => [...recordsIn(records)])
  assert.deepEqual(told(), [paths.map(expected), ['/c', '/a'].map(expected)])
})

test('a long batch does not wait', () => {
  const { batches, hooks } = stand()
  for (let i = 0; i < 1100; i++) hooks.observe(visit())
  assert.deepEqual(
    batches().map(({ records }) => records.count),
    [512, 512],
  )
})

test('a main thread that falls behind gets no endless reports; dropped requests are counted', async () => {
  const { clock, relay, batches, hooks } = stand()
  for (let i = 0; i < 100 * 512; i++) hooks.observe(visit())
  assert.equal(batches().length, 64)
  for (let i = 0; i < 64; i++) relay.taken()
  hooks.observe(visit())
  await clock.advance(100)
  const last = batches().at(-1)!
  assert.equal(last.records.count, 1)
  assert.equal(last.leftOut, 36 * 512)
})

test('a change of a topic is reported at once', () => {
  const { relay, sent } = stand()
  relay.log.change('traces', { is: 'the collector takes them', isGood: true })
  relay.log.line('info', 'the main thread says this itself')
  assert.deepEqual(
    sent.map(({ kind }) => kind),
    ['topic'],
  )
})
