/**
 * The same answer: the answer through Windowpane to a native query equals Druid's, byte for byte.
 *
 * WINDOWPANE_COMPARISONS sets the size, WINDOWPANE_SEED repeats a run, WINDOWPANE_WALK repeats one walk of it.
 */
import { test } from 'node:test'
import { nativeForms } from './queries.ts'
import { compareAll } from './setup.ts'

test('answers to native queries through Windowpane equal direct answers', (t) =>
  compareAll(t, { file: 'test/druid/differential/native.test.ts', forms: nativeForms, comparisons: 6700 }))
