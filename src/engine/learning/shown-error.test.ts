import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pane } from '../../core/pane.ts'
import { PaneBuilder } from '../../core/pane-builder.ts'
import { shownError } from './shown-error.ts'

/** One bucket with a column for each text; empty texts are columns that are not there. */
function bucketOf(...texts: readonly string[]): Pane {
  const builder = new PaneBuilder(1)
  let slab = ''
  for (const [column, text] of texts.entries()) {
    if (text === '') continue
    builder.beginColumn(slab.length, slab.length, Buffer.from([column]))
    builder.beginLane(0)
    builder.bucket(0, slab.length)
    slab += text
    builder.endLane(slab.length)
  }
  return builder.finish({ interval: { from: 7, to: 8 }, fetchedAt: 1, slab: Buffer.from(slab) })
}

const cases: readonly (readonly [string, Pane, Pane, number])[] = [
  ['equal bytes', bucketOf('[60,"4"],'), bucketOf('[60,"4"],'), 0],
  ['a number that is a quarter too low', bucketOf('[60,"3"],'), bucketOf('[60,"4"],'), 0.25],
  ['one of two columns', bucketOf('[60,"3"],', '[60,"1"],'), bucketOf('[60,"4"],', '[60,"1"],'), 0.125],
  ['a column that was missing', bucketOf('[60,"4"],', ''), bucketOf('[60,"4"],', '[60,"1"],'), 0.5],
  ['a column that is gone', bucketOf('[60,"4"],'), bucketOf(''), 1],
  ['several times too high counts as all wrong', bucketOf('[60,"9"],'), bucketOf('[60,"3"],'), 1],
  ['a true value of 0', bucketOf('[60,"1"],'), bucketOf('[60,"0"],'), 1],
  ['no number any more', bucketOf('[60,"1"],'), bucketOf('[60,"NaN"],'), 1],
  ['exponents and signs', bucketOf('[60,"-1e3"],'), bucketOf('[60,"-2e3"],'), 0.5],
]

for (const [name, shown, truth, error] of cases) {
  test(`how far a bucket is off: ${name}`, () => {
    const isStale = name !== 'equal bytes'
    assert.deepEqual(shownError(shown, truth), { isStale, error })
  })
}
