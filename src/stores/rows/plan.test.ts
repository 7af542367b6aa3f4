import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { clockOf, type Pane } from '../../core/pane.ts'
import {
  type Dice,
  diceOf,
  type FetchModel,
  modelOf,
  newestWins,
  paneOfFetch,
  randomFetch,
  unite,
} from '../../testing/pane-model.ts'
import { blockBuckets, blockStart, blocksAround, planRows, type RowSource } from './plan.ts'
import { type RowRef, readRowKey, rowKey } from './row-key.ts'

/** Rows as an engine would hold them. */
class Rows {
  readonly byKey = new Map<string, Pane>()
  written = 0
  readonly #settledBefore: (clock: number) => number

  constructor(settledBefore: (clock: number) => number) {
    this.#settledBefore = settledBefore
  }

  get refs(): RowRef[] {
    return [...this.byKey.keys()]
      .map((text) => Buffer.from(text, 'latin1'))
      .sort(Buffer.compare)
      .map(readRowKey)
  }

  write(pane: Pane): void {
    const source: RowSource = {
      now: Number.POSITIVE_INFINITY,
      load: (row) => this.byKey.get(this.#text(row)),
      isSettled: (of, bucket) => bucket < this.#settledBefore(clockOf(of, bucket)),
    }
    const { from, to } = blocksAround(pane)
    const stored = this.refs.filter((row) => row.from >= from && row.from < to)
    const { remove, put } = planRows(stored, pane, source)
    for (const row of remove)
      assert.ok(this.byKey.delete(this.#text(row)), 'a row was removed that is not there')
    for (const row of put) {
      this.byKey.set(this.#text(row.ref), row.pane)
      this.written += row.ref.bytes
    }
  }

  #text(row: RowRef): string {
    return rowKey(Buffer.from('key'), row).toString('latin1')
  }
}

const someWrites = (dice: Dice): FetchModel[] =>
  Array.from({ length: dice(1, 8) }, (_, i) => i)
    .map((i) => ({ clock: 100 + 10 * i, order: dice(0, 9) }))
    .sort((a, b) => a.order - b.order)
    .map(({ clock }) => {
      const from = dice(0, 255) - 140
      return randomFetch(dice, { interval: { from, to: from + dice(1, 200) }, fetchedAt: clock })
    })

function checkShape(rows: Rows): void {
  rows.refs.forEach((row, i, all) => {
    assert.ok(row.from < row.to && row.to <= blockStart(row.from) + blockBuckets, 'a row leaves its block')
    assert.ok(i === 0 || all[i - 1]!.to <= row.from, 'rows overlap')
  })
}

test('rows have the content of the newest fetches, keep to their blocks and do not overlap', () => {
  const bytes = fc.uint8Array({ minLength: 500, maxLength: 4000, size: 'max' })
  fc.assert(
    fc.property(bytes, (throws) => {
      const dice = diceOf(throws)
      const rows = new Rows((clock) => clock - 130)
      const writes = someWrites(dice)
      for (const fetch of writes) rows.write(paneOfFetch(fetch))
      checkShape(rows)
      const panes = [...rows.byKey.values()].sort((a, b) => a.from - b.from)
      assert.deepEqual(unite(panes.map(modelOf)), newestWins(writes))
    }),
    { numRuns: 200 },
  )
})

test('a tail does not rewrite its block, and settled buckets end up in one value per block', () => {
  const rows = new Rows((clock) => clock - 20)
  // As the engine fetches: from the first bucket that is not settled to the end.
  const tail = 21
  let written = 0
  for (let clock = 40; clock < 1000; clock++) {
    const interval = { from: clock - tail, to: clock }
    const columns = [['a', { head: '{a}', lanes: [cells(interval), new Map()] }]] as const
    const pane = paneOfFetch({ interval, fetchedAt: clock, notes: [], columns })
    rows.write(pane)
    written += pane.body.bytes.byteLength
  }
  checkShape(rows)
  const whole = rows.refs.filter((row) => row.from >= blockBuckets && row.to <= 7 * blockBuckets)
  assert.deepEqual(
    whole.map(({ from }) => from / blockBuckets),
    [1, 2, 3, 4, 5, 6],
  )
  assert.ok(whole.every(({ isSettled }) => isSettled))
  // Whole blocks rewritten each time would be several times the incoming bytes.
  assert.ok(rows.written < 2.5 * written, `${rows.written} bytes written for ${written}`)
})

const cells = ({ from, to }: { from: number; to: number }): Map<number, string> =>
  new Map(Array.from({ length: to - from }, (_, i) => [from + i, `[${from + i},"1.25"],`]))
