import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { type Dice, diceOf } from '../testing/pane-model.ts'
import { fixed } from '../ttl/fixed.ts'
import { ladder } from '../ttl/ladder.ts'
import { cover, type LookupRules } from './coverage.ts'
import { type BucketState, type CoverageRun, countStates, gapOf } from './coverage-runs.ts'
import { expiryOf, type Freshness } from './expiry.ts'
import { bucketAt, calendarGrid, type Grid, startOf } from './grid.ts'
import type { Interval } from './interval.ts'
import { clockWith } from './lifetime.ts'
import { type BucketMark, noMarks } from './mark.ts'
import { clockOf, type Pane, slice } from './pane.ts'
import { PaneBuilder } from './pane-builder.ts'
import { join } from './pane-join.ts'
import type { VouchedBuckets, VouchedRun } from './witness.ts'

const minute = 60_000
const base = Date.UTC(2026, 0, 1)

const paneFetchedAt = (interval: Interval, fetchedAt: number): Pane =>
  new PaneBuilder(1).finish({ interval, fetchedAt, slab: Buffer.alloc(0) })

interface Case {
  readonly window: Interval
  readonly panes: readonly Pane[]
  readonly rules: LookupRules
}

const policies = [
  ladder(),
  ladder({ floorMs: 1000, doublingMs: 7000, capMs: 5 * minute }),
  ladder({ floorMs: 5000, doublingMs: minute, capMs: 60 * minute, settledAgeMs: 3 * minute }),
  fixed(30_000),
  fixed(5 * minute, 2 * minute),
  fixed(0),
]

/** Days around a change of the clocks in New York: they are not of one length. */
const days = calendarGrid({ unit: 'day', count: 1, zone: 'America/New_York', origin: 0 })!
const dayMs = 24 * 60 * minute

/** TTLs that rise and fall with age, and let neighbours lapse together; `unit` is a third of a bucket. */
function somePlateaus(dice: Dice, unit: number): Freshness {
  const starts: number[] = []
  for (let count = dice(0, 6), age = -dice(0, 9) * unit; count > 0; count--) {
    starts.push(age)
    age += dice(1, 60) * unit + dice(0, 1)
  }
  const ttls = [dice(0, 60) * unit, ...starts.map(() => dice(0, 250) * unit)]
  const classOf = (ageMs: number) => starts.filter((start) => start <= ageMs).length
  const period = dice(0, 2) === 0 ? 0 : dice(1, 20) * unit
  return {
    isMonotone: false,
    settledAgeMs: dice(0, 90) * unit,
    ttl: (ageMs) => ttls[classOf(ageMs)]!,
    plateaus: {
      endOf: (ageMs) => starts[classOf(ageMs)] ?? Number.POSITIVE_INFINITY,
      lapseOf: (fetchedAt, ttlMs) =>
        ttlMs < 2 * period || period === 0
          ? fetchedAt + ttlMs
          : (Math.floor(fetchedAt / period) + 1) * period,
    },
  }
}

/** Buckets of 15 s or of a day around `base`; clocks up to 240 buckets before now and a little after it. */
function someCase(dice: Dice): Case {
  const ofSeconds = {
    kind: dice(0, 1) === 0 ? 'point' : 'cell',
    step: 15_000,
    origin: dice(0, 14) * 1000,
  } as const
  const grid: Grid = dice(0, 4) === 0 ? days : ofSeconds
  const unit = grid.step / 3
  const first = bucketAt(grid, base)
  const now = base + dice(0, 240) * grid.step
  const panes: Pane[] = []
  let next = first + dice(0, 40)
  for (let count = dice(0, 5); count > 0; count--) {
    const from = next + dice(0, 4)
    next = from + dice(1, 60)
    panes.push(paneFetchedAt({ from, to: next }, someClock(dice, now - dice(-2, 200) * unit)))
  }
  const from = first + dice(0, 80)
  return {
    window: { from, to: from + dice(0, 200) },
    panes: dice(0, 1) === 0 || panes.length === 0 ? panes : regrouped(dice, panes),
    rules: {
      grid,
      now,
      policy: somePolicy(dice, unit),
      freshAt: dice(0, 3) > 0 ? undefined : now + dice(-100, 10) * unit,
      notBefore: dice(0, 3) > 0 ? Number.NEGATIVE_INFINITY : now - dice(0, 100) * unit,
      acceptFrom: dice(0, 3) > 0 ? undefined : now - dice(0, 100) * unit,
      marks: dice(0, 1) === 0 ? noMarks : someMarks(dice, { first, now, unit }),
      vouched: dice(0, 1) === 0 ? undefined : someVouched(dice, { first, now, unit }),
    },
  }
}

