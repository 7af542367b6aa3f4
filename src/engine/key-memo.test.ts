import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calendarGrid, type Grid, gridThrough } from '../core/grid.ts'
import { keyOf } from '../core/key.ts'
import { pick, seededRandom } from '../testing/random.ts'
import { KeyMemo } from './key-memo.ts'

const calendars = (['day', 'month'] as const).flatMap((unit) =>
  ['UTC', 'Europe/Berlin'].flatMap((zone) =>
    [1, 2].map((count) => () => calendarGrid({ unit, count, zone, origin: 0 })!),
  ),
)
/** A new object each time. */
const grids: readonly (() => Grid)[] = [
  ...calendars,
  ...[0, 1_000, 2_000, 30_000, 59_000].map((start) => () => gridThrough('point', 60_000, start)),
  () => gridThrough('cell', 60_000, 0),
  () => gridThrough('point', 30_000, 0),
]

test('a memoised key equals the key, whatever the earlier requests', () => {
  const random = seededRandom(1)
  const keys = new KeyMemo('main')
  const shapes = ['', 'up', 'down', 'x'.repeat(20_000), ...Array.from({ length: 5_000 }, (_, i) => `q${i}`)]
  for (let i = 0; i < 20_000; i++) {
    const shape = pick(random, i % 2 === 0 ? shapes.slice(0, 4) : shapes)
    const [grid, identity] = [pick(random, grids)(), pick(random, ['', 'a', 'b'])]
    assert.equal(keys.keyOf(shape, grid, identity), keyOf({ backend: 'main', identity, shape, grid }))
  }
})
