import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { clockOf } from '../../core/pane.ts'
import {
  diceOf,
  type FetchModel,
  modelOf,
  newestWins,
  paneOfFetch,
  randomFetch,
  unite,
} from '../../testing/pane-model.ts'
import { everything } from '../tile.ts'
import { mergePieces, type Piece, piecesOf } from './pieces.ts'

const someFetches = (throws: Uint8Array): FetchModel[] => {
  const dice = diceOf(throws)
  return Array.from({ length: dice(1, 8) }, (_, i) => {
    const from = dice(0, 255) - 140
    return randomFetch(dice, { interval: { from, to: from + dice(1, 200) }, fetchedAt: 100 + i })
  })
}

const bytes = fc.uint8Array({ minLength: 500, maxLength: 4000, size: 'max' })

test('pieces are aligned runs of one clock, and together they are the pane', () => {
  fc.assert(
    fc.property(bytes, (throws) => {
      for (const fetch of someFetches(throws)) {
        const pane = paneOfFetch(fetch)
        const pieces = piecesOf(pane)
        for (const { from, buckets, clock, pane: part } of pieces) {
          assert.ok([64, 16, 4, 1].includes(buckets) && Math.abs(from % buckets) === 0)
          assert.deepEqual([part.body.from, part.body.buckets], [from, buckets])
          for (let bucket = from; bucket < from + buckets; bucket++)
            assert.equal(clockOf(part, bucket), clock)
        }
        assert.deepEqual(unite(pieces.map((piece) => modelOf(piece.pane))), modelOf(pane))
      }
    }),
    { numRuns: 100 },
  )
})

test('rows of which each was replaced by the newer one have the content of the newest fetches', () => {
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(7)), (throws, order) => {
      const fetches = someFetches(throws)
      const shuffled = [...fetches.keys()].sort((a, b) => (order[a] ?? 0) - (order[b] ?? 0))
      const rows = new Map<string, Piece>()
      for (const i of shuffled) {
        for (const piece of piecesOf(paneOfFetch(fetches[i]!))) {
          const id = `${piece.from} ${piece.buckets}`
          if ((rows.get(id)?.clock ?? 0) < piece.clock) rows.set(id, piece)
        }
      }
      const panes = [...rows.values()].map(({ pane }) => pane).sort((a, b) => a.from - b.from)
      assert.deepEqual(unite(mergePieces(panes, everything).map(modelOf)), newestWins(fetches))
    }),
    { numRuns: 100 },
  )
})

test('a refresh of the tail writes a few rows, not one per bucket', () => {
  const fetch: FetchModel = { interval: { from: 1003, to: 1024 }, fetchedAt: 7, notes: [], columns: [] }
  assert.deepEqual(
    piecesOf(paneOfFetch(fetch)).map(({ from, buckets }) => [from, buckets]),
    [
      [1003, 1],
      [1004, 4],
      [1008, 16],
    ],
  )
})
