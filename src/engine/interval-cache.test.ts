import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type RigOptions, type Served, storeWith } from '../../test/rigs/engine-rig.ts'
import type { Store } from '../stores/store.ts'
import { fixed } from '../ttl/fixed.ts'
import { ladder } from '../ttl/ladder.ts'

/** Half a minute past midnight: the open cell is half over. Under the ladder a cell settles 11 minutes after its end. */
async function newRig(options?: RigOptions): Promise<EngineRig> {
  const rig = new EngineRig(options)
  await rig.clock.advance(30_000)
  return rig
}

/** The fetched cells, per query, since the last call. */
const askedCells = (rig: EngineRig): number[] => rig.database.asked.splice(0).map((query) => query.cells)

const assertTrue = ({ text }: Served, truth: string): void => assert.equal(text, truth)

test('a first request fetches everything, a second at once nothing', async () => {
  const rig = await newRig()
  const first = await rig.ask(180)
  assertTrue(first, rig.truth(180))
  const { outcome, reason, buckets, asked, stored, upstreamStatus } = first.decision
  assert.deepEqual(
    { outcome, reason, buckets, asked, stored, upstreamStatus },
    { outcome: 'miss', reason: 'absent', buckets: 180, asked: 180, stored: true, upstreamStatus: 200 },
  )
  await rig.clock.advance(2000)
  const second = await rig.ask(180)
  assertTrue(second, rig.truth(180))
  assert.deepEqual(
    [second.decision.outcome, second.decision.ageSeconds, second.decision.ttlSeconds],
    ['hit', 2, 3],
  )
  assert.deepEqual(second.answer.kind === 'panes' && second.answer.headers, [
    'Content-Type',
    'application/json',
  ])
  assert.deepEqual(askedCells(rig), [180])
})

test('a rolling window fetches only its tail', async () => {
  const rig = await newRig()
  await rig.ask(180)
  await rig.clock.advance(10_000)
  const look = await rig.ask(180)
  assertTrue(look, rig.truth(180))
  assert.deepEqual([look.decision.outcome, look.decision.reason], ['partial', 'expired'])
  await rig.clock.advance(minuteMs)
  assertTrue(await rig.ask(180), rig.truth(180))
  // Ten seconds outdate the open cell and three more; the minute that follows two more, and brings a new cell.
  assert.deepEqual(askedCells(rig), [180, 4, 7])
})

test('panning left fetches only the head', async () => {
  const rig = await newRig()
  const to = rig.openCell - 1440 * minuteMs
  await rig.ask(60, to)
  assertTrue(await rig.ask(60, to - 10 * minuteMs), rig.truth(60, to - 10 * minuteMs))
  assert.deepEqual(rig.database.asked[1], {
    at: rig.clock.now(),
    from: to - 70 * minuteMs,
    to: to - 60 * minuteMs,
    cells: 10,
  })
})

test('zooming out fetches only the head where the suffix is settled', async () => {
  const rig = await newRig()
  const to = rig.openCell - 60 * minuteMs
  await rig.ask(60, to)
  assertTrue(await rig.ask(180, to), rig.truth(180, to))
  assert.deepEqual(askedCells(rig), [60, 120])
})

test('a fresh suffix that is not settled is fetched with the head', async () => {
  const rig = await newRig()
  await rig.ask(60)
  assertTrue(await rig.ask(100), rig.truth(100))
  assert.deepEqual(askedCells(rig), [60, 100])
})

test('a hole in the middle is fetched up to the settled suffix', async () => {
  const rig = await newRig()
  const to = rig.openCell - 60 * minuteMs
  await rig.ask(20, to)
  await rig.ask(20, to - 50 * minuteMs)
  assertTrue(await rig.ask(70, to), rig.truth(70, to))
  assert.deepEqual(askedCells(rig), [20, 20, 30])
})

test('another question, or another reader, shares nothing', async () => {
  const rig = await newRig()
  await rig.ask(10)
  await rig.ask(10, undefined, { identity: 'somebody else' })
  assert.deepEqual(askedCells(rig), [10, 10])
})

test('empty cells between others are known to be empty', async () => {
  const rig = await newRig({ valueAt: (start) => ((start / minuteMs) % 3 === 0 ? 1 : undefined) })
  const to = rig.openCell - 20 * minuteMs
  await rig.ask(30, to)
  const again = await rig.ask(30, to)
  assert.equal(again.decision.outcome, 'hit')
  assertTrue(again, rig.truth(30, to))
})

test('where that is off, empty cells at the end are stored only once they are settled', async () => {
  let lastCell = 0
  const rig = await newRig({ trailingEmpty: 'off', valueAt: (start) => (start <= lastCell ? 1 : undefined) })
  // No data from seven minutes ago on, and one hole before.
  lastCell = rig.openCell - 7 * minuteMs
  await rig.ask(60)
  assertTrue(await rig.ask(60), rig.truth(60))
  lastCell = rig.openCell
  const late = await rig.ask(60)
  assertTrue(late, rig.truth(60))
  assert.ok(late.text.includes(`[${rig.openCell},1]`))
  assert.deepEqual(askedCells(rig), [60, 7, 7])
})

test('where that is off, a panel that is always empty asks only for what is not settled, after its first load', async () => {
  const rig = await newRig({ trailingEmpty: 'off', valueAt: () => undefined })
  await rig.ask(180)
  const again = await rig.ask(180)
  assert.equal(again.text, '{"rows":[]}')
  await rig.clock.advance(10_000)
  await rig.ask(180)
  assert.deepEqual(askedCells(rig), [180, 12, 12])
})

