/**
 * The same answer: the answer through Windowpane to a SQL query equals Druid's, byte for byte.
 *
 * WINDOWPANE_COMPARISONS sets the size, WINDOWPANE_SEED repeats a run, WINDOWPANE_WALK repeats one walk of it.
 */
import { test } from 'node:test'
import { sqlForms } from './queries.ts'
import { compareAll } from './setup.ts'

test('answers to SQL queries through Windowpane equal direct answers', (t) =>
  compareAll(t, { file: 'test/druid/differential/sql.test.ts', forms: sqlForms, comparisons: 5000 }))
