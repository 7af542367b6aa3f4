/** Stale serving when the database is down or slow (stale.ts and the patience of interval-cache.ts). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type RigOptions, type Served, storeWith } from '../../test/rigs/engine-rig.ts'
import type { Store } from '../stores/store.ts'

const maxStaleMs = 10 * minuteMs
const down = { reason: 'database_unreachable', detail: 'connect ECONNREFUSED' } as const

/** Half a minute past midnight, with three hours in the cache. */
async function loadedRig(options: RigOptions = {}): Promise<EngineRig> {
  const rig = new EngineRig({ maxStaleMs, patienceMs: { slow: 2000, down: 500 }, ...options })
  await rig.clock.advance(30_000)
  await rig.ask(180)
  rig.database.asked.length = 0
  return rig
}

const rowsOf = ({ text }: Served): unknown => (JSON.parse(text) as { rows: unknown }).rows
const warningsOf = ({ text }: Served): unknown => (JSON.parse(text) as { warnings?: unknown }).warnings
const rowsOfTruth = (truth: string): unknown => (JSON.parse(truth) as { rows: unknown }).rows

test('within max stale: stored buckets are served, marked in the decision and in the answer', async () => {
  const rig = await loadedRig()
  rig.database.failure = down
  await rig.clock.advance(20_000)
  const look = await rig.ask(180)
  const { outcome, reason, detail, ageSeconds, ttlSeconds, missing } = look.decision
  assert.deepEqual(
    { outcome, reason, detail, ageSeconds, ttlSeconds, missing },
    { outcome: 'stale', ...down, ageSeconds: 20, ttlSeconds: -15, missing: undefined },
  )
  assert.deepEqual(rowsOf(look), rowsOfTruth(rig.truth(180)))
  assert.deepEqual(warningsOf(look), ['windowpane: the database does not answer; this answer is stale'])
  assert.equal(rig.database.asked.length, 1)
})

test('an outage that goes on: the answer ends early, and names the missing part', async () => {
  const rig = await loadedRig()
  rig.database.failure = down
  const knownUntil = rig.openCell + minuteMs
  await rig.clock.advance(3 * minuteMs)
  const look = await rig.ask(180)
  assert.equal(look.decision.outcome, 'stale')
  assert.deepEqual(rowsOf(look), rowsOfTruth(rig.truth(177, knownUntil)))
  const missing = '2026-01-01T00:01:00.000Z/2026-01-01T00:03:00.000Z'
  assert.equal(look.decision.missing, missing)
  assert.deepEqual(warningsOf(look), [
    `windowpane: the database does not answer; this answer is stale, and nothing is known of ${missing}`,
  ])
})

test('beyond max stale: the failure is returned', async () => {
  const rig = await loadedRig()
  rig.database.failure = down
  // The open cell has a TTL of five seconds: it may be served until 5 s and max stale have passed.
  await rig.clock.advance(maxStaleMs + 5000)
  assert.equal((await rig.ask(170, rig.openCell - 9 * minuteMs)).decision.outcome, 'stale')
  await rig.clock.advance(1)
  const look = await rig.ask(170, rig.openCell - 9 * minuteMs)
  assert.deepEqual(look.answer, { kind: 'failure', failure: { kind: 'broken', ...down } })
  assert.deepEqual(
    [look.decision.outcome, look.decision.reason, look.decision.detail],
    ['error', down.reason, down.detail],
  )
})

test('more is missing than the outage explains: the failure is returned', async () => {
  const rig = new EngineRig({ maxStaleMs })
  const to = rig.openCell - 60 * minuteMs
  await rig.ask(60, to)
  rig.database.failure = down
  // One cell more than was ever requested, in a window that ended long before the outage began.
  assert.equal((await rig.ask(61, to + minuteMs)).answer.kind, 'failure')
})

test('nothing is stored: the failure is returned, with the response where there was one', async () => {
  const rig = new EngineRig({ maxStaleMs })
  rig.database.failure = { status: 503, body: 'overloaded' }
  const { answer, decision } = await rig.ask(10)
  assert.ok(answer.kind === 'failure')
  assert.equal(Buffer.from(answer.failure.response!.body).toString(), 'overloaded')
  assert.deepEqual(
    [decision.outcome, decision.reason, decision.upstreamStatus],
    ['error', 'database_error', 503],
  )
})

test('a server error is as good a reason as a broken connection, a refusal is none', async () => {
  const rig = await loadedRig()
  await rig.clock.advance(20_000)
  rig.database.failure = { status: 500, body: '' }
  const look = await rig.ask(180)
  assert.deepEqual([look.decision.outcome, look.decision.reason], ['stale', 'database_error'])
  rig.database.failure = { status: 422, body: '' }
  assert.equal((await rig.ask(180)).answer.kind, 'response')
})

test('a request for fresher data than is stored gets no stale answer', async () => {
  const rig = await loadedRig()
  rig.database.failure = down
  await rig.clock.advance(1)
  const look = await rig.ask(180, undefined, { demands: { notBefore: rig.clock.now() } })
  assert.equal(look.answer.kind, 'failure')
})

test('after the outage everything is as before', async () => {
  const rig = await loadedRig()
  rig.database.failure = down
  await rig.clock.advance(20_000)
  await rig.ask(180)
  rig.database.failure = undefined
  const look = await rig.ask(180)
  assert.deepEqual([look.decision.outcome, look.text], ['partial', rig.truth(180)])
})

