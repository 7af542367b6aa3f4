import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type AskOptions,
  minuteMs,
  type RigOptions,
  type Served,
  storeWith,
} from '../../test/rigs/engine-rig.ts'
import { FakeDatabase } from '../../test/rigs/fake-database.ts'
import { ListeningTarget } from '../../test/rigs/listening-target.ts'
import { sharedRows } from '../../test/rigs/memory-engines.ts'
import { unsteadyPolicy } from '../../test/rigs/plateau-policy.ts'
import { type Range, RangesRig } from '../../test/rigs/ranges-rig.ts'
import { asynchronous } from '../testing/asynchronous.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { mixSeeds, seededRandom } from '../testing/random.ts'

/** Half a minute past midnight: the open cell, number 1440, is half over. */
async function newRig(options?: RigOptions): Promise<RangesRig> {
  const rig = new RangesRig(options)
  await rig.clock.advance(30_000)
  return rig
}

async function asksTruly(rig: RangesRig, ...ranges: Range[]): Promise<Served> {
  const served = await rig.askRanges(ranges)
  assert.equal(served.text, rig.truthRanges(ranges))
  return served
}

const outcomeOf = ({ decision: { outcome, reason, buckets, asked } }: Served) =>
  `${outcome}/${reason ?? ''} ${asked ?? 0} of ${buckets}`

test('several gaps are fetched in one query, and nothing between them', async () => {
  const rig = await newRig()
  await asksTruly(rig, [10, 20])
  await asksTruly(rig, [30, 40])
  assert.equal(outcomeOf(await asksTruly(rig, [5, 45])), 'partial/absent 20 of 40')
  assert.equal(outcomeOf(await asksTruly(rig, [5, 45])), 'hit/ 0 of 40')
  assert.deepEqual(rig.asked(), ['10-20', '30-40', '5-10 20-30 40-45'])
})

test('several ranges are looked up, fetched and stored without the buckets between them', async () => {
  const rig = await newRig()
  assert.equal(outcomeOf(await asksTruly(rig, [10, 20], [100, 110])), 'miss/absent 20 of 20')
  assert.equal(outcomeOf(await asksTruly(rig, [15, 18], [104, 105])), 'hit/ 0 of 4')
  assert.equal(outcomeOf(await asksTruly(rig, [15, 25], [95, 105], [200, 201])), 'partial/absent 11 of 21')
  assert.deepEqual(rig.asked(), ['10-20 100-110', '20-25 95-100 200-201'])
  assert.equal((await rig.stored()).size, 31)
})

test('a part of a bucket is fetched every time, in the same query, and is never stored', async () => {
  const rig = await newRig()
  const range: Range = [10.5, 19.25]
  assert.equal(outcomeOf(await asksTruly(rig, range)), 'miss/absent 10 of 10')
  assert.equal(outcomeOf(await asksTruly(rig, range)), 'partial/edge 2 of 10')
  assert.deepEqual([...(await rig.stored()).keys()], [11, 12, 13, 14, 15, 16, 17, 18])
  assert.equal(outcomeOf(await asksTruly(rig, [10, 20])), 'partial/absent 2 of 10')
  assert.equal(outcomeOf(await asksTruly(rig, [10, 20])), 'hit/ 0 of 10')
  // Buckets that are stored as a whole by now are useless to a request for a part of them.
  assert.equal(outcomeOf(await asksTruly(rig, range)), 'partial/edge 2 of 10')
  assert.deepEqual(rig.asked(), ['10.5-19.25', '10.5-11 19-19.25', '10-11 19-20', '10.5-11 19-19.25'])
})

test('a request for nothing but parts is fetched every time, and stores nothing', async () => {
  const rig = await newRig()
  for (let i = 0; i < 2; i++) {
    const served = await asksTruly(rig, [10.5, 11.5], [20.1, 20.2], [20.4, 20.5])
    assert.equal(outcomeOf(served), 'miss/edge 3 of 3')
    assert.notEqual(served.decision.stored, true)
  }
  assert.deepEqual(rig.asked(), Array(2).fill('10.5-11.5 20.1-20.2 20.4-20.5'))
  assert.equal(rig.store.figures?.().entries, 0)
})