test('a changed policy takes effect at the next look', async () => {
  const rig = await newRig()
  rig.policy = fixed(3_600_000)
  await rig.ask(60)
  await rig.clock.advance(10_000)
  assert.equal((await rig.ask(60)).decision.outcome, 'hit')
  rig.policy = ladder()
  assert.equal((await rig.ask(60)).decision.outcome, 'partial')
  rig.policy = fixed(0)
  assert.equal((await rig.ask(60)).decision.outcome, 'miss')
  assert.deepEqual(askedCells(rig), [60, 4, 60])
})

test('buckets fetched in the future count as absent', async () => {
  const rig = await newRig()
  const to = rig.openCell - 60 * minuteMs
  await rig.ask(60, to)
  rig.clock.jump(rig.clock.now() - 10_000)
  const look = await rig.ask(60, to)
  assert.deepEqual([look.decision.outcome, look.decision.reason], ['miss', 'absent'])
  assertTrue(look, rig.truth(60, to))
  await rig.clock.advance(10_000)
  assert.equal((await rig.ask(60, to)).decision.outcome, 'hit')
})

test('no-cache fetches again, max-age accepts young buckets', async () => {
  const rig = await newRig()
  const to = rig.openCell - 60 * minuteMs
  await rig.ask(10, to)
  await rig.clock.advance(5000)
  const demand = (notBefore: number) => rig.ask(10, to, { demands: { notBefore } })
  assert.equal((await demand(rig.clock.now() - 5000)).decision.outcome, 'hit')
  const reloaded = await demand(rig.clock.now())
  assert.deepEqual([reloaded.decision.outcome, reloaded.decision.reason], ['miss', 'revalidate'])
})

test('only-if-cached never sends a query', async () => {
  const rig = await newRig()
  const look = await rig.ask(10, undefined, { demands: { onlyIfCached: true } })
  assert.equal(look.answer.kind, 'not-cached')
  assert.deepEqual(askedCells(rig), [])
})

const failing = (what: Partial<Store>) => ({ wrap: (store: Store) => storeWith(store, what) })
const broken = () => {
  throw new Error('broken')
}

test('a store that cannot be read: the request goes straight to the database', async () => {
  for (const read of [broken, () => Promise.reject(new Error('broken'))]) {
    const rig = await newRig(failing({ read }))
    assert.deepEqual((await rig.ask(10)).answer, { kind: 'forward', reason: 'store_failed' })
  }
})

test('a store that cannot be written: the request is answered', async () => {
  for (const write of [broken, () => Promise.reject(new Error('broken'))]) {
    const rig = await newRig(failing({ write }))
    const look = await rig.ask(10)
    assertTrue(look, rig.truth(10))
    assert.equal(look.decision.stored, false)
  }
})

test('an answer that forbids storing is not stored', async () => {
  const rig = await newRig()
  rig.database.headers = ['cache-control', 'private, No-Store']
  assertTrue(await rig.ask(10), rig.truth(10))
  assertTrue(await rig.ask(10), rig.truth(10))
  assert.deepEqual(askedCells(rig), [10, 10])
})

test('an answer that cannot be cut is not stored, and the client gets the database’s own', async () => {
  const rig = await newRig()
  rig.database.failure = { status: 200, body: 'surprise' }
  const { answer } = await rig.ask(10)
  assert.deepEqual([answer.kind, answer.kind === 'forward' && answer.reason], ['forward', 'unusable_answer'])
  rig.database.failure = undefined
  assertTrue(await rig.ask(10), rig.truth(10))
})

test('a refusal of the database is passed on and leaves nothing behind', async () => {
  const rig = await newRig()
  rig.database.failure = { status: 400, body: 'no' }
  const { answer, decision } = await rig.ask(10)
  assert.ok(answer.kind === 'response' && answer.response.status === 400)
  assert.equal(Buffer.from(answer.response.body).toString(), 'no')
  assert.deepEqual([decision.outcome, decision.reason], ['error', 'database_refused'])
  rig.database.failure = undefined
  assert.equal((await rig.ask(10)).decision.reason, 'absent')
})

test('viewers at the same moment cause one query, however late its answer is', async () => {
  const rig = await newRig()
  rig.database.lagMs = 8000
  const looks = await Promise.all(Array.from({ length: 50 }, () => rig.begin(180)))
  await rig.clock.advance(8000)
  for (const look of looks) assertTrue(look.served!, rig.truth(180))
  assert.deepEqual(askedCells(rig), [180])
})

test('viewers at the turn of a minute cause the load of one viewer', async () => {
  const rig = await newRig()
  await rig.ask(180)
  await rig.clock.advance(29_500)
  rig.database.lagMs = 1000
  askedCells(rig)
  await rig.begin(180)
  await rig.clock.advance(600)
  const looks = await Promise.all(Array.from({ length: 10 }, () => rig.begin(180)))
  await rig.clock.advance(1000)
  for (const look of looks) assertTrue(look.served!, rig.truth(180))
  assert.ok(rig.database.asked.length <= 2, `${rig.database.asked.length} queries`)
})

test('viewers who find a flight for the end of their gap cause the load of one viewer', async () => {
  const rig = await newRig()
  await rig.clock.advance(25_500)
  await rig.ask(180)
  rig.database.lagMs = 1000
  askedCells(rig)
  // The new cell is fetched while all others are fresh; half a second later some of them no longer are.
  await rig.clock.advance(4600)
  await rig.begin(180)
  await rig.clock.advance(500)
  const looks = await Promise.all(Array.from({ length: 10 }, () => rig.begin(180)))
  await rig.clock.advance(1000)
  for (const look of looks) assertTrue(look.served!, rig.truth(180))
  assert.equal(rig.database.asked[0]!.cells, 1)
  assert.ok(rig.database.asked.length <= 2, `${rig.database.asked.length} queries`)
})
