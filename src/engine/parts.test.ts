/** Parts of buckets that are kept under their exact bounds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AskOptions, minuteMs, type RigOptions, type Served } from '../../test/rigs/engine-rig.ts'
import { type Range, RangesRig } from '../../test/rigs/ranges-rig.ts'
import { Budget } from '../core/budget.ts'
import type { Pane } from '../core/pane.ts'
import { PaneBuilder } from '../core/pane-builder.ts'
import { PartMemory } from './parts.ts'

/** Half a minute past midnight: the open cell, number 1440, is half over. */
async function newRig(options?: RigOptions): Promise<RangesRig> {
  const rig = new RangesRig({ ...options, keepsParts: true })
  await rig.clock.advance(30_000)
  return rig
}

async function asksTruly(rig: RangesRig, ranges: readonly Range[], how?: AskOptions): Promise<string> {
  const served = await rig.askRanges(ranges, how)
  assert.equal(served.text, rig.truthRanges(ranges))
  return outcomeOf(served)
}

const outcomeOf = ({ decision: { outcome, reason, buckets, asked } }: Served) =>
  `${outcome}/${reason ?? ''} ${asked ?? 0} of ${buckets}`

const fixed: readonly Range[] = [[10.5, 19.25]]

test('a window that is asked for again with the same bounds needs no query', async () => {
  const rig = await newRig()
  assert.equal(await asksTruly(rig, fixed), 'miss/absent 10 of 10')
  assert.equal(await asksTruly(rig, fixed), 'hit/ 0 of 10')
  assert.deepEqual(rig.asked(), ['10.5-19.25'])
})