test('a query for nothing but edges writes nothing, whether there is data in them or not', async () => {
  for (const lastMinute of [2000, 1430]) {
    let writes = 0
    const rig: RangesRig = await newRig({
      valueAt: (start) => ((start - rig.start) / minuteMs <= lastMinute ? 1 : undefined),
      wrap: (store) =>
        storeWith(store, {
          write(key, entry) {
            writes++
            return store.write(key, entry)
          },
        }),
    })
    assert.equal((await asksTruly(rig, [1420.5, 1440.5])).decision.stored, true)
    await asksTruly(rig, [1420.5, 1431])
    assert.equal(writes, 1)
    const { decision } = await asksTruly(rig, [1425, 1431], [1439.5, 1439.7])
    assert.deepEqual([decision.reason, decision.stored, writes], ['edge', false, 1])
  }
})

test('the store is read for whole buckets only: not for edges, and not for buckets between ranges', async () => {
  const reads: string[] = []
  const rig: RangesRig = await newRig({
    wrap: (store) =>
      storeWith(store, {
        read(key, { from, to }) {
          if (from < to) reads.push(`${from - rig.start / minuteMs}-${to - rig.start / minuteMs}`)
          return store.read(key, { from, to })
        },
      }),
  })
  await asksTruly(rig, [10.5, 20.5], [100, 110])
  assert.deepEqual(reads.splice(0), ['11-20', '100-110'])
  await asksTruly(rig, [10.5, 11.5])
  assert.deepEqual(reads.splice(0), [])
  const many = Array.from({ length: 20 }, (_, i): Range => [10 * i, 10 * i + 5])
  await asksTruly(rig, ...many)
  assert.deepEqual(reads.splice(0), ['0-195'])
})

test('a store that fails for one of several ranges has failed, whenever it does', async () => {
  for (const fail of [() => Promise.reject(new Error('broken')), () => raise(new Error('broken'))]) {
    const rig: RangesRig = await newRig({
      wrap: (store) =>
        storeWith(store, {
          read: (key, interval) =>
            interval.from > rig.start / minuteMs + 50 ? fail() : store.read(key, interval),
        }),
    })
    const { answer } = await rig.askRanges([
      [10, 20],
      [100, 110],
      [200, 210],
    ])
    assert.deepEqual(answer, { kind: 'forward', reason: 'store_failed' })
  }
})

test('of a key that was not read for long no range is served before it is compared', async () => {
  const clock = fakeClock()
  let value = 1
  const database = new FakeDatabase({ clock, valueAt: () => value })
  const storeOf = sharedRows(24 * 60 * minuteMs)
  const newNode = () =>
    newRig({ clock, database, far: asynchronous(storeOf(clock), { clock, maxDelayMs: 5 }) })
  const [one, other] = [await newNode(), await newNode()]
  const ask = async (rig: RangesRig, how: AskOptions = {}) => {
    const ranges: readonly Range[] = [
      [10, 12],
      [100, 102],
    ]
    const served = rig.askRanges(ranges, how)
    await clock.advance(1000)
    return served
  }
  for (const rig of [one, one, other, other]) await ask(rig)
  value = 2
  const changed = await ask(other, { demands: { notBefore: clock.now() } })
  await clock.advance(2.5 * minuteMs)
  const both = await Promise.all([ask(one), ask(one)])
  for (const { decision, text } of both) assert.deepEqual([decision.outcome, text], ['hit', changed.text])
})

const raise = (error: Error): never => {
  throw error
}