function somePolicy(dice: Dice, unit: number): Freshness {
  if (dice(0, 1) === 0) return somePlateaus(dice, unit)
  return unit === dayMs / 3
    ? ladder({ floorMs: unit, doublingMs: dayMs, capMs: 16 * dayMs, settledAgeMs: dice(0, 90) * unit })
    : policies[dice(0, policies.length - 1)]!
}

interface Scale {
  readonly first: number
  readonly now: number
  readonly unit: number
}

/** Every third fetch has a limit that the database set; it is exact in a clock up to 127 s. */
function someClock(dice: Dice, fetchedAt: number): number {
  const seconds = dice(0, 2) > 0 ? Number.POSITIVE_INFINITY : dice(1, 127)
  const clock = clockWith(fetchedAt, { seconds, mustRevalidate: dice(0, 1) === 0 })
  fetches.set(clock, { fetchedAt, lifetimeMs: 1000 * seconds })
  return clock
}

const fetches = new Map<number, { readonly fetchedAt: number; readonly lifetimeMs: number }>()

/** Mostly recent; now and then expired, or in the future because the clock was set back. */
function someVouched(dice: Dice, { first, now, unit }: Scale): LookupRules['vouched'] {
  if (dice(0, 4) === 0) return () => undefined
  const runs: VouchedRun[] = []
  let next = first
  for (let count = dice(1, 4); count > 0; count--) {
    const from = next + dice(0, 20)
    next = from + dice(1, 60)
    runs.push({ from, to: next, since: now - dice(0, 250) * unit })
  }
  const verifiedAt = now - dice(-1, 4) * 10_000
  const vouched = { runs, verifiedAt, until: verifiedAt + 30_000, maxAgeMs: dice(0, 250) * unit }
  return () => vouched
}

/** Marks of both kinds that overlap each other and the panes, set before, between and after their clocks. */
function someMarks(dice: Dice, { first, now, unit }: Scale): BucketMark[] {
  return Array.from({ length: dice(1, 3) }, () => {
    const from = dice(0, 5) === 0 ? Number.NEGATIVE_INFINITY : first + dice(0, 120)
    const to = dice(0, 5) === 0 ? Number.POSITIVE_INFINITY : Math.max(from, first) + dice(1, 60)
    return { kind: dice(0, 1) === 0 ? 'purge' : 'stale', from, to, at: now - dice(0, 200) * unit }
  })
}

/** The same buckets in other panes: joined over their gaps, and cut elsewhere. */
function regrouped(dice: Dice, panes: readonly Pane[]): Pane[] {
  const whole = join(panes)
  const cut = dice(0, 255) % (whole.to - whole.from)
  const parts = [
    slice(whole, { from: whole.from, to: whole.from + cut }),
    slice(whole, { from: whole.from + cut, to: whole.to }),
  ]
  return parts.filter((part) => part.from < part.to)
}

interface Bucket {
  readonly bucket: number
  readonly state: BucketState
  readonly settled: boolean
  readonly clock: number
  readonly expiry: number
  readonly vouched?: true
}