test('a part is never taken for the bucket, nor for another part of it, nor the bucket for a part', async () => {
  const rig = await newRig()
  await asksTruly(rig, fixed)
  assert.equal(await asksTruly(rig, [[10.5, 19.5]]), 'partial/edge 2 of 10')
  assert.equal(await asksTruly(rig, [[10, 20]]), 'partial/absent 2 of 10')
  assert.deepEqual([...(await rig.stored()).keys()], [10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
  assert.equal(await asksTruly(rig, [[10.75, 19.25]]), 'partial/edge 2 of 10')
  assert.equal(await asksTruly(rig, fixed), 'hit/ 0 of 10')
})

test('a request for nothing but parts is a hit, too, with the headers of the answer', async () => {
  const rig = await newRig()
  const ranges: readonly Range[] = [
    [10.5, 11.5],
    [20.1, 20.2],
    [20.4, 20.5],
  ]
  const first = await rig.askRanges(ranges)
  assert.equal(outcomeOf(first), 'miss/edge 3 of 3')
  assert.equal(first.decision.stored, true)
  const { answer, decision } = await rig.askRanges(ranges)
  assert.equal(decision.outcome, 'hit')
  assert.ok(answer.kind === 'panes' && first.answer.kind === 'panes')
  assert.deepEqual(answer.headers, first.answer.headers)
  assert.equal(rig.store.figures?.().entries, 0)
})

test('its TTL is that of its bucket: the part of a bucket that is not over lapses after the floor', async () => {
  const rig = await newRig()
  const ranges: readonly Range[] = [[1420.5, 1440.25]]
  await asksTruly(rig, ranges)
  const { decision } = await rig.askRanges(ranges)
  assert.deepEqual([decision.outcome, decision.ttlSeconds], ['hit', 5])
  await rig.clock.advance(4_999)
  assert.match(await asksTruly(rig, ranges), /^hit/)
  rig.asked()
  await rig.clock.advance(1)
  // With it come the buckets that would lapse next.
  assert.match(await asksTruly(rig, ranges), /^partial\/expired/)
  assert.match(rig.asked()[0]!, /^14\d\d-1440\.25$/)
})

test('what was purged or marked is asked for again, also where it was purged while it was fetched', async () => {
  const rig = await newRig()
  await asksTruly(rig, fixed)
  const at = (minute: number) => rig.start + minute * minuteMs
  await rig.clock.advance(1)
  await rig.purge.run({ from: at(19), to: at(20) })
  assert.equal(await asksTruly(rig, fixed), 'partial/edge 1 of 10')
  assert.deepEqual(rig.asked().at(-1), '19-19.25')
  rig.database.lagMs = 1_000
  const pending = rig.askRanges([[30.5, 31]])
  await rig.clock.advance(500)
  await rig.purge.run({ from: at(30), to: at(31) })
  await rig.clock.advance(500)
  assert.equal((await pending).decision.outcome, 'miss')
  rig.database.lagMs = 0
  assert.equal(await asksTruly(rig, [[30.5, 31]]), 'miss/edge 1 of 1')
})

test('it belongs to one identity, and to clients that accept its age', async () => {
  const rig = await newRig()
  await asksTruly(rig, fixed, { identity: 'one' })
  assert.match(await asksTruly(rig, fixed, { identity: 'two' }), /^miss/)
  await rig.clock.advance(1000)
  const demands = { notBefore: rig.clock.now() }
  assert.equal(await asksTruly(rig, fixed, { identity: 'one', demands }), 'miss/revalidate 10 of 10')
  const cached = { identity: 'two', demands: { onlyIfCached: true } }
  assert.match(await asksTruly(rig, fixed, cached), /^hit/)
  const { answer } = await rig.askRanges([[10.25, 19.25]], cached)
  assert.equal(answer.kind, 'not-cached')
})

test('viewers of one window at the same time cause one query, whoever comes later none', async () => {
  const rig = await newRig()
  rig.database.lagMs = 100
  const pending = Array.from({ length: 20 }, () => rig.askRanges(fixed))
  await rig.clock.advance(100)
  for (const { text } of await Promise.all(pending)) assert.equal(text, rig.truthRanges(fixed))
  assert.match(await asksTruly(rig, fixed), /^hit/)
  assert.deepEqual(rig.asked(), ['10.5-19.25'])
})

/** The data ends before bucket 1435: its parts behind that are empty, and not settled. */
async function newLateRig(options?: RigOptions): Promise<RangesRig> {
  const rig: RangesRig = await newRig({
    ...options,
    valueAt: (start) => ((start - rig.start) / minuteMs < 1435 ? 1 : undefined),
  })
  return rig
}

test('an empty part at the end that is not settled is cached for the floor', async () => {
  const rig = await newLateRig()
  const ranges: readonly Range[] = [[1420.5, 1436.5]]
  await asksTruly(rig, ranges)
  rig.asked()
  assert.equal(await asksTruly(rig, ranges), 'hit/ 0 of 17')
  await rig.clock.advance(4_999)
  assert.equal(await asksTruly(rig, ranges), 'hit/ 0 of 17')
  assert.deepEqual(rig.asked(), [])
  await rig.clock.advance(1)
  await asksTruly(rig, ranges)
  assert.deepEqual(rig.asked(), ['1435-1436.5'])
})

test('with trailing: off, an empty part at the end that is not settled is not cached', async () => {
  const rig = await newLateRig({ trailingEmpty: 'off' })
  const ranges: readonly Range[] = [[1420.5, 1436.5]]
  await asksTruly(rig, ranges)
  rig.asked()
  await asksTruly(rig, ranges)
  assert.deepEqual(rig.asked(), ['1435-1436.5'])
})

test('windows that move with the clock leave the store as it is', async () => {
  const rig = await newRig()
  for (let i = 0; i < 50; i++) {
    await rig.clock.advance(100)
    await asksTruly(rig, [[1420.1 + i / 1000, 1440.5 + i / 1000]])
  }
  assert.equal((await rig.stored()).size, 19)
})

test('it is explained', async () => {
  const rig = await newRig()
  const before = await rig.explainRanges(fixed)
  assert.deepEqual(
    before.edges!.map(({ state }) => state),
    ['absent', 'absent'],
  )
  await rig.askRanges(fixed)
  const after = await rig.explainRanges(fixed)
  assert.deepEqual(
    after.edges!.map(({ state }) => state),
    ['fresh', 'fresh'],
  )
  assert.match(after.sentence, /^Hit: all 10 buckets are fresh/)
})

interface Row {
  readonly from: number
  readonly to: number
  readonly fetchedAt: number
  /** In the first bucket. */
  readonly text: string
}

function paneFrom({ from, to, fetchedAt, text }: Row): Pane {
  const builder = new PaneBuilder(1)
  builder.beginColumn(0, 0, new Uint8Array())
  builder.beginLane(0)
  builder.bucket(0, 0)
  builder.endLane(text.length)
  return builder.finish({ interval: { from, to }, fetchedAt, slab: Buffer.from(text) })
}

const parts = (names: string) =>
  ({
    key: 'k',
    plan: { edges: { buckets: [{ from: 0, to: 2 }], parts: names, isStorable: true } },
  }) as unknown as Parameters<PartMemory['keep']>[0]

test('an older fetch does not replace a newer one, bucket by bucket', () => {
  const memory = new PartMemory(new Budget(1 << 20))
  const at = (from: number, to: number, fetchedAt: number, text: string) => ({
    panes: [paneFrom({ from, to, fetchedAt, text })],
    headers: [],
  })
  const everything = [{ from: 0, to: 2 }]
  memory.keep(parts('a'), at(1, 2, 2_000, 'new'), everything)
  memory.keep(parts('a'), at(0, 2, 1_000, 'old'), everything)
  const kept = memory.find(parts('a'))!.panes
  assert.deepEqual(
    kept.map(({ from, to, body }) => [from, to, body.f64[body.clocksAt]]),
    [
      [0, 1, 1_000],
      [1, 2, 2_000],
    ],
  )
  assert.equal(memory.find(parts('b')), undefined)
})

test('it is bounded, counted in the budget, and given back where others need the memory', () => {
  const budget = new Budget(64 << 20)
  const memory = new PartMemory(budget)
  const text = 'x'.repeat(1 << 20)
  for (let i = 0; i < 40; i++) {
    memory.keep(parts(`${i}`), { panes: [paneFrom({ from: 0, to: 1, fetchedAt: 1, text })], headers: [] }, [
      { from: 0, to: 1 },
    ])
  }
  assert.ok(budget.used <= 16 << 20 && budget.used > 14 << 20, `${budget.used} bytes`)
  assert.ok(memory.find(parts('39')) !== undefined && memory.find(parts('0')) === undefined)
  assert.ok(budget.reserve(60 << 20))
  assert.ok(budget.used <= 64 << 20)
})

/** The expected content: by the bounds of all parts of a window, and bucket, its fetch time. */
class Model {
  readonly #rig: RangesRig
  readonly #clocks = new Map<string, number>()

  constructor(rig: RangesRig) {
    this.#rig = rig
  }

  lacks([from, to]: Range): readonly number[] {
    return minutesOf([from, to]).filter((minute) => !this.#isFresh(nameIn([from, to], minute), minute))
  }

  fetched(range: Range, minutes: readonly number[]): void {
    for (const minute of minutes) this.#clocks.set(nameIn(range, minute), this.#rig.clock.now())
  }

  #isFresh(name: string, minute: number): boolean {
    const clock = this.#clocks.get(name) ?? Number.NaN
    const end = this.#rig.start + (minute + 1) * minuteMs
    return this.#rig.clock.now() < clock + this.#rig.policy.ttl(clock - end)
  }
}

const minutesOf = ([from, to]: Range): readonly number[] =>
  Array.from({ length: Math.ceil(to) - Math.floor(from) }, (_, i) => Math.floor(from) + i)

/** Whole buckets are one another's, parts those of windows with the same parts. */
function nameIn([from, to]: Range, minute: number): string {
  const isWhole = minute >= from && minute + 1 <= to
  return isWhole ? `${minute}` : `${minute} ${from % 1 === 0 ? '' : from} ${to % 1 === 0 ? '' : to}`
}

const window = fc
  .record({ from: fc.integer({ min: 1425, max: 1432 }), cut: fc.constantFrom(0, 0.25, 0.5) })
  .chain(({ from, cut }) =>
    fc.constantFrom(0, 0.25, 0.5).map((tail): Range => [from + cut, 1440 + tail] as const),
  )

test('whatever is asked for again: the database’s own answer, and a query only for what is not fresh', async () => {
  let hits = 0
  const look = fc.tuple(fc.constantFrom(0, 0, 1_000, 6_000, 90_000, 2 * 3_600_000), window)
  await fc.assert(
    fc.asyncProperty(fc.array(look, { minLength: 4, maxLength: 20 }), async (looks) => {
      const rig = await newRig({ refreshesAhead: false })
      const model = new Model(rig)
      for (const [waitMs, range] of looks) {
        await rig.clock.advance(waitMs)
        const lacking = model.lacks(range)
        const { decision } = await rig.askRanges([range]).then((served) => {
          assert.equal(served.text, rig.truthRanges([range]))
          return served
        })
        const asked = rig.asked()
        assert.equal(asked.length, lacking.length === 0 ? 0 : 1)
        const fetched = asked.flatMap((query) =>
          query.split(' ').flatMap((each) => minutesOf(each.split('-').map(Number) as unknown as Range)),
        )
        // A query may bring buckets along that would lapse soon.
        for (const minute of lacking) assert.ok(fetched.includes(minute), `${minute} was not asked for`)
        model.fetched(range, fetched)
        if (decision.outcome === 'hit') hits++
      }
    }),
    { numRuns: 60, seed: 17 },
  )
  assert.ok(hits > 20, `${hits} hits`)
})
