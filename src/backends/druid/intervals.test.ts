import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Span } from './druid-plan.ts'
import { condense, printIntervals, readIntervals } from './intervals.ts'
import { readJson } from './json.ts'

function read(intervals: unknown): ReturnType<typeof readIntervals> {
  const node = readJson(JSON.stringify(intervals))
  assert.ok(!('bypass' in node))
  return readIntervals(node)
}

function reasonOf(intervals: unknown): string | undefined {
  const spans = read(intervals)
  return 'bypass' in spans ? spans.bypass : undefined
}

const day = (number: number): number => Date.UTC(2026, 0, number)
const first = { from: day(1), to: day(2) }
const fifth = { from: day(5), to: day(6) }

test('every form that Druid accepts is read', () => {
  const list = ['2026-01-05/2026-01-06', '2026-01-01/P1D']
  for (const form of [
    list,
    list.join(','),
    { type: 'intervals', intervals: list },
    { type: 'LegacySegmentSpec', intervals: list },
    { type: null, intervals: list },
    { intervals: list },
  ]) {
    assert.deepEqual(read(form), [first, fifth], JSON.stringify(form))
  }
  assert.deepEqual(read('2026-01-01/2026-01-02'), [first])
})

test('overlapping, abutting and repeated ones become one', () => {
  const list = [
    '2026-01-03/2026-01-04',
    '2026-01-01/2026-01-02',
    '2026-01-02/2026-01-03',
    '2026-01-01/2026-01-02',
  ]
  assert.deepEqual(read(list), [{ from: day(1), to: day(4) }])
})

const refused: readonly unknown[] = [
  [],
  '',
  null,
  true,
  5,
  {},
  { type: 'intervals', intervals: '2026/2027' },
  { type: 'other', intervals: ['2026/2027'] },
  { type: 5, intervals: ['2026/2027'] },
  ['2026/2027', null],
  ['2026/2027', 5],
  [['2026/2027']],
  ['2026/2027,2028/2029'],
  '2026/2027, 2028/2029',
  '2026/2027,',
  ['2026/2027', '2027/2027'],
  ['2027/2026'],
  ['-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z'],
]

for (const form of refused) {
  test(`${JSON.stringify(form)} is for Druid to explain`, () =>
    assert.equal(reasonOf(form), 'invalid_parameter'))
}

test('named segments cannot be requested in parts', () => {
  assert.equal(reasonOf({ type: 'segments', segments: [] }), 'not_decomposable')
})

const spans = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 9 })), {
    minLength: 1,
    maxLength: 12,
  })
  .map((pairs): Span[] => pairs.map(([from, length]) => ({ from, to: from + length })))

const instantsOf = (list: readonly Span[]): number[] =>
  [...new Set(list.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i)))].sort(
    (a, b) => a - b,
  )

test('condensed spans hold the same instants, apart from each other, in time order', () => {
  fc.assert(
    fc.property(spans, (list) => {
      const condensed = condense(list)
      assert.deepEqual(instantsOf(condensed), instantsOf(list))
      condensed.slice(1).forEach((span, i) => {
        assert.ok(span.from > condensed[i]!.to)
      })
    }),
  )
})

test('printed intervals are read back', () => {
  fc.assert(
    fc.property(spans, (list) => {
      const condensed = condense(list.map(({ from, to }) => ({ from: from * 977, to: to * 977 })))
      assert.deepEqual(read(JSON.parse(printIntervals(condensed))), condensed)
    }),
  )
  assert.equal(printIntervals([first]), '["2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z"]')
})