function wordUntil(vouched: VouchedBuckets | undefined, bucket: number, clock: number): number {
  const run = vouched?.runs.find(({ from, to }) => from <= bucket && bucket < to)
  return run !== undefined && clock > run.since ? Math.min(vouched!.until, clock + vouched!.maxAgeMs) : 0
}

/** The rule of the design, bucket by bucket. */
function naive({ window, panes, rules }: Case): Bucket[] {
  const { grid, policy, now, freshAt = now, notBefore, marks } = rules
  const { acceptFrom = Number.POSITIVE_INFINITY } = rules
  const lapseOf = policy.plateaus?.lapseOf ?? ((fetchedAt, ttlMs) => fetchedAt + ttlMs)
  const vouched = rules.vouched?.()
  return Array.from({ length: window.to - window.from }, (_, i) => {
    const bucket = window.from + i
    const pane = panes.find(({ from, to }) => from <= bucket && bucket < to)
    const stored = pane === undefined ? Number.NaN : clockOf(pane, bucket)
    const { fetchedAt: clock, lifetimeMs } = fetches.get(stored) ?? { fetchedAt: stored, lifetimeMs: 0 }
    const end = startOf(grid, bucket + (grid.kind === 'cell' ? 1 : 0))
    const lapse = lapseOf(clock, policy.ttl(clock - end))
    const expiry = Math.min(lapse, clock + lifetimeMs)
    const said = marks.filter(({ from, to, at }) => from <= bucket && bucket < to && clock <= at)
    const isPurged = said.some(({ kind }) => kind === 'purge')
    if (Number.isNaN(clock) || clock > now || isPurged)
      return { bucket, state: 'absent', settled: false, clock, expiry }
    const settled = clock - end >= policy.settledAgeMs
    const mayBe = clock >= notBefore && said.length === 0
    const mayLapse = now < clock + lifetimeMs
    const isAwaited = clock >= acceptFrom && mayLapse
    if (mayBe && ((mayLapse ? Math.min(freshAt, now) : now) < expiry || isAwaited))
      return { bucket, state: 'fresh', settled, clock, expiry }
    const until = settled ? Math.min(wordUntil(vouched, bucket, clock), clock + lifetimeMs) : 0
    const isVouchedFor = mayBe && now < until && vouched!.verifiedAt <= now
    if (isVouchedFor) return { bucket, state: 'fresh', settled, clock, expiry: until, vouched: true }
    return { bucket, state: 'stale', settled, clock, expiry }
  })
}

const law = (name: string, check: (given: Case) => void): void => {
  test(name, () => {
    const throws = fc.uint8Array({ minLength: 40, maxLength: 130, size: 'max' })
    fc.assert(
      fc.property(throws, (bytes) => check(someCase(diceOf(bytes)))),
      { numRuns: 2000 },
    )
  })
}

law('every bucket is judged by its age at fetch and its clock', (given) => {
  const { runs } = cover([given.window], given.panes, given.rules)
  const judged = runs.flatMap(({ from, to, state, settled, vouched }) =>
    Array.from({ length: to - from }, (_, i) => ({ bucket: from + i, state, settled, vouched })),
  )
  const expected = naive(given).map(({ bucket, state, settled, vouched }) => ({
    ...{ bucket, state, settled, vouched },
  }))
  assert.deepEqual(judged, expected)
})

test('days of unequal length are judged like any bucket', () => {
  const hour = 60 * minute
  const grid = calendarGrid({ unit: 'day', count: 1, zone: 'America/New_York', origin: 0 })!
  const policy = ladder({ floorMs: hour, doublingMs: 24 * hour, capMs: 96 * hour, settledAgeMs: 73 * hour })
  const first = bucketAt(grid, Date.UTC(2026, 2, 1, 12))
  const window = { from: first, to: first + 14 }
  // In the middle of them clocks are set; every age around that is tried.
  for (let hours = 0; hours < 30 * 24; hours++) {
    const clock = startOf(grid, first) + hours * hour
    const now = clock + (hours % 50) * hour
    const rules = { grid, policy, now, notBefore: Number.NEGATIVE_INFINITY, marks: noMarks }
    const { runs } = cover([window], [paneFetchedAt(window, clock)], rules)
    for (const { from, to, state, settled } of runs) {
      for (let bucket = from; bucket < to; bucket++) {
        const age = clock - startOf(grid, bucket + 1)
        assert.equal(state, now < clock + policy.ttl(age) ? 'fresh' : 'stale')
        assert.equal(settled, age >= policy.settledAgeMs)
      }
    }
  }
})

