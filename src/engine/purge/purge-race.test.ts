/**
 * Purged data does not come back, whatever is in progress; and data that was only marked as changed may be served
 * stale.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type Served, storeWith } from '../../../test/rigs/engine-rig.ts'
import type { Mark } from '../../core/mark.ts'
import type { Store } from '../../stores/store.ts'

const always = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY } as const
const hour = 60 * minuteMs

/** Windows that end this long ago are settled. */
const settledEnd = (rig: EngineRig): number => rig.openCell - 5 * hour
const staleNow = (rig: EngineRig, part: Partial<Mark> = {}): Mark => ({
  ...{ kind: 'stale', ...always, at: rig.clock.now() },
  ...part,
})
const outcomeOf = ({ decision }: Served): string => `${decision.outcome}/${decision.reason ?? ''}`

test('a fetch in progress at a purge answers its waiters, and no later request', async () => {
  const rig = new EngineRig()
  rig.database.lagMs = 1000
  const early = await rig.begin(30)
  await rig.clock.advance(500)
  await rig.purge.run({})
  await rig.clock.advance(1)
  const late = await rig.begin(30)
  assert.equal(rig.database.asked.length, 2, 'a request after the purge does not wait for an earlier flight')
  await rig.clock.advance(499)
  assert.equal(early.served?.text, rig.truth(30))
  assert.equal(early.served?.decision.stored, false)
  assert.equal(typeof late.served, 'undefined')
  await rig.clock.advance(501)
  assert.equal(late.served?.text, rig.truth(30))
  assert.equal(late.served?.decision.collapsed, false)
  assert.equal((await rig.ask(30)).decision.outcome, 'hit', 'buckets fetched after the purge are kept')
})

test('a request before the purge waits for the flight; buckets that land after it are dropped', async () => {
  const rig = new EngineRig()
  rig.database.lagMs = 1000
  const first = await rig.begin(30)
  const second = await rig.begin(30)
  await rig.clock.advance(500)
  await rig.purge.run({ source: 'up' })
  await rig.clock.advance(500)
  assert.deepEqual(
    [first, second].map(({ served }) => served?.text),
    [rig.truth(30), rig.truth(30)],
  )
  assert.equal(rig.database.asked.length, 1)
  const look = await rig.begin(30)
  await rig.clock.advance(1000)
  assert.equal(outcomeOf(look.served!), 'miss/absent')
})

test('a purge of other data, or of another time, is not waited for', async () => {
  const rig = new EngineRig()
  rig.database.lagMs = 1000
  await rig.begin(30)
  await rig.clock.advance(500)
  await rig.purge.run({ source: 'down' })
  await rig.purge.run({ to: rig.openCell - hour })
  const look = await rig.begin(30)
  await rig.clock.advance(500)
  assert.equal(rig.database.asked.length, 1)
  assert.deepEqual([look.served?.decision.collapsed, look.served?.text], [true, rig.truth(30)])
})

test('a write that reaches the store after the purge is ignored there', async () => {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const slowly = (store: Store): Store =>
    storeWith(store, {
      async write(key, entry) {
        await gate
        return store.write(key, entry)
      },
    })
  const rig = new EngineRig({ wrap: slowly })
  const early = await rig.begin(30)
  await rig.clock.advance(1)
  await rig.purge.run({})
  await rig.purge.idle()
  open()
  await rig.clock.advance(1)
  assert.equal(early.served?.decision.stored, true, 'the store has it')
  assert.equal(outcomeOf(await rig.ask(30)), 'miss/purged')
  assert.deepEqual([rig.database.asked.length, (await rig.ask(30)).decision.outcome], [2, 'hit'])
})

test('of a fetch that a purge has cut in two, both ends are kept', async () => {
  const rig = new EngineRig()
  const to = settledEnd(rig)
  rig.database.lagMs = 1000
  const asking = rig.ask(60, to)
  await rig.clock.advance(500)
  const middle = { from: to - 40 * minuteMs, to: to - 30 * minuteMs }
  await rig.purge.run(middle)
  await rig.clock.advance(500)
  assert.equal((await asking).text, rig.truth(60, to))
  rig.database.lagMs = 0
  const look = await rig.ask(60, to)
  assert.equal(look.text, rig.truth(60, to))
  const [, { from, to: end }] = rig.database.asked as [unknown, { from: number; to: number }]
  assert.deepEqual({ from, to: end }, middle)
})

