import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bucket, levelsOf, takeOf } from '../testing/store-laws-cells-buckets.ts'
import { takeFrom } from './bucket-rules.ts'
import { levelsIn, levelsText } from './bucket-text.ts'
import { cellIn, columnsOf, writtenColumns } from './cassandra/cell-columns.ts'
import type { Rows } from './cell-rules.ts'
import type { BucketLevel, BucketLimit, Cell } from './cells.ts'

const id = { pk: 'p', sk: 's' }

/** One row, whose clock a test moves. */
class OneRow implements Rows {
  now = 0
  readonly maxValueBytes = 0
  #row: Cell | undefined

  constructor(row?: Cell) {
    this.#row = row
  }

  stored(): Cell | undefined {
    return this.#row
  }

  store(_id: typeof id, row: Omit<Cell, 'rev'>): string {
    this.#row = { ...row, rev: '' }
    return ''
  }

  drop(): void {
    this.#row = undefined
  }
}

const hour = 3_600_000

/** Limit, how often the row is written, for how long, and the tokens that come of it. */
const drift: readonly (readonly [BucketLimit, number, number, number])[] = [
  [bucket(1_000, 60_000, 1), 59, hour, 59],
  [bucket(1_000, 86_400_000, 1), 10_000, 24 * hour, 1],
  [bucket(1_000, 864_000, 1), 1000, hour, 4],
  [bucket(1_000_000, 600, 1), 7, hour, 5999],
  [bucket(10_000_000, 6, 1), 7, hour, 599_999],
  [bucket(1_000_000, 600, 1), 1000, hour, 6000],
]

test('hours of polls that each write the row do not drift', () => {
  const polls = bucket(10_000_000, 1, 1, 'polls')
  for (const [limit, everyMs, forMs, tokens] of drift) {
    const row = new OneRow()
    const poll = (cost: number) =>
      takeFrom(row, id, {
        ...{ kind: 'take', keepMs: 'forever' },
        limits: [
          { ...limit, cost },
          { ...polls, cost: 1 },
        ],
      })
    poll(limit.capacity)
    for (row.now = everyMs; row.now <= forMs; row.now += everyMs) poll(0)
    row.now -= everyMs
    const [{ level }] = levelsOf(takeFrom(row, id, takeOf(limit, 0))) as [BucketLevel]
    assert.equal(level, row.now * limit.creditPerMs)
    assert.equal(Math.floor(level / limit.unitsPerToken), tokens)
  }
})

const whole = fc.integer({ min: 1 })
const limitArbitrary = fc.record(
  {
    name: fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,20}$/),
    level: fc.maxSafeInteger(),
    ...{ capacity: whole, unitsPerToken: whole, creditPerMs: whole },
  },
  { noNullPrototype: true },
)

test('levels as text are read as they were written, and damaged ones are none', () => {
  fc.assert(
    fc.property(fc.array(limitArbitrary, { minLength: 1, maxLength: 4 }), (levels) => {
      assert.deepEqual(levelsIn(levelsText(levels)), levels)
    }),
  )
  for (const text of ['', 'a', 'a:1:2:3', 'a:1:2:3:x', 'a:1:2:3:4:5', ':1:2:3:4', 'a:1:2:3:4 b'])
    assert.deepEqual(levelsIn(text), [], text)
})

test('levels are one of the texts of a row in Cassandra, and no attribute', () => {
  const cell: Cell = {
    ...{ kind: 'bucket', v: 2, rev: 'r', clocks: { refilledAt: 5 }, collectAt: 9, value: Buffer.alloc(0) },
    ...{ attributes: { text: 'x' }, levels: [{ ...bucket(1, 2, 3), level: -4 }] },
  }
  const row = Object.fromEntries(writtenColumns.map((name, i) => [name, columnsOf(cell)[i]]))
  assert.deepEqual(cellIn(row), cell)
})

test('a row of an earlier build, with one level for all, or with damaged ones, counts as absent', () => {
  const clocks = { refilledAt: 0 }
  const old = {
    kind: 'bucket',
    v: 1,
    rev: '1',
    clocks,
    collectAt: 'never',
    value: Buffer.alloc(0),
    level: 5,
  } as const
  const damaged = { ...old, v: 2, levels: [] }
  for (const cell of [old, damaged]) {
    const outcome = takeFrom(new OneRow(cell), id, takeOf(bucket(10, 1, 1), 4))
    assert.equal(levelsOf(outcome)[0]!.level, 6)
  }
})