test('empty buckets between gaps are known to be empty, unsettled ones at the end are not where that is off', async () => {
  // Nothing from 1432 to 1434, and nothing from 1437 on.
  const rig = await newRig({ trailingEmpty: 'off', valueAt: (start) => valueUntil(rig, start) })
  const valueUntil = ({ start: zero }: RangesRig, start: number) => {
    const minute = (start - zero) / minuteMs
    return minute >= 1437 || (minute >= 1432 && minute < 1434) ? undefined : minute
  }
  await asksTruly(rig, [1430, 1431])
  await asksTruly(rig, [1435, 1436])
  await asksTruly(rig, [1425, 1440])
  assert.deepEqual(rig.asked().at(-1), '1425-1430 1431-1435 1436-1440')
  assert.deepEqual([...(await rig.stored()).keys()].at(-1), 1436)
  assert.equal((await rig.stored()).get(1432), '')
  await asksTruly(rig, [1425, 1440])
  assert.deepEqual(rig.asked(), ['1437-1440'])
})

test('an edge with data behind empty buckets shows that these are not late', async () => {
  const rig = await newRig({ valueAt: (start) => ((start / minuteMs) % 5 === 0 ? 1 : undefined) })
  const range: Range = [1430.5, 1440.5]
  assert.equal((rig.start / minuteMs) % 5, 0)
  await asksTruly(rig, range)
  assert.equal((await rig.stored()).size, 9)
  await asksTruly(rig, range)
  assert.deepEqual(rig.asked(), ['1430.5-1440.5', '1430.5-1431 1440-1440.5'])
})

test('more gaps than a query should have are fetched with the buckets between them', async () => {
  const rig = await newRig()
  for (let minute = 0; minute < 1000; minute += 2) await rig.askRanges([[minute, minute + 1]])
  rig.asked()
  await asksTruly(rig, [0.5, 521])
  await asksTruly(rig, [521, 1000])
  const [first, second] = rig.asked()
  assert.equal(first, '0.5-520')
  assert.equal(second!.split(' ').length, 240)
})

test('an answer that is cut after its rows comes whole from the store, and only so far', async () => {
  const rig = await newRig()
  const ask = async (more: string) => {
    const { text, answer, decision } = await rig.serve(rig.planRanges([[10.5, 20]], more))
    return { rows: JSON.parse(text).rows.length, panes: 'panes' in answer, outcome: decision.outcome }
  }
  assert.deepEqual(await ask('&limit=3'), { rows: 3, panes: false, outcome: 'miss' })
  assert.deepEqual(await ask('&limit=5'), { rows: 5, panes: false, outcome: 'partial' })
  assert.deepEqual(await ask(''), { rows: 10, panes: true, outcome: 'partial' })
})

test('a full miss is streamed, edges included; where the answer is made from it, it is not', async () => {
  const rig = await newRig()
  const ranges: Range[] = [
    [10.5, 20],
    [30, 40.5],
  ]
  const target = new ListeningTarget()
  const { answer } = await rig.askRanges(ranges, { target })
  assert.deepEqual([answer.kind, target.ending, target.text], ['streamed', 'whole', rig.truthRanges(ranges)])
  assert.equal((await rig.stored()).size, 19)
  const unused = new ListeningTarget()
  const limited = await rig.serve(rig.planRanges([[50, 60]], '&limit=3'), { target: unused })
  assert.deepEqual([limited.answer.kind, unused.text], ['panes', ''])
  assert.equal(limited.text, rig.truthRanges([[50, 53]]))
  assert.equal((await asksTruly(rig, [50, 60])).decision.outcome, 'hit')
})

interface Fetched {
  readonly hasData: (minute: number) => boolean
  readonly keepsLate: boolean
}

/** The expected content of the store, bucket by bucket, and the expected queries: computed without runs. */
class Model {
  readonly #rig: RangesRig
  readonly #clocks = new Map<number, number>()
  /** Empty buckets at the end of a fetch, which have the floor at most: their period may end earlier. */
  readonly #late = new Set<number>()

  constructor(rig: RangesRig) {
    this.#rig = rig
  }