test('a purge by time refetches exactly the touched cells, and the rest is served unchanged', async () => {
  const rig = new EngineRig()
  const to = settledEnd(rig)
  await rig.ask(60, to)
  await rig.clock.advance(1000)
  const dry = await rig.purge.count({ from: to - 10.5 * minuteMs, to: to - 9.5 * minuteMs })
  const { buckets, at } = await rig.purge.run({ from: to - 10.5 * minuteMs, to: to - 9.5 * minuteMs })
  assert.deepEqual([dry.buckets, buckets, at], [2, 2, rig.clock.now()])
  await rig.clock.advance(1)
  assert.equal((await rig.ask(49, to - 11 * minuteMs)).decision.outcome, 'hit')
  assert.equal((await rig.ask(9, to)).decision.outcome, 'hit')
  const look = await rig.ask(60, to)
  assert.deepEqual([look.decision.outcome, look.decision.asked], ['partial', 2])
  assert.equal(look.text, rig.truth(60, to))
  assert.equal((await rig.ask(60, to)).decision.outcome, 'hit')
})

const down = { reason: 'database_unreachable', detail: 'connect ECONNREFUSED' } as const

test('purged buckets are not served when the database is down, changed ones are', async () => {
  for (const kind of ['purge', 'stale'] as const) {
    const rig = new EngineRig()
    await rig.ask(60)
    await rig.clock.advance(1000)
    await rig.marks.add(staleNow(rig, { kind }))
    rig.database.failure = down
    await rig.clock.advance(2000)
    const look = await rig.ask(60)
    assert.equal(look.decision.outcome, kind === 'purge' ? 'error' : 'stale')
    if (kind === 'stale') assert.equal(look.decision.ttlSeconds, -2, 'stale since it was marked')
  }
})

test('known-empty buckets are forgotten by a purge too', async () => {
  const midnight = Date.UTC(2026, 0, 1)
  const missing: unknown[] = []
  for (const selection of [{ source: 'down' }, { from: midnight }]) {
    const rig = new EngineRig({ valueAt: (start) => (start < midnight ? 1 : undefined) })
    await rig.ask(60)
    await rig.purge.run(selection)
    rig.database.failure = down
    await rig.clock.advance(10_000)
    const { decision } = await rig.ask(60)
    assert.equal(decision.outcome, 'stale')
    missing.push(decision.missing)
  }
  const openCell = '2026-01-01T00:00:00.000Z'
  assert.deepEqual(missing, [undefined, `${openCell}/${openCell}`])
})

test('buckets marked as changed are fetched at the next request', async () => {
  const rig = new EngineRig()
  const to = settledEnd(rig)
  await rig.ask(60, to)
  await rig.clock.advance(1000)
  await rig.marks.add(staleNow(rig, { from: to - 10 * minuteMs, to }))
  await rig.clock.advance(1)
  const look = await rig.ask(60, to)
  assert.deepEqual([outcomeOf(look), look.decision.asked], ['partial/purged', 10])
  assert.equal(look.text, rig.truth(60, to))
  assert.equal((await rig.ask(60, to)).decision.outcome, 'hit')
})

test('an explanation shows the purge, and equals the outcome', async () => {
  const rig = new EngineRig()
  const to = settledEnd(rig)
  await rig.ask(60, to)
  await rig.clock.advance(1000)
  const at = rig.clock.now()
  await rig.marks.add({ kind: 'purge', from: to - 10 * minuteMs, to: to - 5 * minuteMs, at })
  await rig.marks.add({ kind: 'stale', from: to - 5 * minuteMs, to: to - 4 * minuteMs, at })
  const told = await rig.explain(60, to)
  assert.equal(
    told.sentence,
    'Partial: 54 of 60 buckets are fresh; 5 were purged at 2026-01-01T00:00:01.000Z, 1 was marked as changed at 2026-01-01T00:00:01.000Z and would be fetched.',
  )
  assert.deepEqual([told.reason, told.asked?.buckets], ['purged', 6])
  assert.deepEqual(
    told.runs?.map(({ state, buckets, mark }) => [state, buckets, mark?.kind]),
    [
      ['fresh', 50, undefined],
      ['absent', 5, 'purge'],
      ['stale', 1, 'stale'],
      ['fresh', 4, undefined],
    ],
  )
  assert.deepEqual(
    told.marks?.map(({ kind, buckets }) => [kind, buckets]),
    [
      ['purge', 5],
      ['stale', 1],
    ],
  )
  const look = await rig.ask(60, to)
  assert.deepEqual([look.decision.reason, look.decision.asked], ['purged', 6])
})
