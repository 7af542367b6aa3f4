/** Generated expressions that are cached are the same on the real server when a request is cut in two. */
import { test } from 'node:test'
import { createExaminer } from '../../src/backends/victoriametrics/promql.ts'
import { assertLocal } from '../fidelity/cuts.ts'
import { grouped, type Vocabulary } from '../fidelity/expressions.ts'
import { END, lines, START } from './dataset.ts'
import { startDatabase } from './under-test.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)
const vocabulary: Vocabulary = {
  selectors: words(`steady gappy flappy slow requests_total latency_bucket odd
    fleeting fleeting{host="a"} gappy{host!="b"} flappy{host=~"a|c"} fleeting{zone=~".+"} slow{none=""}`),
  bareRanges: ['[16s]', '[5m]'],
  modifiers: ['', '', '', ' offset 3m', ' offset 41s', ` @ ${END / 1000 - 7200}`],
  ofRanges:
    words(`avg_over_time count_over_time first_over_time last_over_time max_over_time min_over_time sum_over_time
    present_over_time stddev_over_time stdvar_over_time mad_over_time absent_over_time rate delta`),
  ofVectors: words('abs absent ceil exp floor ln hour day_of_week round sgn sqrt tan atan - +'),
  aggregations: grouped(words('sum avg min max count group stddev topk'), [
    ...['', ' by (job)', ' by (instance, job, zone)', ' without (a, host)', ' by (le)'],
  ]),
  operators: words('+ - * / % ^ > < == != and unless or'),
  numberOperators: words('+ - * / % ^ > < >= <= == !='),
}

test('generated expressions that are cached are the same in parts', async (t) => {
  const server = await startDatabase(t)
  if (server === null) return
  await server.load(lines())
  const examine = createExaminer()
  const span = { from: START, to: END }
  await assertLocal(t, server.url, { vocabulary, span, isCached: (text) => !('bypass' in examine(text)) })
})
