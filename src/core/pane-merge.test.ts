import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { Pane } from './pane.ts'
import { PaneBuilder } from './pane-builder.ts'
import { columnIn, mergeColumns } from './pane-merge.ts'

type Rank = Buffer

const distinct = (ranks: readonly Rank[]): Rank[] => {
  const byText = new Map(ranks.map((rank) => [rank.toString('latin1'), rank]))
  return [...byText.values()].sort(Buffer.compare)
}

/** Few letters, so that ranks share beginnings; now and then a beginning longer than any shortcut for short ranks. */
const rank = fc
  .tuple(
    fc.constantFrom('', '', 'm', 'x'.repeat(200)),
    fc.array(fc.constantFrom(0, 1, 97, 98, 255), { maxLength: 4 }),
  )
  .map(([beginning, rest]) => Buffer.concat([Buffer.from(beginning), Buffer.from(rest)]))
const columnSet = fc.array(rank, { maxLength: 12 }).map(distinct)

function paneWith(ranks: readonly Rank[], from: number): Pane {
  const builder = new PaneBuilder(1)
  for (const each of ranks) builder.beginColumn(0, 0, each)
  return builder.finish({ interval: { from, to: from + 1 }, fetchedAt: 1, slab: Buffer.alloc(0) })
}

function checkMerge(sets: readonly (readonly Rank[])[]): void {
  const merge = mergeColumns(sets.map(paneWith))
  const expected = distinct(sets.flat())
  assert.equal(merge.count, expected.length)
  expected.forEach((wanted, row) => {
    sets.forEach((set, pane) => {
      const index = set.findIndex((each) => each.equals(wanted))
      assert.equal(columnIn(merge, sets.length, row, pane), index, `row ${row}, pane ${pane}`)
    })
  })
}

test('merged columns are those of all panes, in the order of their rank bytes', () => {
  fc.assert(fc.property(fc.array(columnSet, { maxLength: 8 }), checkMerge), { numRuns: 2000 })
})

test('columns that end, return and differ in one place only are merged', () => {
  const names = (...texts: string[]) => texts.map((text) => Buffer.from(text))
  checkMerge([names('a', 'b', 'c'), names('a', 'c'), names('a', 'b', 'c')])
  checkMerge([names('a', 'b'), names('a', 'c')])
  checkMerge([names('b'), names('a'), [], names('c')])
  checkMerge([[], []])
  checkMerge([names(''), []])
  checkMerge([[], names('')])
  checkMerge([names('', 'a'), names('')])
})

test('rank sections with the same bytes but other borders are not the same columns', () => {
  checkMerge([
    [Buffer.from('a'), Buffer.from('bc')],
    [Buffer.from('ab'), Buffer.from('c')],
  ])
})

test('equal columns need no table of indexes', () => {
  const ranks = [Buffer.from('a'), Buffer.from('b')]
  assert.equal(mergeColumns([paneWith(ranks, 0), paneWith(ranks, 1)]).indexes, undefined)
})
