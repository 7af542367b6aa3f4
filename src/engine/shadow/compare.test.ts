import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Budget } from '../../core/budget.ts'
import type { Grid } from '../../core/grid.ts'
import type { Pane } from '../../core/pane.ts'
import {
  type ColumnModel,
  type FetchModel,
  modelOf,
  paneOfFetch,
  randomFetch,
} from '../../testing/pane-model.ts'
import { causes, gravest } from './causes.ts'
import { type Comparison, judge } from './compare.ts'
import { ShadowLedger } from './ledger.ts'

const grid: Grid = { kind: 'point', step: 60_000, origin: 0 }
const settledAgeMs = 600_000
/** Buckets 100 to 119; the newest is fetched at its own instant. */
const interval = { from: 100, to: 120 }
const fetchedAt = 119 * 60_000

/** The output of a backend, up to its order. */
const written = (pane: Pane): Buffer => {
  const { columns, notes } = modelOf(pane)
  const cells = [...columns].map(([rank, { head, lanes }]) => [rank, head, lanes.map((lane) => [...lane])])
  return Buffer.from(JSON.stringify([cells, [...new Set([...notes.values()].flat())]]))
}

function compared(stored: Pane, fetched: Pane, more: Partial<Comparison> = {}): Comparison {
  const parts = { key: 'k', grid, settledAgeMs, ledger: new ShadowLedger(new Budget(1e9)), backend: {} }
  const direct = written(fetched)
  return {
    ...parts,
    stored: [stored],
    fetched: [fetched],
    cached: written(stored),
    direct,
    body: direct,
    ...more,
  }
}

const column = (head: string, values: ReadonlyMap<number, string>): ColumnModel => ({
  head,
  lanes: [new Map(values), new Map()],
})

const valuesOf = (of: (bucket: number) => string): Map<number, string> =>
  new Map(
    Array.from({ length: 20 }, (_, i) => [
      interval.from + i,
      `[${interval.from + i},"${of(interval.from + i)}"],`,
    ]),
  )

const fetchOf = (...columns: [string, ColumnModel][]): FetchModel => ({
  interval,
  fetchedAt,
  notes: [],
  columns,
})

const plain = fetchOf([
  'a',
  column(
    '{a}',
    valuesOf(() => '1'),
  ),
])

/** The same with another text in one bucket. */
const changedAt = (bucket: number, text = '2'): Pane =>
  paneOfFetch(
    fetchOf([
      'a',
      column(
        '{a}',
        valuesOf((at) => (at === bucket ? text : '1')),
      ),
    ]),
  )

test('the buckets that differ are exactly the ones with other content', () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat()), (numbers) => {
      const dice = (min: number, max: number) => min + (numbers.next().value! % (max - min + 1))
      const fetch = randomFetch(dice, { interval, fetchedAt })
      const edits = new Map(Array.from({ length: dice(0, 4) }, () => [dice(100, 119), dice(0, 2)]))
      const other = {
        ...fetch,
        columns: fetch.columns.map(([rank, each]) => [rank, edited(each, edits)] as const),
      }
      const [stored, fetched] = [paneOfFetch(fetch), paneOfFetch(other)]
      const { result, differing } = judge(compared(stored, fetched))
      const expected = [...edits.keys()].filter((bucket) => says(stored, bucket) !== says(fetched, bucket))
      assert.deepEqual([...differing].sort(), expected.sort())
      assert.equal(result === 'equal', expected.length === 0)
    }),
    { numRuns: 300 },
  )
})

/** 0: emptied, 1: another text, 2: as it was. */
const edited = ({ head, lanes }: ColumnModel, edits: ReadonlyMap<number, number>): ColumnModel => ({
  head,
  lanes: lanes.map((lane) => {
    const cells = [...lane].filter(([bucket]) => edits.get(bucket) !== 0)
    return new Map(cells.map(([bucket, text]) => [bucket, edits.get(bucket) === 1 ? `new${text}` : text]))
  }),
})

const says = (pane: Pane, bucket: number): string =>
  JSON.stringify(
    [...modelOf(pane).columns]
      .map(([rank, { lanes }]) => [rank, lanes.map((lane) => lane.get(bucket))])
      .filter(([, texts]) => (texts as unknown[]).some(Boolean)),
  )

const stored = paneOfFetch(plain)

test('by its age at fetch, a change is late data or a change of settled data', () => {
  for (const [bucket, cause] of [
    [119, 'late_data'],
    [110, 'late_data'],
    [109, 'settled_change'],
    [100, 'settled_change'],
  ] as const) {
    const { result, buckets } = judge(compared(stored, changedAt(bucket)))
    assert.deepEqual([result, buckets.length, buckets[0]!.cause], ['explained', 1, cause])
    assert.deepEqual(buckets[0]!.ageMs, (119 - bucket) * 60_000)
    assert.deepEqual(
      [buckets[0]!.columns, buckets[0]!.cached, buckets[0]!.direct],
      [['{a}'], `[${bucket},"1"],`, `[${bucket},"2"],`],
    )
  }
})

