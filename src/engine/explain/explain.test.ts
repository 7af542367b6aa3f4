import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, storeWith } from '../../../test/rigs/engine-rig.ts'
import { plateauPolicy, unsteadyPolicy } from '../../../test/rigs/plateau-policy.ts'
import { promqlReasons } from '../../backends/matrix/reasons.ts'
import type { Store } from '../../stores/store.ts'
import { mixSeeds, seededRandom, wholeNumber } from '../../testing/random.ts'
import { ladder } from '../../ttl/ladder.ts'
import type { Learning } from '../../ttl/learned/learning.ts'
import { linear } from '../../ttl/linear.ts'
import { explainBypass } from './explain.ts'
import { duration } from './sentence.ts'

async function newRig(options?: ConstructorParameters<typeof EngineRig>[0]): Promise<EngineRig> {
  const rig = new EngineRig(options)
  await rig.clock.advance(30_000)
  return rig
}

test('a hit, a rolling window, a first look, a look to the left', async () => {
  const rig = await newRig()
  const sentence = async (cells: number, to?: number): Promise<string> =>
    (await rig.explain(cells, to)).sentence
  assert.equal(
    await sentence(180),
    'Miss: no bucket of 180 is fresh; 180 were never fetched, evicted or purged, and would be fetched.',
  )
  await rig.ask(180)
  await rig.clock.advance(2000)
  assert.equal(
    await sentence(180),
    'Hit: all 180 buckets are fresh, and the first stops being so in 3 s; the database would not be queried.',
  )
  await rig.clock.advance(5000)
  assert.equal(
    await sentence(180),
    'Partial: 177 of 180 buckets are fresh; the last 3 expired 2 s ago and would be fetched.',
  )
  assert.equal(
    await sentence(190),
    'Miss: 177 of 190 buckets are fresh; 3 expired 2 s ago, 10 were never fetched, evicted or purged, and would be fetched in one piece of 190.',
  )
})

test('runs have their fetch time and their remaining freshness', async () => {
  const rig = await newRig()
  await rig.ask(180)
  await rig.clock.advance(7000)
  const { runs, asked, gap, grid, window, policy, key, ttls, joined } = await rig.explain(180)
  const shown = runs!.map(({ state, settled, buckets, fetchAgeMs, ttlLeftMs }) => {
    return [state, settled, buckets, fetchAgeMs?.min, ttlLeftMs?.min]
  })
  assert.deepEqual(shown, [
    ['fresh', true, 168, 7000, 3_593_000],
    ['fresh', false, 9, 7000, 3000],
    ['stale', false, 3, 7000, -2000],
  ])
  assert.deepEqual(joined, [])
  assert.equal(policy, 'exchangeable')
  assert.match(key!, /^[\w-]{43}$/)
  assert.deepEqual([grid!.step, window!.buckets, gap!.buckets, asked!.buckets], [minuteMs, 180, 3, 3])
  assert.equal(asked!.to, rig.openCell + minuteMs)
  assert.match(asked!.search, new RegExp(`from=${rig.openCell - 2 * minuteMs}&to=${rig.openCell + minuteMs}`))
  assert.deepEqual(
    ttls!.map(({ buckets, ttlMs }) => [buckets, ttlMs.min, ttlMs.max]),
    [[3, 5000, 5000]],
  )
})

test('many different TTLs are shown in a bounded number of runs, without a gap', async () => {
  const rig = await newRig()
  rig.policy = linear({ floorMs: 5000, slope: 0.1, capMs: 86_400_000 })
  const { ttls } = await rig.explain(5000)
  assert.ok(ttls!.length <= 32 && ttls!.length > 10, `${ttls!.length} runs`)
  assert.equal(
    ttls!.reduce((sum, run) => sum + run.buckets, 0),
    5000,
  )
  for (const [i, run] of ttls!.entries()) {
    assert.ok(run.ttlMs.min <= run.ttlMs.max)
    if (i > 0) assert.ok(ttls![i - 1]!.to === run.from && ttls![i - 1]!.ttlMs.min >= run.ttlMs.max)
  }
})

