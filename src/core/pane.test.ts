import assert from 'node:assert/strict'
import test from 'node:test'
import { diceLaw as law } from '../../test/rigs/dice-law.ts'
import {
  type Dice,
  type FetchModel,
  lanesOfModels,
  modelOf,
  modelOfFetch,
  type PaneModel,
  paneOfFetch,
  randomFetch,
  restrict,
  unite,
} from '../testing/pane-model.ts'
import type { Interval } from './interval.ts'
import {
  clockOf,
  countBodies,
  filledUntil,
  measure,
  type Pane,
  PaneBody,
  paneOf,
  paneVersion,
  slice,
} from './pane.ts'
import { PaneBuilder } from './pane-builder.ts'
import { haveSameFrame, join } from './pane-join.ts'

/** Bucket numbers of any grid: around zero, negative, and those of a one-second step today. */
const origins = [0, -7, 1_767_225_600, 2 ** 45]

function someFetch(dice: Dice, maxBuckets = 24): FetchModel {
  const from = origins[dice(0, origins.length - 1)]!
  return randomFetch(dice, { interval: { from, to: from + dice(1, maxBuckets) }, fetchedAt: dice(1, 9) })
}

/** Disjoint fetches in time order, each with columns, clock and notes of its own. */
function someFetches(dice: Dice, maxGap: number): FetchModel[] {
  let next = origins[dice(0, origins.length - 1)]!
  return Array.from({ length: dice(1, 5) }, () => {
    const from = next + dice(0, maxGap)
    next = from + dice(1, 8)
    return randomFetch(dice, { interval: { from, to: next }, fetchedAt: dice(1, 9) })
  })
}

function someInterval(dice: Dice, within: Interval): Interval {
  const from = dice(within.from, within.to - 1)
  return { from, to: dice(from + 1, within.to) }
}

function splitAt(pane: Pane, cuts: readonly number[]): Pane[] {
  const edges = [pane.from, ...[...cuts].sort((a, b) => a - b), pane.to]
  const parts = edges.slice(1).map((to, i) => slice(pane, { from: edges[i]!, to }))
  return parts.filter((part) => part.from < part.to)
}

const spanOf = (panes: readonly Pane[]): Interval => ({ from: panes[0]!.from, to: panes.at(-1)!.to })
const sameModel = (actual: Pane, expected: PaneModel) => assert.deepEqual(modelOf(actual), expected)
const sameBytes = (a: Pane, b: Pane) => assert.ok(a.body.bytes.equals(b.body.bytes), 'other bytes')
const inside = (interval: Interval) => (bucket: number) => bucket >= interval.from && bucket < interval.to

law('a built pane has the fetched content', (dice) => {
  const fetch = someFetch(dice)
  const pane = paneOfFetch(fetch)
  sameModel(pane, modelOfFetch(fetch))
  assert.deepEqual({ from: pane.from, to: pane.to }, fetch.interval)
  assert.equal(pane.body.version, paneVersion)
})

law('a slice has the same content of fewer buckets, and shares the body', (dice) => {
  const pane = paneOfFetch(someFetch(dice))
  const interval = someInterval(dice, pane)
  const part = slice(pane, interval)
  sameModel(part, restrict(modelOf(pane), inside(interval)))
  assert.equal(part.body, pane.body)
})

test('a slice outside a pane is empty, never negative', () => {
  const fetch = randomFetch(() => 0, { interval: { from: 5, to: 9 }, fetchedAt: 1 })
  for (const interval of [
    { from: 0, to: 3 },
    { from: 20, to: 30 },
    { from: 7, to: 6 },
  ]) {
    const { from, to } = slice(paneOfFetch(fetch), interval)
    assert.equal(to - from, 0)
  }
})

law('split anywhere and joined again, a pane has the same bytes', (dice) => {
  const pane = join(someFetches(dice, 0).map(paneOfFetch))
  const cuts = Array.from({ length: dice(0, 6) }, () => dice(pane.from, pane.to))
  const joined = join(splitAt(pane, cuts))
  sameModel(joined, modelOf(pane))
  sameBytes(joined, join([pane]))
  sameBytes(joined, pane)
})