law('runs are as long as they can be', (given) => {
  const { runs } = cover([given.window], given.panes, given.rules)
  runs.forEach((run, i) => {
    const next = runs[i + 1]
    assert.ok(run.from < run.to)
    const isOther = next?.state !== run.state || next.settled !== run.settled || next.mark !== run.mark
    assert.ok(isOther || next.vouched !== run.vouched)
  })
})

law('a run that a mark decided names the mark: a purge before others, of two the later', (given) => {
  for (const { from, to, state, mark } of cover([given.window], given.panes, given.rules).runs) {
    if (mark === undefined) continue
    const covering = given.rules.marks.filter((other) => other.from <= from && to <= other.to)
    assert.equal(state, mark.kind === 'purge' ? 'absent' : 'stale')
    assert.ok(covering.includes(mark))
    for (const other of covering) {
      if (mark.kind === 'stale' && other.kind === 'purge') {
        const clocks = given.panes
          .filter((pane) => pane.from <= from && from < pane.to)
          .map((pane) => clockOf(pane, from))
        assert.ok(
          clocks.every((clock) => clock > other.at),
          'a purge was passed over',
        )
      }
      if (mark.kind === other.kind) assert.ok(mark.at >= other.at)
    }
  }
})

law('the oldest fresh clock and the first expiry are those of fresh buckets', (given) => {
  const coverage = cover([given.window], given.panes, given.rules)
  const fresh = naive(given).filter(({ state }) => state === 'fresh')
  assert.equal(coverage.oldestFresh, Math.min(...fresh.map(({ clock }) => clock)))
  assert.equal(coverage.freshUntil, Math.min(...fresh.map(({ expiry }) => expiry)))
  const settled = fresh.filter((bucket) => bucket.settled && !bucket.vouched)
  assert.equal(coverage.settledUntil, Math.min(...settled.map(({ expiry }) => expiry)))
})

law('the expiry of a single bucket is the one that a lookup judges by', (given) => {
  for (const { bucket, clock, expiry, vouched } of naive(given)) {
    const pane = given.panes.find(({ from, to }) => from <= bucket && bucket < to)
    if (Number.isNaN(clock) || vouched) continue
    assert.equal(expiryOf(clockOf(pane!, bucket), bucket, given.rules), expiry)
  }
})

law(
  'a policy that is judged by its plateaus, or bucket by bucket, gives the result of the search',
  (given) => {
    const [floorMs, doublingMs] = [given.rules.grid.step / 3, given.rules.grid.step]
    const policy = ladder({ floorMs, doublingMs, capMs: 30 * doublingMs })
    const plateaus: Freshness['plateaus'] = {
      endOf: (ageMs) => (Math.floor(ageMs / doublingMs) + 1) * doublingMs,
      lapseOf: (fetchedAt, ttlMs) => fetchedAt + ttlMs,
    }
    const coverageBy = (policy: Freshness) => {
      const rules = { ...given.rules, policy }
      const { runs, oldestFresh, freshUntil, settledUntil } = cover([given.window], given.panes, rules)
      return { runs, oldestFresh, freshUntil, settledUntil }
    }
    const expected = coverageBy(policy)
    assert.deepEqual(coverageBy({ ...policy, plateaus }), expected)
    assert.deepEqual(coverageBy({ ...policy, isMonotone: false, plateaus }), expected)
    assert.deepEqual(coverageBy({ ...policy, isMonotone: false }), expected)
  },
)