  /**
   * The minutes that a request has to fetch; where there are some, and no edges, also the minutes that lapse within
   * four fifths of the floor.
   */
  asks(ranges: readonly Range[]): number[] {
    const now = this.#rig.clock.now()
    const missing = this.#notFresh(ranges, now)
    const { whole, touched } = minutesOf(ranges)
    const hasEdges = whole.size < touched.length
    return missing.length === 0 || hasEdges ? missing : this.#notFresh(ranges, now + 4_000)
  }

  #notFresh(ranges: readonly Range[], at: number): number[] {
    const { whole, touched } = minutesOf(ranges)
    const isFresh = (minute: number) => {
      const clock = this.#clocks.get(minute) ?? Number.NaN
      const isWithinFloor = !this.#late.has(minute) || at < this.#lapseOf(clock, -1)
      return isWithinFloor && at < this.#lapseOf(clock, clock - this.#endOf(minute))
    }
    return touched.filter((minute) => !whole.has(minute) || !isFresh(minute))
  }

  #lapseOf(clock: number, ageMs: number): number {
    const { policy } = this.#rig
    const ttl = policy.ttl(ageMs)
    return policy.plateaus?.lapseOf(clock, ttl) ?? clock + ttl
  }

  fetched(minutes: readonly number[], ranges: readonly Range[], { hasData, keepsLate }: Fetched): void {
    const now = this.#rig.clock.now()
    const { whole } = minutesOf(ranges)
    const lastFilled = minutes.findLast(hasData) ?? -1
    for (const minute of minutes) {
      const isSettled = now - this.#endOf(minute) >= this.#rig.policy.settledAgeMs
      const isLate = minute > lastFilled && !isSettled
      if (!whole.has(minute) || (isLate && !keepsLate)) continue
      this.#clocks.set(minute, now)
      if (isLate) this.#late.add(minute)
      else this.#late.delete(minute)
    }
  }

  get stored(): number[] {
    return [...this.#clocks.keys()].sort((a, b) => a - b)
  }

  #endOf(minute: number): number {
    return this.#rig.start + (minute + 1) * minuteMs
  }
}

function minutesOf(ranges: readonly Range[]) {
  const whole = new Set<number>()
  const touched = new Set<number>()
  for (const [from, to] of ranges) {
    for (let minute = Math.floor(from); minute < to; minute++) {
      touched.add(minute)
      if (minute >= from && minute + 1 <= to) whole.add(minute)
    }
  }
  return { whole, touched: [...touched].sort((a, b) => a - b) }
}

/** Ends in quarters of a minute, most of them where buckets end. */
const end = (max: number) =>
  fc.tuple(fc.nat(max), fc.constantFrom(0, 0, 0, 0, 0, 0.25, 0.5)).map(([minute, part]) => minute + part)
const told = fc.record({
  length: fc.oneof(end(3), end(40), end(200)),
  behind: fc.oneof(fc.constantFrom(0, 0, 0.5), end(30), end(600)),
})
const look = fc.record({
  waitMs: fc.oneof(fc.constantFrom(0, 0, 5_000), fc.nat(60_000), fc.nat(40 * minuteMs)),
  /** Each behind the one before, the first behind now; none: the last request is repeated. */
  told: fc.oneof(fc.constant([]), fc.array(told, { minLength: 1, maxLength: 3 })),
  /** Whether now is a moment or the end of a minute. */
  isMoment: fc.boolean(),
})
type Look = typeof look extends fc.Arbitrary<infer T> ? T : never

/** In order, with a hole of at least a quarter of a minute between two of them. */
function rangesOf(nowMinute: number, told: readonly { length: number; behind: number }[]): Range[] {
  const ranges: Range[] = []
  let last = nowMinute
  for (const { length, behind } of told) {
    const to = last - behind
    const from = to - Math.max(length, 0.25)
    if (from < 0) break
    ranges.unshift([from, to])
    last = from - 0.25
  }
  return ranges
}

