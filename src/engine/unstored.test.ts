/** Answers that their clients have before they are stored. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { EngineRig, storeWith } from '../../test/rigs/engine-rig.ts'
import { ListeningTarget } from '../../test/rigs/listening-target.ts'
import { ladder } from '../ttl/ladder.ts'
import { Backlog } from './backlog.ts'

/** A rig whose first client has all of its answer, of which nothing is stored before `store` is called. */
async function setUp(options: ConstructorParameters<typeof EngineRig>[0] = {}) {
  let store = () => {}
  const gate = new Promise<void>((resolve) => {
    store = resolve
  })
  const rig = new EngineRig({
    wrap: (memory) => storeWith(memory, { write: (key, entry) => gate.then(() => memory.write(key, entry)) }),
    ...options,
  })
  const target = new ListeningTarget()
  const first = rig.ask(10, undefined, { target })
  await rig.clock.advance(0)
  assert.deepEqual([target.ending, target.text], ['whole', rig.truth(10)])
  return { rig, first, target, store }
}

for (const coalescing of [true, false]) {
  test(`a client that has an answer and repeats its request gets a hit, coalescing ${coalescing ? 'on' : 'off'}`, async () => {
    const { rig, first, store } = await setUp({ coalescing })
    const again = rig.ask(10)
    await rig.clock.advance(0)
    store()
    const { decision, text } = await again
    assert.deepEqual([decision.outcome, text], ['hit', rig.truth(10)])
    assert.equal(rig.database.asked.length, 1)
    const { answer, decision: missed } = await first
    assert.deepEqual([answer.kind, missed.outcome, missed.stored], ['streamed', 'miss', true])
  })
}

test('no request splits the answer of another: it waits for the turn in which that is done', async () => {
  const turns: (() => void)[] = []
  const backlog = new Backlog({ elapsed: () => 0 }, { afterTurn: (action) => turns.push(action) })
  const rig = new EngineRig({ backlog })
  const target = new ListeningTarget()
  const first = rig.ask(10_000, undefined, { target })
  await rig.clock.advance(0)
  assert.equal(target.ending, 'whole')
  const again = await rig.begin(10_000)
  const part = await rig.begin(10)
  const { outcome } = await rig.explain(10_000)
  const waits = [again, part].map(({ served }) => served === undefined)
  assert.deepEqual([turns.length, waits, outcome], [1, [true, true], 'miss'])
  turns.shift()!()
  await first
  await rig.clock.advance(0)
  assert.ok(again.served?.text === rig.truth(10_000) && part.served?.text === rig.truth(10))
  assert.deepEqual([again.served.decision.outcome, part.served.decision.outcome], ['hit', 'hit'])
  assert.equal(rig.database.asked.length, 1)
})

test('requests for other keys do not wait', async () => {
  const { rig } = await setUp()
  const target = new ListeningTarget()
  void rig.ask(10, undefined, { identity: 'another', target })
  await rig.clock.advance(0)
  assert.equal(target.ending, 'whole')
})

test('a client that leaves while it waits is not answered', async () => {
  const { rig, store } = await setUp()
  const client = { isGone: false, onGone() {} }
  const again = rig.ask(10, undefined, { client })
  await rig.clock.advance(0)
  client.isGone = true
  store()
  assert.equal((await again).answer.kind, 'client-gone')
})

test('a store that never answers delays the next request no longer than its time limit', async () => {
  const { rig } = await setUp({
    wrap: (memory) => storeWith(memory, { write: () => new Promise(() => {}) }),
  })
  const target = new ListeningTarget()
  void rig.ask(10, undefined, { target })
  await rig.clock.advance(999)
  assert.equal(target.ending, undefined)
  await rig.clock.advance(1)
  assert.equal(target.ending, 'whole')
})

test('an answer that turns out to be unusable is not stored; a repeated request is sent to the database', async () => {
  const { rig, first } = await setUp({ valueAt: () => Number.NaN })
  const again = await rig.ask(10)
  assert.equal(again.answer.kind, 'forward')
  const { answer, decision } = await first
  assert.deepEqual([answer.kind, decision.stored], ['streamed', undefined])
})

test('a policy that fails costs the next request a query: neither its answer nor the answer of this one', async () => {
  const rig = new EngineRig()
  const usual = rig.policy
  const broken = () => {
    throw new RangeError('Array buffer allocation failed')
  }
  rig.policy = { ...ladder(), ttl: broken }
  const target = new ListeningTarget()
  const first = await rig.ask(10, undefined, { target })
  assert.deepEqual([target.ending, target.text], ['whole', rig.truth(10)])
  assert.deepEqual(
    [first.answer.kind, first.decision.stored, first.decision.detail],
    ['streamed', undefined, 'not stored: RangeError: Array buffer allocation failed'],
  )
  rig.policy = usual
  const again = await rig.ask(10)
  assert.deepEqual([again.decision.outcome, again.text], ['miss', rig.truth(10)])
  assert.equal((await rig.ask(10)).decision.outcome, 'hit')
})

for (const late of [false, true]) {
  test(`a policy that fails at a lookup forwards the request, store ${late ? 'by promise' : 'at once'}`, async () => {
    const rig = new EngineRig({
      wrap: (memory) =>
        storeWith(memory, {
          read(key, interval, stale) {
            const found = memory.read(key, interval, stale)
            return late ? Promise.resolve(found) : found
          },
        }),
    })
    await rig.ask(10)
    rig.policy = { ...ladder(), ttl: () => assert.fail('broken') }
    const { answer } = await rig.ask(10)
    assert.deepEqual(answer, { kind: 'forward', reason: 'store_failed' })
  })
}