test('plateaus are judged once each, however many buckets lie in them', () => {
  const grid = { kind: 'cell', step: minute, origin: 0 } as const
  const window = { from: base / minute, to: base / minute + 1441 }
  const clock = base + 1441 * minute
  let asked = 0
  // Between one and two hours of age buckets lapse first.
  const policy: Freshness = {
    isMonotone: false,
    settledAgeMs: 30 * minute,
    ttl(ageMs) {
      asked++
      return Math.floor(ageMs / (60 * minute)) === 1 ? 10 * minute : 20 * minute
    },
    plateaus: {
      endOf: (ageMs) => (Math.floor(ageMs / (60 * minute)) + 1) * 60 * minute,
      lapseOf: (fetchedAt, ttlMs) => fetchedAt + ttlMs,
    },
  }
  const rules = { grid, policy, now: clock + 15 * minute, ...noDemands }
  const { runs, freshUntil, settledUntil } = cover([window], [paneFetchedAt(window, clock)], rules)
  assert.deepEqual(
    runs.map(({ from, to, state, settled }) => [window.to - from, window.to - to, state, settled]),
    [
      [1441, 120, 'fresh', true],
      [120, 60, 'stale', true],
      [60, 30, 'fresh', true],
      [30, 0, 'fresh', false],
    ],
  )
  assert.deepEqual([freshUntil, settledUntil], [clock + 20 * minute, clock + 20 * minute])
  // The oldest bucket alone is exactly a day old.
  assert.equal(asked, 25)
})

law('the gap reaches from the first bucket that is not fresh to the fresh, settled suffix', (given) => {
  const buckets = naive(given)
  const gap = gapOf(cover([given.window], given.panes, given.rules).runs)
  if (buckets.every(({ state }) => state === 'fresh')) return assert.equal(gap, undefined)
  const from = buckets.find(({ state }) => state !== 'fresh')!.bucket
  const last = buckets.findLast(({ state, settled }) => state !== 'fresh' || !settled)!.bucket
  assert.deepEqual(gap, { from, to: last + 1 })
})

law('states are counted by bucket', (given) => {
  const counts = { fresh: 0, stale: 0, absent: 0 }
  for (const { state } of naive(given)) counts[state]++
  assert.deepEqual(countStates(cover([given.window], given.panes, given.rules).runs), counts)
})

test('the cases of these laws have runs of every kind', () => {
  const seen = new Set<string>()
  const throws = fc.uint8Array({ minLength: 40, maxLength: 130, size: 'max' })
  for (const bytes of fc.sample(throws, { numRuns: 2000, seed: 1 })) {
    const given = someCase(diceOf(bytes))
    for (const { state, settled } of naive(given)) seen.add(`${state} ${settled}`)
    for (const { mark } of cover([given.window], given.panes, given.rules).runs) if (mark) seen.add(mark.kind)
  }
  assert.deepEqual([...seen].sort(), [
    'absent false',
    'fresh false',
    'fresh true',
    'purge',
    'stale',
    'stale false',
    'stale true',
  ])
})

const grid = { kind: 'point', step: 15_000, origin: 0 } as const
const noDemands = { notBefore: Number.NEGATIVE_INFINITY, marks: noMarks } as const
const statesAt = (now: number, fetchedAt: number, policy = ladder()): CoverageRun[] => {
  const bucket = base / grid.step
  const window = { from: bucket, to: bucket + 1 }
  return [...cover([window], [paneFetchedAt(window, fetchedAt)], { grid, policy, now, ...noDemands }).runs]
}

test('fetched at age 10 s under the published ladder, read at age 15 min: stale', () => {
  const [run] = statesAt(base + 15 * minute, base + 10_000)
  assert.deepEqual([run?.state, run?.settled], ['stale', false])
  assert.equal(statesAt(base + 14_999, base + 10_000)[0]?.state, 'fresh')
  assert.equal(statesAt(base + 15_000, base + 10_000)[0]?.state, 'stale')
})