test('a series that only one side has', () => {
  const both = paneOfFetch(
    fetchOf(
      [
        'a',
        column(
          '{a}',
          valuesOf(() => '1'),
        ),
      ],
      ['b', column('{b}', new Map([[102, '[102,"5"],']]))],
    ),
  )
  assert.equal(judge(compared(stored, both)).cause, 'columns')
  assert.equal(judge(compared(both, stored)).cause, 'columns')
  const recent = paneOfFetch(
    fetchOf(
      [
        'a',
        column(
          '{a}',
          valuesOf(() => '1'),
        ),
      ],
      ['b', column('{b}', new Map([[118, '[118,"5"],']]))],
    ),
  )
  assert.equal(judge(compared(stored, recent)).cause, 'late_data')
})

test('the same number in another spelling', () => {
  assert.deepEqual(
    [
      judge(compared(stored, changedAt(104, '1e0'))).cause,
      judge(compared(stored, changedAt(104, '1.0'))).result,
    ],
    ['number_text', 'explained'],
  )
  assert.equal(judge(compared(stored, changedAt(104, '1e1'))).cause, 'settled_change')
})

test('the ledger shows the origin of a change', () => {
  const ledger = new ShadowLedger(new Budget(1e9))
  ledger.write('k', stored)
  for (const bucket of [104, 118]) {
    const { cause, result } = judge(compared(changedAt(bucket), stored, { ledger }))
    assert.deepEqual([cause, result], ['store_changed', 'unexplained'])
  }
  assert.equal(judge(compared(stored, changedAt(104), { ledger })).cause, 'settled_change')
  assert.equal(judge(compared(changedAt(104), stored, { ledger, key: 'other' })).cause, 'settled_change')
  // A fetch at another instant is another version.
  const later = paneOfFetch({ ...plain, fetchedAt: fetchedAt + 1 })
  assert.equal(judge(compared(later, changedAt(104), { ledger })).cause, 'settled_change')
})

test('to and fro is not explained where buckets are settled', () => {
  const ledger = new ShadowLedger(new Budget(1e9))
  ledger.write('k', stored)
  const look = (fetched: Pane) => {
    const judgement = judge(compared(stored, fetched, { ledger }))
    ledger.note('k', [stored], judgement.differing)
    return judgement.cause
  }
  assert.deepEqual(
    [look(changedAt(104)), look(stored), look(changedAt(104))],
    ['settled_change', undefined, 'not_deterministic'],
  )
  assert.deepEqual(
    [look(changedAt(118)), look(stored), look(changedAt(118))],
    ['late_data', undefined, 'late_data'],
  )
  // Stored anew, it begins anew.
  ledger.write('k', stored)
  assert.equal(look(changedAt(104)), 'settled_change')
})

test('an answer that does not come out as it went in is a fault, whatever else differs', () => {
  const body = Buffer.from('{"other":true}')
  const judgement = judge(compared(stored, changedAt(104), { body }))
  assert.deepEqual(
    [judgement.cause, judgement.result, judgement.isFaithful],
    ['unfaithful', 'unexplained', false],
  )
  const reordered = Buffer.from([...written(stored)].reverse())
  assert.equal(judge(compared(stored, stored, { body: reordered })).cause, 'order')
  assert.equal(judge(compared(stored, stored, { body: undefined })).result, 'equal')
})

test('notes: more are equal, fewer are a fault; without a word of the backend every byte counts', () => {
  const cached = Buffer.concat([written(stored), Buffer.from('!')])
  const told = (difference: 'none' | 'notes' | 'data') =>
    judge(
      compared(stored, stored, { cached, backend: { presentation: { differenceFrom: () => difference } } }),
    )
  assert.deepEqual(
    (['none', 'notes', 'data'] as const).map((difference) => told(difference).cause),
    [undefined, 'notes', 'unfaithful'],
  )
  assert.equal(judge(compared(stored, stored, { cached })).cause, 'unfaithful')
})

test('of several causes the gravest is named and shown first, and one that is not explained decides', () => {
  const ledger = new ShadowLedger(new Budget(1e9))
  ledger.write('k', stored)
  const both = paneOfFetch(
    fetchOf([
      'a',
      column(
        '{a}',
        valuesOf((at) => (at === 118 || at === 101 ? '7' : '1')),
      ),
    ]),
  )
  const { cause, result, buckets } = judge(compared(stored, both, { ledger }))
  assert.deepEqual(
    [cause, result, buckets.map((bucket) => bucket.cause)],
    ['settled_change', 'explained', ['settled_change', 'late_data']],
  )
  assert.equal(gravest(['late_data', 'unfaithful', 'columns']), 'unfaithful')
  assert.ok(Object.values(causes).every(({ sentence }) => /^[A-Z].*\.$/.test(sentence)))
})

test('the report of many and long differences is bounded', () => {
  const long = 'x'.repeat(10_000)
  const all = paneOfFetch(
    fetchOf(
      ...Array.from({ length: 30 }, (_, i): [string, ColumnModel] => [
        `c${String(i).padStart(2, '0')}`,
        column(
          `{${long}}`,
          valuesOf(() => long),
        ),
      ]),
    ),
  )
  const { buckets } = judge(compared(all, stored))
  assert.equal(buckets.length, 20)
  const size = JSON.stringify(buckets).length
  assert.ok(size < 20 * 3000, String(size))
})