test('a slow database: a stale answer after the patience, and the flight goes on', async () => {
  const rig = await loadedRig()
  await rig.clock.advance(20_000)
  rig.database.lagMs = 4000
  const look = await rig.begin(180)
  await rig.clock.advance(1999)
  assert.equal(look.served, undefined)
  await rig.clock.advance(1)
  assert.deepEqual([look.served!.decision.outcome, look.served!.decision.reason], ['stale', 'database_slow'])
  assert.deepEqual(warningsOf(look.served!), ['windowpane: the database is slow; this answer is stale'])
  await rig.clock.advance(2000)
  assert.deepEqual([rig.database.cancelled, rig.database.asked.length], [0, 1])
  const next = await rig.ask(180)
  assert.deepEqual([next.decision.outcome, next.text], ['hit', rig.truth(180)])
})

for (const [when, slow] of [
  ['the fetch fails', 10_000],
  ['the patience is over', 2000],
] as const) {
  test(`another request has brought everything when ${when}: a hit`, async () => {
    const rig = await loadedRig({ coalescing: false, patienceMs: { slow, down: 500 } })
    await rig.clock.advance(20_000)
    rig.database.lagMs = 4000
    const look = await rig.begin(180)
    await rig.clock.advance(1900)
    rig.database.lagMs = 0
    assert.equal((await rig.ask(180)).decision.outcome, 'partial')
    rig.database.failure = down
    await rig.clock.advance(2100)
    const { outcome, reason, ageSeconds, ttlSeconds, asked } = look.served!.decision
    assert.deepEqual([outcome, reason, asked], ['hit', undefined, undefined])
    assert.deepEqual([ageSeconds, ttlSeconds], slow === 2000 ? [22, 5] : [24, 3])
    assert.equal(look.served!.text, rig.truth(180))
    assert.equal(rig.database.asked.length, 2)
  })
}

test('a slow database and nothing to serve meanwhile: the answer is waited for', async () => {
  const rig = new EngineRig({ maxStaleMs, patienceMs: { slow: 2000, down: 500 } })
  rig.database.lagMs = 30_000
  const look = await rig.begin(10)
  await rig.clock.advance(29_999)
  assert.equal(look.served, undefined)
  await rig.clock.advance(1)
  assert.deepEqual([look.served!.decision.outcome, look.served!.text], ['miss', rig.truth(10)])
})

test('a database that failed last time is waited for less long', async () => {
  const rig = await loadedRig()
  rig.database.failure = down
  await rig.clock.advance(20_000)
  await rig.ask(180)
  rig.database.lagMs = 4000
  const look = await rig.begin(180)
  await rig.clock.advance(500)
  assert.equal(look.served!.decision.reason, 'database_slow')
  rig.database.failure = undefined
  await rig.clock.advance(4000)
  rig.database.lagMs = 1500
  await rig.clock.advance(10_000)
  const recovered = await rig.begin(180)
  await rig.clock.advance(1500)
  assert.equal(recovered.served!.decision.outcome, 'partial')
})

test('a query that was not sent tells nothing about a database that was down', async () => {
  const rig = await loadedRig()
  await rig.clock.advance(20_000)
  for (const failure of [down, { reason: 'queue_full', detail: '9 queries wait already' } as const]) {
    rig.database.failure = failure
    assert.equal((await rig.ask(180)).decision.reason, failure.reason)
  }
  rig.database.lagMs = 4000
  const look = await rig.begin(180)
  await rig.clock.advance(500)
  assert.equal(look.served?.decision.reason, 'database_slow')
})

test('no patience is left over: no timer stays behind', async () => {
  const rig = await loadedRig()
  await rig.clock.advance(20_000)
  await rig.ask(180)
  await rig.clock.advance(0)
  assert.equal(rig.clock.pending, 0)
})

/** A store whose first read works: the lookup; and whose later ones, for a stale answer, do not. */
function failsLater(read: () => never | Promise<never>): RigOptions & { fail: boolean } {
  const state = { fail: false, reads: 0 }
  const wrap = (store: Store) =>
    storeWith(store, {
      read: (key, interval) => (state.fail && ++state.reads > 1 ? read() : store.read(key, interval)),
    })
  return Object.assign(state, { wrap })
}
const throws = (): never => {
  throw new Error('broken')
}
const rejects = (): Promise<never> => Promise.reject(new Error('broken'))
const lies = (): never => ({ panes: [] }) as never

for (const [how, read] of Object.entries({ throws, rejects, lies })) {
  test(`the store ${how} when a stale answer is looked for: the failure of the database is returned`, async () => {
    const options = failsLater(read)
    const rig = await loadedRig(options)
    await rig.clock.advance(20_000)
    rig.database.failure = down
    options.fail = true
    assert.equal((await rig.ask(180)).answer.kind, 'failure')
  })

  test(`the store ${how} when the patience is over: the answer is waited for`, async () => {
    const options = failsLater(read)
    const rig = await loadedRig(options)
    await rig.clock.advance(20_000)
    rig.database.lagMs = 4000
    options.fail = true
    const look = await rig.begin(180)
    await rig.clock.advance(4000)
    assert.equal(look.served?.decision.outcome, 'partial')
  })
}
