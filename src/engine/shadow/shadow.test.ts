import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  EngineRig,
  minuteMs,
  type RigOptions,
  type Served,
  storeWith,
} from '../../../test/rigs/engine-rig.ts'
import { ListeningTarget } from '../../../test/rigs/listening-target.ts'
import type { Pane } from '../../core/pane.ts'
import { clockOf } from '../../core/pane.ts'
import type { Found, Store } from '../../stores/store.ts'

/** Half a minute past midnight: the open cell is half over. Under the ladder a cell settles 11 minutes after its end. */
async function newRig(options?: RigOptions): Promise<EngineRig> {
  const rig = new EngineRig(options)
  await rig.clock.advance(30_000)
  return rig
}

const reportOf = (rig: EngineRig) => rig.shadowLog.report('cells')

const wouldBe = ({ decision }: Served): string | undefined => decision.detail

/** Another value in one cell of the database from now on. */
function change(rig: EngineRig, start: number, value: string): void {
  const { truth } = rig.database
  rig.database.truth = (from, to, step) =>
    truth
      .call(rig.database, from, to, step)
      .replace(new RegExp(`\\[${start},[^\\]]*\\]`), `[${start},${value}]`)
}

test('every answer is the database’s own, with one query, and has the would-be outcome', async () => {
  const rig = await newRig()
  const told: (string | undefined)[] = []
  for (const waitMs of [0, 2000, 10_000, minuteMs]) {
    await rig.clock.advance(waitMs)
    const look = await rig.shadow(180)
    assert.equal(look.text, rig.truth(180))
    assert.deepEqual(
      [look.answer.kind, look.decision.outcome, look.decision.reason],
      ['streamed', 'bypass', 'shadow'],
    )
    told.push(wouldBe(look))
  }
  assert.deepEqual(told, ['would be miss', 'would be hit', 'would be partial', 'would be partial'])
  assert.deepEqual(
    rig.database.asked.map(({ cells }) => cells),
    [180, 180, 180, 180],
  )
  const { comparisons, equal, wouldBe: counted, verdict } = reportOf(rig)
  assert.deepEqual([comparisons, equal, counted, verdict], [4, 4, { hit: 1, partial: 2, miss: 1 }, 'wait'])
})

test('buckets that shadow mode has stored are served at once when it is switched on', async () => {
  const rig = await newRig()
  await rig.shadow(60)
  await rig.clock.advance(2000)
  const look = await rig.ask(60)
  assert.deepEqual([look.decision.outcome, look.text], ['hit', rig.truth(60)])
  assert.equal(rig.database.asked.length, 1)
})

test('only the gap is written back: stored buckets keep the clocks that they had', async () => {
  const writes: Pane[] = []
  let inner: Store | undefined
  const wrap = (store: Store): Store => {
    inner = store
    return storeWith(store, {
      write: (key, entry) => {
        writes.push(entry.pane)
        return store.write(key, entry)
      },
    })
  }
  const rig = await newRig({ wrap })
  const first = await rig.shadow(180)
  const began = rig.clock.now()
  await rig.clock.advance(10_000)
  await rig.shadow(180)
  // As many as `serve` would have fetched.
  assert.deepEqual(
    writes.map(({ from, to }) => to - from),
    [180, 4],
  )
  const plan = rig.plan(rig.openCell - 179 * minuteMs, rig.openCell + minuteMs)
  const { panes } = inner!.read(first.decision.key!, plan.window) as Found
  const clocks = panes.flatMap((pane) =>
    Array.from({ length: pane.to - pane.from }, (_, i) => clockOf(pane, pane.from + i)),
  )
  assert.deepEqual(clocks, [...new Array(176).fill(began), ...new Array(4).fill(began + 10_000)])
})

test('a client’s demands are those of serve', async () => {
  const rig = await newRig()
  await rig.shadow(60)
  const fresh = await rig.shadow(60, undefined, { demands: { notBefore: rig.clock.now() + 1 } })
  assert.equal(wouldBe(fresh), 'would be miss')
  const whole = await rig.shadow(60, undefined, { demands: { onlyIfCached: true } })
  assert.deepEqual([wouldBe(whole), reportOf(rig).comparisons], ['would be hit', 3])
  const partly = await rig.shadow(90, undefined, { demands: { onlyIfCached: true } })
  assert.equal(partly.text, rig.truth(90))
  assert.deepEqual(reportOf(rig).skipped, { only_if_cached: 1 })
  // `serve` would have refused, and stored nothing.
  assert.notEqual((await rig.ask(90)).decision.outcome, 'hit')
})

