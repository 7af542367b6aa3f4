/** Panes whose every bucket contains its key, bucket and clock: any wrong byte shows. For tests only. */
import assert from 'node:assert/strict'
import type { Interval } from '../../src/core/interval.ts'
import { type Key, keyOf } from '../../src/core/key.ts'
import type { Pane } from '../../src/core/pane.ts'
import type { Entry, ShapeRecord, Store } from '../../src/stores/store.ts'
import { modelOf, paneOfFetch } from '../../src/testing/pane-model.ts'

export const shapeNumber = (n: number): ShapeRecord => ({
  backend: 'truth',
  text: `shape ${n}`,
  query: `query ${n}`,
  sources: [`s${n}`],
  knowsAllSources: true,
  lookbackMs: 1000 * n,
  grid: { kind: 'point', step: 1000, origin: 0 },
  identity: '',
  headers: [],
})

export const keyNumber = (n: number): Key =>
  keyOf({ backend: 'truth', identity: '', shape: `shape ${n}`, grid: shapeNumber(n).grid })

const saying = (n: number, bucket: number, fetchedAt: number): string =>
  `${n}/${bucket}/${fetchedAt}/${'x'.repeat(1 + (Math.abs(bucket * 7 + n) % 90))},`

export function entryOf(n: number, interval: Interval, fetchedAt: number): Entry {
  const cells = new Map<number, string>()
  for (let bucket = interval.from; bucket < interval.to; bucket++)
    cells.set(bucket, saying(n, bucket, fetchedAt))
  const columns = [['rank', { head: `{${n}}`, lanes: [cells, new Map<number, string>()] }]] as const
  return { pane: paneOfFetch({ interval, fetchedAt, notes: [], columns }), shape: shapeNumber(n) }
}

/** Asserts that a pane has only true content; returns how many buckets it has. */
export function checkPane(n: number, pane: Pane): number {
  const { clocks, columns } = modelOf(pane)
  assert.equal(clocks.size, pane.to - pane.from, 'a bucket without a clock')
  assert.deepEqual([...columns.keys()], clocks.size > 0 ? ['rank'] : [])
  const cells = columns.get('rank')?.lanes[0]
  for (const [bucket, clock] of clocks) assert.equal(cells?.get(bucket), saying(n, bucket, clock))
  return clocks.size
}

const always: Interval = { from: -1e12, to: 1e12 }

/** Asserts that a store has only true content; returns how many buckets it has. */
export async function checkStore(store: Store, shapes: number): Promise<number> {
  let count = 0
  for (let n = 0; n < shapes; n++) {
    const found = await store.read(keyNumber(n), always)
    if (found === undefined) continue
    assert.deepEqual(found.shape, shapeNumber(n))
    for (const pane of found.panes) count += checkPane(n, pane)
  }
  for await (const [key, shape] of store.shapes())
    assert.equal(key, keyNumber(Number(shape.text.slice('shape '.length))))
  return count
}
