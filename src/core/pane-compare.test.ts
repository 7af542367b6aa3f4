import assert from 'node:assert/strict'
import { diceLaw as law } from '../../test/rigs/dice-law.ts'
import {
  type ColumnModel,
  type Dice,
  type FetchModel,
  modelOf,
  paneOfFetch,
  randomFetch,
} from '../testing/pane-model.ts'
import type { Interval } from './interval.ts'
import { clockOf, type Pane, slice } from './pane.ts'
import { compare } from './pane-compare.ts'
import { join } from './pane-join.ts'

const inside = (interval: Interval) => (bucket: number) => bucket >= interval.from && bucket < interval.to
const someFetch = (dice: Dice): FetchModel =>
  randomFetch(dice, { interval: { from: 1000, to: 1000 + dice(1, 10) }, fetchedAt: 1 })

law('comparing finds exactly the buckets that both hold and that differ', (dice) => {
  const a = someFetch(dice)
  const from = a.interval.from + dice(-3, 12)
  const b = randomFetch(dice, { interval: { from, to: from + dice(1, 10) }, fetchedAt: 2 })
  // Independent fetches rarely agree: usually the second one repeats part of the first.
  const columns =
    dice(0, 2) === 0
      ? b.columns
      : b.columns
          .filter(([rank]) => rank < 'a')
          .concat(
            a.columns
              .filter(([rank]) => rank >= 'a')
              .map(([rank, column]) => [rank, clip(column, b.interval)] as const),
          )
  const panes = [a, { ...b, columns }].map(paneOfFetch) as [Pane, Pane]
  const differing: number[] = []
  for (let bucket = Math.max(panes[0].from, from); bucket < Math.min(panes[0].to, panes[1].to); bucket++) {
    if (textAt(panes[0], bucket) !== textAt(panes[1], bucket)) differing.push(bucket)
  }
  assert.deepEqual(compare(...panes), differing)
  assert.deepEqual(compare(panes[1], panes[0]), differing)
})

law('a bucket that one side does not hold is not compared', (dice) => {
  const parts = [0, 8].map((from) => ({ from, to: from + dice(1, 8) }))
  const gappy = join(parts.map((interval) => paneOfFetch(randomFetch(dice, { interval, fetchedAt: 1 }))))
  const whole = paneOfFetch(randomFetch(dice, { interval: { from: 0, to: gappy.to }, fetchedAt: 2 }))
  for (const bucket of compare(gappy, whole)) assert.ok(!Number.isNaN(clockOf(gappy, bucket)), `${bucket}`)
})

function clip(column: ColumnModel, interval: Interval): ColumnModel {
  const lanes = column.lanes.map(
    (cells) => new Map([...cells].filter(([bucket]) => inside(interval)(bucket))),
  )
  return { ...column, lanes }
}

function textAt(pane: Pane, bucket: number): string {
  const { columns } = modelOf(slice(pane, { from: bucket, to: bucket + 1 }))
  return JSON.stringify([...columns].map(([rank, { lanes }]) => [rank, lanes.map((cells) => [...cells])]))
}
