import assert from 'node:assert/strict'
import test from 'node:test'
import { diceLaw as law } from '../../test/rigs/dice-law.ts'
import { clockOf, type Pane, slice } from '../core/pane.ts'
import { join } from '../core/pane-join.ts'
import {
  type Dice,
  type FetchModel,
  modelOf,
  modelOfFetch,
  newestWins,
  type PaneModel,
  paneOfFetch,
  randomFetch,
  restrict,
  unite,
} from '../testing/pane-model.ts'
import { cutOut, layOver } from './tile.ts'

/** Fetches with clocks of their own, in the order in which they are written. */
function someWrites(dice: Dice, frame = ''): FetchModel[] {
  const clocks = Array.from({ length: dice(1, 8) }, (_, i) => 10 * (i + 1))
  return clocks
    .map((clock) => ({ clock, order: dice(0, 9) }))
    .sort((a, b) => a.order - b.order)
    .map(({ clock }) => {
      const from = dice(0, 20)
      return randomFetch(dice, { interval: { from, to: from + dice(1, 12) }, fetchedAt: clock, frame })
    })
}

const writeAll = (panes: readonly Pane[]): Pane[] =>
  panes.reduce<Pane[]>((stored, pane) => layOver(stored, pane), [])

function checkTiles(panes: readonly Pane[], expected: PaneModel): void {
  panes.forEach((pane, i) => {
    assert.ok(pane.from < pane.to)
    assert.ok(i === 0 || panes[i - 1]!.to <= pane.from, 'not disjoint or not in order')
  })
  const actual = unite(panes.map(modelOf))
  assert.deepEqual({ ...actual, frame: '' }, { ...expected, frame: '' })
}

law('per bucket the newer clock wins, over all columns at once, whatever the order of writes', (dice) => {
  const writes = someWrites(dice)
  checkTiles(writeAll(writes.map(paneOfFetch)), newestWins(writes))
})

law('absent buckets of a written pane replace nothing', (dice) => {
  const stored = someWrites(dice)
  const gappy = [1000, 2000].map((fetchedAt, i) =>
    randomFetch(dice, { interval: { from: 12 * i + dice(0, 4), to: 12 * i + dice(5, 9) }, fetchedAt }),
  )
  const panes = writeAll([...stored.map(paneOfFetch), join(gappy.map(paneOfFetch))])
  checkTiles(panes, newestWins([...stored, ...gappy]))
  for (const pane of panes) {
    for (let bucket = pane.from; bucket < pane.to; bucket++) assert.ok(!Number.isNaN(clockOf(pane, bucket)))
  }
})

law('slices are laid over like panes of their own', (dice) => {
  const writes = someWrites(dice)
  const slices = writes.map((fetch) => {
    const { from, to } = fetch.interval
    return slice(paneOfFetch(fetch), { from: dice(from, to - 1), to })
  })
  const clipped = writes.map((fetch, i) => ({
    ...fetch,
    interval: { from: slices[i]!.from, to: slices[i]!.to },
  }))
  const parts = clipped.map((fetch) => ({ ...fetch, columns: [] }))
  const expected = newestWins(parts).clocks
  const actual = unite(writeAll(slices).map(modelOf)).clocks
  assert.deepEqual(actual, expected)
})

law('no pane keeps a body of which it uses less than half', (dice) => {
  for (const pane of writeAll(someWrites(dice).map(paneOfFetch))) {
    assert.ok(2 * (pane.to - pane.from) >= pane.body.buckets)
  }
})

law('neighbours that are short are one pane', (dice) => {
  const panes = writeAll(someWrites(dice).map(paneOfFetch))
  for (let i = 1; i < panes.length; i++) assert.ok(panes[i - 1]!.to < panes[i]!.from)
})

law('an interval that is cut out is absent, everything else stays', (dice) => {
  const panes = writeAll(someWrites(dice).map(paneOfFetch))
  const from = dice(0, 35)
  const interval = { from, to: from + dice(0, 12) }
  const model = restrict(unite(panes.map(modelOf)), (bucket) => bucket < from || bucket >= interval.to)
  checkTiles(cutOut(panes, interval), model)
})

law('of two frames only the one with the newest clock is kept', (dice) => {
  const [first, second] = [someWrites(dice, 'one'), someWrites(dice, 'two')]
  const later = second.map((fetch) => ({
    ...fetch,
    fetchedAt: fetch.fetchedAt + (dice(0, 1) === 0 ? 5 : 500),
  }))
  for (const fetch of later) {
    const stored = writeAll(first.map(paneOfFetch))
    const newest = Math.max(...stored.map(newestClock))
    const panes = layOver(stored, paneOfFetch(fetch))
    const winner = newest > fetch.fetchedAt ? newestWins(first) : modelOfFetch(fetch)
    checkTiles(panes, winner)
    assert.deepEqual(new Set(panes.map((pane) => pane.body.frame.toString())), new Set([winner.frame]))
  }
})

const newestClock = (pane: Pane): number => Math.max(...modelOf(pane).clocks.values())

test('a long pane and the short one that follows it are not copied into one', () => {
  const long = randomFetch(() => 0, { interval: { from: 0, to: 1000 }, fetchedAt: 1 })
  const tail = randomFetch(() => 0, { interval: { from: 990, to: 1001 }, fetchedAt: 2 })
  const pane = paneOfFetch(long)
  const panes = layOver([pane], paneOfFetch(tail))
  assert.deepEqual(
    panes.map(({ from, to }) => [from, to]),
    [
      [0, 990],
      [990, 1001],
    ],
  )
  assert.equal(panes[0]!.body, pane.body)
})

test('the rest of a long pane is copied when most of its body is no longer wanted', () => {
  const long = paneOfFetch(randomFetch(() => 0, { interval: { from: 0, to: 1000 }, fetchedAt: 1 }))
  const tailFrom = (from: number) =>
    paneOfFetch(randomFetch(() => 0, { interval: { from, to: 1000 }, fetchedAt: 2 }))
  assert.equal(layOver([long], tailFrom(501))[0]!.body.buckets, 1000)
  assert.equal(layOver([long], tailFrom(499))[0]!.body.buckets, 499)
})
