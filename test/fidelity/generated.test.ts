/** Generated expressions that are cached are the same on a real Prometheus when a request is cut in two. */
import { test } from 'node:test'
import { examine } from '../../src/backends/prometheus/promql.ts'
import { requireServer, startFixture } from '../data/fixture.ts'
import { assertLocal } from './cuts.ts'
import { grouped, type Vocabulary } from './expressions.ts'
import { span } from './setup.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)
const vocabulary: Vocabulary = {
  // No native histograms: in a Prometheus 3.5 that answered other queries before, resets and changes of them vary.
  selectors:
    words(`batch_progress flapping gappy only_middle slow_scrape http_requests_total errors_total up{job!=""}
    temperature_celsius special_values http_request_duration_seconds_bucket pod_cpu_usage_seconds_total{none=""}`),
  bareRanges: [''],
  modifiers: ['', '', '', ' offset 3m', ' offset -2m', ` @ ${span.to / 1000 - 7200}`, ' @ end()'],
  ofRanges:
    words(`avg_over_time count_over_time first_over_time last_over_time max_over_time min_over_time sum_over_time
    present_over_time stddev_over_time absent_over_time rate increase irate delta idelta changes resets deriv`),
  ofVectors: words(`abs absent ceil exp floor ln hour round sgn sqrt tan timestamp sort -`),
  // Which of several equal values topk takes depends on the order of series, and that on the range.
  aggregations: grouped(words('sum avg min max count group stddev'), [
    ...['', ' by (job)', ' by (instance, job)', ' without (instance)', ' by (le)'],
  ]),
  operators: words('+ - * / % ^ > < == != and unless or').flatMap((each) => [each, `${each} on (job)`]),
  numberOperators: words('+ - * / % ^ > < >= <= == !='),
}

test('generated expressions that are cached are the same in parts', async (t) => {
  const server = requireServer(t, await startFixture())
  if (server === null) return
  t.after(() => server.stop())
  await assertLocal(t, server.url, { vocabulary, span, isCached: (text) => !('bypass' in examine(text)) })
})
