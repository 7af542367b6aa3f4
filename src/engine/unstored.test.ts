/** Answers that their clients have before they are split and stored. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { EngineRig, ListeningTarget } from '../testing/engine-rig.ts'

/** A rig whose first client has all of its answer, of which nothing is stored yet. */
async function setUp(options: ConstructorParameters<typeof EngineRig>[0] = {}) {
  const rig = new EngineRig(options)
  rig.database.isBusy = true
  const target = new ListeningTarget()
  const first = rig.ask(10, undefined, { target })
  await rig.clock.advance(0)
  assert.deepEqual([target.ending, target.text], ['whole', rig.truth(10)])
  return { rig, first, target }
}

for (const coalescing of [true, false]) {
  test(`who has an answer and asks again finds it stored, coalescing ${coalescing ? 'on' : 'off'}`, async () => {
    const { rig, first } = await setUp({ coalescing })
    const again = await rig.ask(10)
    assert.deepEqual([again.decision.outcome, again.text], ['hit', rig.truth(10)])
    assert.equal(rig.database.asked.length, 1)
    const { answer, decision } = await first
    assert.deepEqual([answer.kind, decision.outcome, decision.stored], ['streamed', 'miss', true])
  })
}

test('the client’s answer ends once, however late it is stored', async () => {
  const { rig, first, target } = await setUp()
  target.ending = undefined
  await rig.ask(10)
  await first
  assert.equal(target.ending, undefined)
})

test('what others ask for does not make haste', async () => {
  const { rig, first } = await setUp()
  let isOver = false
  void first.then(() => {
    isOver = true
  })
  const target = new ListeningTarget()
  void rig.ask(10, undefined, { identity: 'another', target })
  await rig.clock.advance(0)
  assert.deepEqual([target.ending, isOver], ['whole', false])
})

test('an answer that turns out to be unusable is not stored; who asks again is sent to the database', async () => {
  const { rig, first } = await setUp({ valueAt: () => Number.NaN })
  const again = await rig.ask(10)
  assert.equal(again.answer.kind, 'forward')
  const { answer, decision } = await first
  assert.deepEqual([answer.kind, decision.stored], ['streamed', undefined])
})