test('a thousand answers of a faithful database, some of them from the cache: safe', async () => {
  const rig = await newRig()
  for (let i = 0; i < 1000; i++) {
    await rig.clock.advance(1000)
    await rig.shadow(30 + (i % 3))
  }
  const { verdict, sentence, unexplained, explained, wouldBe: counted } = reportOf(rig)
  assert.equal(verdict, 'safe', sentence)
  assert.deepEqual([unexplained, explained, rig.database.asked.length], [0, 0, 1000])
  assert.ok(counted.hit > 100 && counted.partial > 100, JSON.stringify(counted))
  assert.match(sentence, /^Safe: of 1000 answers, \d+ would have come from the cache/)
})

test('late data is explained, with the bucket and its age', async () => {
  let isThere = false
  const rig = await newRig({
    valueAt: (start) => (start === Date.UTC(2026, 0, 1) - 3 * minuteMs && !isThere ? undefined : 7),
  })
  await rig.shadow(60)
  isThere = true
  await rig.clock.advance(2000)
  const look = await rig.shadow(60)
  assert.equal(look.text, rig.truth(60))
  const { explained, unexplained, verdict, mismatches, causes } = reportOf(rig)
  assert.deepEqual([explained, unexplained, verdict, causes], [1, 0, 'wait', { late_data: 1 }])
  const [mismatch] = mismatches
  const [bucket] = mismatch!.buckets
  const at = Date.UTC(2026, 0, 1) - 3 * minuteMs
  assert.deepEqual(bucket, {
    at,
    fetchedAt: Date.UTC(2026, 0, 1) + 30_000,
    ageMs: 2.5 * minuteMs,
    cause: 'late_data',
    columns: [''],
    cached: '',
    direct: `[${at},7],`,
  })
  assert.equal(mismatch!.direct!.toString(), rig.truth(60))
  assert.equal(mismatch!.cached!.toString(), rig.truth(60).replace(`[${at},7],`, ''))
  assert.match(mismatch!.sentence, /^Data came late/)
})

test('a settled bucket that the database changed is staleness, listed apart', async () => {
  const rig = await newRig()
  await rig.shadow(60)
  await rig.clock.advance(2000)
  change(rig, rig.openCell - 30 * minuteMs, '-1')
  await rig.shadow(60)
  const { causes, unexplained } = reportOf(rig)
  assert.deepEqual([causes, unexplained], [{ settled_change: 1 }, 0])
})

test('a database that alternates between two answers is not explained', async () => {
  const rig = await newRig()
  const cell = rig.openCell - 30 * minuteMs
  const { truth } = rig.database
  for (let i = 0; i < 4; i++) {
    if (i % 2 === 1) change(rig, cell, '-1')
    else rig.database.truth = truth
    await rig.shadow(60)
  }
  const { causes, verdict, sentence } = reportOf(rig)
  assert.deepEqual([causes, verdict], [{ settled_change: 1, not_deterministic: 1 }, 'unsafe'])
  assert.match(sentence, /^Not safe: 1 answer of 4 /)
})

test('a store that changes bytes is found out, also where the bucket was not settled', async () => {
  for (const minutesAgo of [2, 30]) {
    let isLying = false
    const rig = await newRig({
      wrap: (store) =>
        storeWith(store, {
          read: (key, interval) => {
            const found = store.read(key, interval) as Found | undefined
            if (!isLying || found === undefined) return found
            for (const { body } of found.panes) {
              const at = body.bytes.indexOf(`[${rig.openCell - minutesAgo * minuteMs},`)
              if (at >= 0) body.bytes[body.bytes.indexOf(']', at) - 1] = 0x39
            }
            return found
          },
        }),
      valueAt: () => 15,
    })
    await rig.shadow(60)
    isLying = true
    await rig.clock.advance(2000)
    const look = await rig.shadow(60)
    assert.equal(look.text, rig.truth(60))
    const { causes, unexplained, verdict, mismatches } = reportOf(rig)
    assert.deepEqual([causes, unexplained, verdict], [{ store_changed: 1 }, 1, 'unsafe'])
    assert.match(mismatches[0]!.buckets[0]!.cached, /,19\],$/)
  }
})