law('joined panes have the content of each; buckets between them are absent', (dice) => {
  const fetches = someFetches(dice, 3)
  const joined = join(fetches.map(paneOfFetch))
  sameModel(joined, unite(fetches.map(modelOfFetch)))
  assert.deepEqual({ from: joined.from, to: joined.to }, spanOf(fetches.map(paneOfFetch)))
  for (let bucket = joined.from; bucket < joined.to; bucket++) {
    const owner = fetches.find(({ interval }) => inside(interval)(bucket))
    assert.equal(clockOf(joined, bucket), owner?.fetchedAt ?? Number.NaN)
  }
})

law('slices of one body with gaps between them are joined without the content of the gaps', (dice) => {
  const pane = paneOfFetch(someFetch(dice))
  const parts = splitAt(
    pane,
    Array.from({ length: dice(1, 6) }, () => dice(pane.from, pane.to)),
  )
  const kept = parts.filter((_, i) => i === 0 || dice(0, 1) === 0)
  sameModel(
    join(kept),
    restrict(modelOf(pane), (bucket) => kept.some((part) => inside(part)(bucket))),
  )
})

law('a slice of a join is the join of slices', (dice) => {
  const panes = someFetches(dice, 0).map(paneOfFetch)
  const interval = someInterval(dice, spanOf(panes))
  const slices = panes.map((pane) => slice(pane, interval)).filter((part) => part.from < part.to)
  sameBytes(join([slice(join(panes), interval)]), join(slices))
})

law('the order in which neighbours are joined does not matter', (dice) => {
  const panes = someFetches(dice, 2).map(paneOfFetch)
  const cut = dice(1, panes.length)
  const halves = [panes.slice(0, cut), panes.slice(cut)].filter((half) => half.length > 0)
  sameBytes(join(halves.map(join)), join(panes))
})

law('columns without bytes are left out of a join', (dice) => {
  const pane = paneOfFetch(someFetch(dice))
  const part = slice(pane, someInterval(dice, pane))
  const joined = join([part])
  assert.equal(joined.body.columns, modelOf(part).columns.size)
})

law('joined notes: every bucket keeps its own, equal sets are kept once, unused ones not at all', (dice) => {
  const panes = someFetches(dice, 1).map(paneOfFetch)
  const interval = someInterval(dice, spanOf(panes))
  const slices = panes.map((pane) => slice(pane, interval)).filter((part) => part.from < part.to)
  if (slices.length === 0) return
  const joined = join(slices)
  const wanted = [...unite(slices.map(modelOf)).notes.values()].map((set) => JSON.stringify(set))
  const kept = joined.body.notes.map((set) => JSON.stringify(set))
  assert.deepEqual(new Set(kept), new Set(wanted))
  assert.equal(kept.length, new Set(kept).size)
})

law('an offset table answers for every bucket, inside a column’s span or not', (dice) => {
  const fetch = someFetch(dice)
  const { body } = paneOfFetch(fetch)
  fetch.columns.forEach(([, { lanes }], column) => {
    lanes.forEach((cells, lane) => {
      for (let bucket = fetch.interval.from; bucket < fetch.interval.to; bucket++) {
        const length = body.offsetOf(column, lane, bucket + 1) - body.offsetOf(column, lane, bucket)
        assert.equal(length, cells.get(bucket)?.length ?? 0)
      }
    })
  })
})

law('a pane is filled until the end of its last bucket with bytes', (dice) => {
  const pane = dice(0, 1) === 0 ? paneOfFetch(someFetch(dice)) : join(someFetches(dice, 2).map(paneOfFetch))
  const part = slice(pane, someInterval(dice, pane))
  const buckets = [...modelOf(part).columns.values()].flatMap(({ lanes }) =>
    lanes.flatMap((cells) => [...cells.keys()]),
  )
  assert.equal(filledUntil(part), Math.max(part.from, ...buckets.map((bucket) => bucket + 1)))
})