/** An empty bucket is fetched four seconds before its period ends, and again when it has ended. */
const endsBeforeFloor: [number, Look[]] = [
  287,
  [
    { waitMs: 101_390, told: [{ length: 2, behind: 2 }], isMoment: false },
    { waitMs: 5000, told: [], isMoment: false },
    {
      waitMs: 3610,
      told: [
        { length: 0, behind: 0 },
        { length: 3, behind: 0 },
      ],
      isMoment: true,
    },
  ],
]

test('random requests: the database’s own answer, by one query for exactly the buckets that are not fresh or about to lapse, edges never stored', async () => {
  const seen = { hits: 0, partials: 0, edges: 0, several: 0, empties: 0 }
  const sequence = async (seed: number, looks: readonly Look[]) => {
    const density = [1, 0.6, 0.1][seed % 3]!
    const hasData = (minute: number) => seededRandom(mixSeeds(seed, minute))() < density
    const keepsLate = seed % 5 > 1
    const rig = await newRig({
      refreshesAhead: false,
      trailingEmpty: keepsLate ? 'floor' : 'off',
      valueAt: (start) => {
        const minute = (start - rig.start) / minuteMs
        return hasData(minute) ? minute : undefined
      },
    })
    if (seed % 2 === 1) rig.policy = unsteadyPolicy()
    const model = new Model(rig)
    let ranges: readonly Range[] = [[1400, 1441]]
    for (const { waitMs, told, isMoment } of looks) {
      await rig.clock.advance(waitMs)
      const quarter = Math.ceil((rig.clock.now() - rig.start) / (minuteMs / 4)) / 4
      if (told.length > 0) ranges = rangesOf(isMoment ? quarter : Math.ceil(quarter), told)
      if (ranges.length === 0) continue
      const expected = model.asks(ranges)
      const { decision, text } = await rig.askRanges(ranges)
      assert.equal(text, rig.truthRanges(ranges))
      const queries = rig.asked()
      const asked = queries.flatMap((query) =>
        query.split(' ').map((range) => range.split('-').map(Number) as unknown as Range),
      )
      assert.deepEqual(minutesOf(asked).touched, expected)
      assert.equal(queries.length, expected.length > 0 ? 1 : 0)
      assert.equal(decision.asked ?? 0, expected.length)
      model.fetched(expected, ranges, { hasData, keepsLate })
      const stored = await rig.stored()
      assert.deepEqual([...stored.keys()], model.stored)
      for (const [minute, row] of stored) {
        assert.equal(row, hasData(minute) ? `[${rig.start + minute * minuteMs},${minute}],` : '')
      }
      if (decision.outcome === 'hit') seen.hits++
      if (decision.outcome === 'partial') seen.partials++
      if (decision.reason === 'edge') seen.edges++
      if (asked.length > 2) seen.several++
      if ([...stored.values()].includes('')) seen.empties++
    }
  }
  await fc.assert(fc.asyncProperty(fc.nat(1000), fc.array(look, { minLength: 3, maxLength: 12 }), sequence), {
    numRuns: 100,
    examples: [endsBeforeFloor],
  })
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 2, `${what} were tried ${times} times`)
})

test('a query that is wider than the client’s own is not tried again at once when its answer was unusable', async () => {
  const rig = await newRig()
  const ask = async (more: string) => {
    const { answer } = await rig.serve(rig.planRanges([[10, 20]], more))
    return answer.kind === 'forward' ? answer.reason : answer.kind
  }
  rig.database.failure = { status: 200, body: 'surprise' }
  assert.equal(await ask('&limit=3'), 'unusable_answer')
  rig.database.failure = undefined
  assert.equal(await ask('&limit=3'), 'unusable_answer')
  assert.equal(rig.asked().length, 1)
  await rig.clock.advance(10 * minuteMs)
  assert.equal(await ask('&limit=3'), 'panes')
  assert.equal(rig.asked().length, 1)
})
