import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Limit, Permit, Refusal } from '../../limits/limit.ts'
import { limiter } from '../../limits/limiter.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { RequestTokens } from './request-tokens.ts'

const start = Date.UTC(2026, 0, 1)
const limits: readonly Limit[] = [
  { name: 'requests', capacity: 1000, refillAmount: 1, refillPeriodSeconds: 3600 },
]

/** Threads that count in the same rows. */
function newRig({ isRemote = false } = {}) {
  const clock = fakeClock(start)
  const counting = limiter(memoryCells({ clock }), { clock })
  let acquired = 0
  const acquire = (request: { entity: string; consume: Readonly<Record<string, number>> }) => {
    acquired++
    const outcome = counting.acquire({ ...request, resource: 'main', limits })
    return isRemote ? Promise.resolve(outcome) : outcome
  }
  const newThread = () => {
    const tokens = new RequestTokens(clock, () => rig.changes)
    return { take: (entity = 'a') => tokens.take({ entity, terms: rig }, acquire) }
  }
  const rig = { clock, newThread, acquired: () => acquired, changes: 0 }
  return rig
}

const leftOf = ({ limits: [requests] }: Permit | Refusal): number => requests!.available

test('a thread admits exactly the capacity, with far fewer takes', () => {
  const { newThread, acquired } = newRig()
  const { take } = newThread()
  for (let i = 1; i <= 1000; i++) {
    const taken = take() as Permit
    assert.deepEqual([taken.ok, leftOf(taken)], [true, 1000 - i])
  }
  const refusal = take() as Refusal
  assert.deepEqual([refusal.ok, refusal.cause, refusal.retryAfterSeconds], [false, 'exceeded', 3600])
  assert.ok(acquired() < 200, `${acquired()} takes`)
})

test('a client with few requests holds no token in reserve', async () => {
  const { clock, newThread } = newRig()
  const [one, other] = [newThread(), newThread()]
  for (let i = 1; i <= 20; i++) {
    assert.equal(leftOf((await (i % 2 ? one : other).take()) as Permit), 1000 - i)
    await clock.advance(150)
  }
})

test('tokens that are not used are given back after a second', async () => {
  const { clock, newThread } = newRig()
  const [one, other] = [newThread(), newThread()]
  for (let i = 0; i < 50; i++) one.take()
  assert.ok(leftOf((await other.take()) as Permit) < 949, 'the first thread holds a few')
  await clock.advance(2000)
  assert.equal(leftOf((await other.take()) as Permit), 948)
})

test('several threads together never admit more than the capacity, and in the end all of it', async () => {
  const { clock, newThread } = newRig({ isRemote: true })
  const threads = [newThread(), newThread(), newThread()]
  let admitted = 0
  for (let round = 0; round < 12; round++) {
    const taken = await Promise.all(
      threads.flatMap(({ take }) => Array.from({ length: 100 }, async () => take())),
    )
    admitted += taken.filter(({ ok }) => ok).length
    assert.ok(admitted <= 1000)
    await clock.advance(2000)
  }
  assert.equal(admitted, 1000)
})

test('requests that come while tokens are fetched share the fetch, and a refusal', async () => {
  const { newThread, acquired } = newRig({ isRemote: true })
  const { take } = newThread()
  const first = await Promise.all(Array.from({ length: 2000 }, async () => take()))
  assert.equal(first.filter(({ ok }) => ok).length, 1000)
  assert.ok(acquired() < 300, `${acquired()} takes`)
})

test('clients do not share tokens', () => {
  const { take } = newRig().newThread()
  for (let i = 0; i < 100; i++) take('a')
  assert.equal(leftOf(take('b') as Permit), 999)
})

test('tokens that were taken before limits changed are neither used nor given back', async () => {
  const rig = newRig()
  const { take } = rig.newThread()
  for (let i = 0; i < 50; i++) take()
  const held = 950 - leftOf((await rig.newThread().take()) as Permit) - 1
  assert.ok(held > 0)
  rig.changes++
  assert.equal(leftOf(take() as Permit), 950 - 2 - held)
  await rig.clock.advance(3000)
  assert.equal(leftOf(take() as Permit), 950 - 3 - held)
})