law('the bytes in memory are the bytes in a store', (dice) => {
  const pane = join(someFetches(dice, 2).map(paneOfFetch))
  const copy = Buffer.allocUnsafeSlow(pane.body.bytes.length)
  pane.body.bytes.copy(copy)
  const back = paneOf(new PaneBody(copy))
  sameModel(back, modelOf(pane))
  assert.deepEqual({ from: back.from, to: back.to }, { from: pane.from, to: pane.to })
  sameBytes(join([back]), join([pane]))
})

law('equal fetches make equal bytes', (dice) => {
  const fetch = someFetch(dice)
  // The allocator returns memory that was used before.
  Buffer.allocUnsafeSlow(4096).fill(0xa5)
  sameBytes(paneOfFetch(fetch), paneOfFetch(fetch))
})

law('a pane measures its whole buffer and a constant', (dice) => {
  const [a, b] = [paneOfFetch(someFetch(dice)), paneOfFetch(someFetch(dice))]
  assert.equal(measure(a) - a.body.bytes.byteLength, measure(b) - b.body.bytes.byteLength)
  assert.equal(measure(slice(a, someInterval(dice, a))), measure(a))
  assert.ok(measure(a) > a.body.bytes.byteLength)
})

test('panes have the same frame iff frame and lanes are equal', () => {
  const withFrame = (frame: string) =>
    paneOfFetch({ interval: { from: 0, to: 2 }, fetchedAt: 1, frame, notes: [], columns: [] })
  assert.ok(haveSameFrame(withFrame('a,b'), withFrame('a,b')))
  assert.ok(!haveSameFrame(withFrame('a,b'), withFrame('a,c')))
  assert.ok(!haveSameFrame(withFrame(''), withFrame('a')))
  const oneLane = new PaneBuilder(1).finish({
    interval: { from: 0, to: 2 },
    fetchedAt: 1,
    slab: Buffer.alloc(0),
  })
  assert.ok(!haveSameFrame(withFrame(''), oneLane))
})

test('a builder refuses buckets that go back or repeat', () => {
  const builder = new PaneBuilder(lanesOfModels)
  builder.beginColumn(0, 0, Buffer.from('a'))
  builder.beginLane(0)
  assert.ok(builder.bucket(3, 0))
  assert.ok(!builder.bucket(3, 1))
  assert.ok(!builder.bucket(2, 1))
  assert.ok(builder.bucket(4, 1))
})

test('a builder knows whether a rank follows the last one', () => {
  const builder = new PaneBuilder(lanesOfModels)
  assert.ok(builder.followsLast(Buffer.from('')))
  for (const rank of ['a', 'b\xff']) builder.beginColumn(0, 0, Buffer.from(rank, 'latin1'))
  assert.ok(builder.followsLast(Buffer.from('b\xff\x00', 'latin1')))
  assert.ok(builder.followsLast(Buffer.from('c')))
  for (const rank of ['b\xff', 'b', 'a', '']) {
    assert.ok(!builder.followsLast(Buffer.from(rank, 'latin1')), rank)
  }
})

test('the memory of every new body is counted, of a joined one too', (t) => {
  let counted = 0
  t.after(() => countBodies(undefined))
  countBodies((length) => (counted += length))
  const build = (from: number): Pane => {
    const builder = new PaneBuilder(1)
    const slab = Buffer.alloc(0)
    return builder.finish({ interval: { from, to: from + 4 }, fetchedAt: 1, slab, frame: slab, notes: [] })
  }
  const [one, other] = [build(0), build(4)]
  assert.equal(counted, one.body.bytes.length + other.body.bytes.length)
  const joined = join([one, other])
  assert.equal(counted, one.body.bytes.length + other.body.bytes.length + joined.body.bytes.length)
})