const unsteady = unsteadyPolicy()

test('where TTLs fall with age, the TTLs and lapses in force are shown', async () => {
  const rig = await newRig()
  rig.policy = unsteady
  const { ttls } = await rig.explain(180)
  // It is half past a minute: TTLs of 40 s and more lapse at the next multiple of 20 s.
  assert.deepEqual(
    ttls!.map(({ buckets, ttlMs, lapsesInMs }) => [buckets, ttlMs.max, lapsesInMs!.max]),
    [
      [119, 300_000, 10_000],
      [50, 15_000, 15_000],
      [8, 40_000, 10_000],
      [3, 5000, 5000],
    ],
  )
  await rig.ask(180)
  await rig.clock.advance(8000)
  const { runs } = await rig.explain(180)
  assert.deepEqual(
    runs!.map(({ state, buckets, ttlLeftMs }) => [state, buckets, ttlLeftMs!.min, ttlLeftMs!.max]),
    [
      ['fresh', 164, 2000, 7000],
      ['fresh', 13, 2000, 7000],
      ['stale', 3, -3000, -3000],
    ],
  )
})

test('merged runs of TTLs have the shortest and the longest', async () => {
  const rig = await newRig()
  const ttls = Array.from({ length: 100 }, (_, i) => [i * minuteMs, i % 2 === 0 ? 5000 : 9000] as const)
  rig.policy = plateauPolicy({ ttls, settledAgeMs: 0 })
  const explained = (await rig.explain(100)).ttls!
  assert.ok(explained.length <= 32)
  for (const { buckets, ttlMs, lapsesInMs } of explained.slice(0, -1)) {
    assert.deepEqual([buckets, ttlMs, lapsesInMs], [4, { min: 5000, max: 9000 }, { min: 5000, max: 9000 }])
  }
})

test('a policy that learns is explained as the one of the shape', async () => {
  const asked: unknown[] = []
  const learning: Learning = {
    policyFor(terms, { key }) {
      asked.push([terms.budget, key])
      return unsteady
    },
    observe() {},
    report: () => [],
  }
  const rig = await newRig({ learning })
  rig.policy = { ...ladder(), learns: { budget: 0.01, floorMs: 5000, capMs: 86_400_000, settledAgeMs: 1 } }
  const { policy, key } = await rig.explain(180)
  assert.equal(policy, 'plateaus')
  assert.deepEqual(asked, [[0.01, key]])
})

test('a flight under way would be joined', async () => {
  const rig = await newRig()
  rig.database.lagMs = 1000
  await rig.begin(180)
  const same = await rig.explain(180)
  assert.deepEqual([same.joined!.length, same.asked], [1, undefined])
  assert.match(same.sentence, /and would come with a query that is under way\.$/)
  const wider = await rig.explain(200)
  assert.deepEqual([wider.joined!.length, wider.asked!.buckets], [1, 20])
  assert.match(wider.sentence, /waited for: 20 by a new query, the rest by one that is under way\.$/)
  // Explaining is no membership: the flight is neither kept nor given up by it.
  await rig.clock.advance(1000)
  assert.equal(rig.database.cancelled, 0)
  assert.equal((await rig.explain(180)).outcome, 'hit')
})

test('an explanation of a flight does not join it', async () => {
  const rig = await newRig()
  rig.database.lagMs = 1000
  let leave = () => {}
  const client = {
    isGone: false,
    onGone(callback: () => void) {
      leave = callback
    },
  }
  void rig.ask(180, undefined, { client })
  await rig.clock.advance(0)
  assert.equal((await rig.explain(180)).joined!.length, 1)
  client.isGone = true
  leave()
  assert.equal(rig.database.cancelled, 1)
})