test('a store that fails, or is silent, costs the client nothing', async () => {
  const silent = await newRig({ wrap: (store) => storeWith(store, { read: () => new Promise(() => {}) }) })
  const look = await silent.shadow(60)
  assert.equal(look.text, silent.truth(60))
  await silent.clock.advance(2000)
  assert.deepEqual(reportOf(silent).skipped, { store_failed: 1 })
  const failing = await newRig({
    wrap: (store) =>
      storeWith(store, {
        read: () => Promise.reject(new Error('no')),
        write: () => {
          throw new Error('no')
        },
      }),
  })
  assert.equal((await failing.shadow(60)).text, failing.truth(60))
  assert.deepEqual(reportOf(failing).skipped, { store_failed: 1 })
  const full = await newRig({
    wrap: (store) =>
      storeWith(store, {
        write: () => {
          throw new Error('full')
        },
      }),
  })
  assert.equal((await full.shadow(60)).text, full.truth(60))
  assert.equal(reportOf(full).equal, 1)
})

test('errors are passed on, whatever is stored, and nothing is compared', async () => {
  const rig = await newRig()
  await rig.shadow(60)
  for (const status of [400, 503]) {
    const target = new ListeningTarget()
    rig.database.failure = { status, body: 'no' }
    const { answer } = await rig.shadow(60, undefined, { target })
    assert.deepEqual(
      [answer.kind, target.status, target.text, target.ending],
      ['streamed', status, 'no', 'whole'],
    )
  }
  rig.database.failure = { reason: 'database_unreachable', detail: 'refused' }
  const { answer } = await rig.shadow(60)
  assert.deepEqual(answer, {
    kind: 'failure',
    failure: { kind: 'broken', reason: 'database_unreachable', detail: 'refused' },
  })
  assert.deepEqual(reportOf(rig).skipped, { error_answer: 2, database_failed: 1 })
})

test('an answer in another form goes to the client, and is not stored', async () => {
  const rig = await newRig()
  rig.database.truth = () => '{"columns":[]}'
  assert.equal((await rig.shadow(60)).text, '{"columns":[]}')
  assert.deepEqual(reportOf(rig).skipped, { unusable_answer: 1 })
})

test('an answer beyond the limit goes to the client, and nothing of it stays in memory', async () => {
  const rig = await newRig()
  const before = rig.budget.used
  const long = `{"rows":[[0,${'1'.repeat(1 << 20)}]]}`
  rig.database.truth = () => long
  assert.equal((await rig.shadow(60)).text, long)
  assert.deepEqual([reportOf(rig).skipped, rig.budget.used], [{ too_large: 1 }, before])
})

test('a client that goes takes the query with it', async () => {
  const rig = await newRig()
  rig.database.lagMs = 1000
  let leave = () => {}
  const client = {
    isGone: false,
    onGone: (callback: () => void) => {
      leave = callback
    },
  }
  const pending = rig.shadow(60, undefined, { client })
  await rig.clock.advance(500)
  leave()
  assert.equal((await pending).answer.kind, 'streamed')
  assert.equal(rig.database.cancelled, 1)
  assert.deepEqual(reportOf(rig).skipped, { client_gone: 1 })
})

test('without memory nothing is compared, and the client is answered', async () => {
  const rig = await newRig()
  const left = rig.budget.limit - rig.budget.used
  assert.ok(rig.budget.reserve(left - 1000))
  assert.equal((await rig.shadow(180)).text, rig.truth(180))
  assert.deepEqual(reportOf(rig).skipped, { memory: 1 })
  rig.budget.release(left - 1000)
  assert.equal(rig.budget.used + left, rig.budget.limit)
})

test('comparisons that wait are bounded', async () => {
  const rig = await newRig()
  rig.database.lagMs = 10
  const looks = Array.from({ length: 100 }, () => rig.shadow(10))
  await rig.clock.advance(10)
  for (const { text } of await Promise.all(looks)) assert.equal(text, rig.truth(10))
  const { comparisons, skipped } = reportOf(rig)
  assert.ok(comparisons >= 32 && comparisons + (skipped.busy ?? 0) === 100, JSON.stringify(skipped))
})