test('fetched when it was settled, a bucket stays fresh for the cap', () => {
  const fetchedAt = base + 15 * minute
  assert.deepEqual(statesAt(fetchedAt + 60 * minute - 1, fetchedAt)[0]?.state, 'fresh')
  assert.deepEqual(statesAt(fetchedAt + 60 * minute, fetchedAt)[0]?.state, 'stale')
  assert.ok(statesAt(fetchedAt, fetchedAt)[0]?.settled)
})

test('a bucket that was not over when it was fetched gets the floor', () => {
  assert.equal(statesAt(base - 1001, base - 6000)[0]?.state, 'fresh')
  assert.equal(statesAt(base - 1000, base - 6000)[0]?.state, 'stale')
})

test('a clock in the future counts as absent until it is reached', () => {
  assert.equal(statesAt(base, base + 1)[0]?.state, 'absent')
  assert.equal(statesAt(base + 1, base + 1)[0]?.state, 'fresh')
})

test('a changed policy takes effect at the next lookup', () => {
  const [fetchedAt, now] = [base + 10_000, base + minute]
  assert.equal(statesAt(now, fetchedAt, ladder())[0]?.state, 'stale')
  assert.equal(statesAt(now, fetchedAt, fixed(2 * minute))[0]?.state, 'fresh')
  assert.equal(statesAt(now, fetchedAt, fixed(minute, minute))[0]?.settled, false)
})

test('buckets fetched before a client’s demand are not fresh, buckets fetched at it are', () => {
  const window = { from: base / grid.step, to: base / grid.step + 1 }
  const pane = paneFetchedAt(window, base)
  const stateWith = (notBefore: number) =>
    cover([window], [pane], { grid, policy: fixed(minute), now: base, notBefore, marks: noMarks }).runs[0]
      ?.state
  assert.equal(stateWith(base), 'fresh')
  assert.equal(stateWith(base + 1), 'stale')
})

test('an empty window has no runs and no gap', () => {
  const coverage = cover([{ from: 3, to: 3 }], [], { grid, policy: fixed(1), now: base, ...noDemands })
  assert.deepEqual(coverage.runs, [])
  assert.equal(gapOf(coverage.runs), undefined)
})

test('a witness is called once per lookup, and only where settled buckets are past their TTLs', () => {
  const grid = { kind: 'cell', step: minute, origin: 0 } as const
  const policy = ladder({ floorMs: 5000, doublingMs: minute, capMs: 60 * minute })
  const window = { from: base / minute, to: base / minute + 100 }
  const clock = base + 200 * minute
  let asked = 0
  const coverAt = (now: number) => {
    asked = 0
    const vouched = () => {
      asked++
      const runs = [{ from: window.from + 10, to: window.to, since: clock - 1 }]
      return { runs, verifiedAt: now, until: now + minute, maxAgeMs: 180 * minute }
    }
    const rules = { grid, policy, now, notBefore: Number.NEGATIVE_INFINITY, marks: noMarks, vouched }
    const panes = [0, 30, 60].map((i) =>
      paneFetchedAt({ from: window.from + i, to: window.from + i + 30 }, clock),
    )
    return cover([window], panes, rules)
  }
  coverAt(clock + 59 * minute)
  assert.equal(asked, 0)
  const { runs, freshUntil } = coverAt(clock + 61 * minute)
  assert.equal(asked, 1)
  assert.deepEqual(
    runs.map(({ from, to, state, vouched }) => [from - window.from, to - window.from, state, vouched]),
    [
      [0, 10, 'stale', undefined],
      [10, 90, 'fresh', true],
      [90, 100, 'absent', undefined],
    ],
  )
  assert.equal(freshUntil, clock + 62 * minute)
  const capped = coverAt(clock + 180 * minute)
  assert.ok(capped.runs.every(({ state }) => state !== 'fresh'))
})