test('a demanding client, and one that accepts only stored answers', async () => {
  const rig = await newRig()
  const to = rig.openCell - 60 * minuteMs
  await rig.ask(10, to)
  await rig.clock.advance(5000)
  const now = rig.clock.now()
  const reload = await rig.explain(10, to, { demands: { notBefore: now } })
  assert.deepEqual([reload.outcome, reload.reason, reload.asked!.buckets], ['miss', 'revalidate', 10])
  assert.equal(
    reload.sentence,
    'Miss: no bucket of 10 is fresh; they are older than the client wants and would be fetched.',
  )
  const only = await rig.explain(20, to, { demands: { onlyIfCached: true } })
  assert.deepEqual([only.outcome, only.reason, only.asked], ['refused', 'only_if_cached', undefined])
})

test('a store that fails: the request would be passed on', async () => {
  const read = () => Promise.reject(new Error('broken'))
  const rig = await newRig({ wrap: (store) => storeWith(store, { read }) })
  const { outcome, reason, key } = await rig.explain(10)
  assert.deepEqual([outcome, reason, key?.length], ['bypass', 'store_failed', 43])
})

test('a store that can be looked into without a trace is', async () => {
  let reads = 0
  const wrap = (store: Store): Store & { peek: Store['read'] } => ({
    ...storeWith(store, {
      read: (key, interval) => {
        reads++
        return store.read(key, interval)
      },
    }),
    peek: (key, interval) => store.read(key, interval),
  })
  const rig = await newRig({ wrap })
  await rig.explain(10)
  assert.equal(reads, 0)
})

test('a bypass has its reason', () => {
  const { sentence } = explainBypass({ bypass: 'sorting', detail: 'sort_desc' }, 0, promqlReasons)
  assert.equal(
    sentence,
    'Bypass: sort functions inside of another expression, where the order of series can change sums and ties (sort_desc); the request would be forwarded unchanged.',
  )
})

test('durations are short', () => {
  assert.deepEqual([0.4, 2000, 90_000, 5_400_000, 200_000_000].map(duration), [
    '0.4 ms',
    '2 s',
    '1.5 min',
    '1.5 h',
    '2.3 d',
  ])
})

/** The explanation equals the outcome: outcome, reason and the number of fetched buckets. */
async function walk(seed: number, policy = ladder()): Promise<void> {
  const random = seededRandom(seed)
  const rig = await newRig({ patienceMs: { slow: 60_000, down: 60_000 }, refreshesAhead: false })
  rig.policy = policy
  for (let step = 0; step < 40; step++) {
    await rig.clock.advance(wholeNumber(random, 0, 3) * wholeNumber(random, 1, 40_000))
    rig.database.lagMs = random() < 0.3 ? 3000 : 0
    const cells = wholeNumber(random, 1, 200)
    const to = rig.openCell + minuteMs - wholeNumber(random, 0, 3) * wholeNumber(random, 0, 60) * minuteMs
    const notBefore = random() < 0.1 ? rig.clock.now() - 20_000 : Number.NEGATIVE_INFINITY
    const how = { demands: { notBefore } }
    const told = await rig.explain(cells, to, how)
    assert.deepEqual(await rig.explain(cells, to, how), told, 'explaining changes nothing')
    const before = rig.database.asked.length
    const asking = rig.ask(cells, to, how)
    // A flight that is not waited for is there to be joined by the next ones.
    if (random() < 0.3) await rig.clock.advance(0)
    else await rig.clock.advance(6000)
    const sent = rig.database.asked.slice(before).map((query) => [query.from, query.to])
    assert.deepEqual(sent, told.asked === undefined ? [] : [[told.asked.from, told.asked.to]], `seed ${seed}`)
    if (random() < 0.7) {
      await rig.clock.advance(6000)
      const { outcome, reason, asked, buckets } = (await asking).decision
      const expected = told.outcome === 'hit' ? undefined : (told.asked?.buckets ?? 0)
      assert.deepEqual([outcome, reason, asked], [told.outcome, told.reason, expected], `seed ${seed}`)
      assert.equal(buckets, told.window!.buckets)
    } else asking.catch(() => {})
  }
}

test('the explanation equals the outcome', async () => {
  for (let i = 0; i < 60; i++) await walk(mixSeeds(4711, i))
  for (let i = 0; i < 30; i++) await walk(mixSeeds(4713, i), unsteady)
})
