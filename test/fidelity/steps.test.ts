/** Steps fetched = steps missing: by the proxy's own headers, and by the database's query log and counters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR } from '../data/dataset.ts'
import type { Prometheus } from '../servers/prometheus.ts'
import type { LoggedQuery } from '../servers/query-log.ts'
import { ApiClient, outcomeOf } from './client.ts'
import type { Param } from './form.ts'
import { KnownBuckets } from './model.ts'
import { seededRandom } from './random.ts'
import { chooseSeed, span, startDatabase } from './setup.ts'
import type { Ask } from './spelling.ts'
import { startUnderTest } from './under-test.ts'
import { type Window, walkWindows } from './walks.ts'

/** One series with a sample at every step, so that Prometheus loads exactly one sample per evaluated step. */
const oneSample = 'ramp_seconds'
const questions = [
  oneSample,
  'sum by (job) (rate(http_requests_total[5m]))',
  'rpc_duration_seconds',
  'time()',
]
const walksPerQuestion = 8

/** Windows may hang over the end of their span by a few steps of up to an hour: here, most of them should have data. */
const inner = { from: span.from + 6 * HOUR, to: span.to - 6 * HOUR }

const hasData = ({ start, end }: Window): boolean => start >= span.from && end <= span.to

interface Work {
  /** Queries evaluated so far. */
  readonly log: readonly LoggedQuery[]
  readonly samples: number
}

async function workOf(prometheus: Prometheus): Promise<Work> {
  const samples = await prometheus.metrics('prometheus_engine_query_samples_total')
  return { log: await prometheus.queryLog(), samples }
}

/** The log knows steps in whole seconds only, so the step is that of the request. */
function stepsBetween(before: Work, after: Work, stepMs: number): number {
  const steps = after.log
    .slice(before.log.length)
    .map(({ startMs, endMs }) => Math.floor((endMs - startMs) / stepMs) + 1)
  return steps.reduce((sum, count) => sum + count, 0)
}

function plainAsk(query: string, window: Window): Ask {
  const search: Param[] = [
    ['query', query],
    ['start', String(window.start / 1000)],
    ['end', String(window.end / 1000)],
    ['step', `${window.step}ms`],
  ]
  return { method: 'GET', search, form: [] }
}

test('the database evaluates the missing steps and no others', async (t) => {
  const prometheus = await startDatabase(t, { queryLog: true })
  if (prometheus === null) return
  const proxy = await startUnderTest(prometheus.url)
  t.after(() => proxy.close())
  const client = new ApiClient(proxy.url, 1)
  t.after(() => client.close())

  const seed = chooseSeed(t)
  const known = new KnownBuckets()
  let before = await workOf(prometheus)
  let counted = 0
  for (let walk = 0; walk < questions.length * walksPerQuestion; walk++) {
    const query = questions[walk % questions.length]!
    for (const window of walkWindows(inner, 10, seededRandom(seed, walk))) {
      const expected = known.ask(query, window)
      const answer = await client.queryRange(plainAsk(query, window))
      const after = await workOf(prometheus)
      const where = `seed ${seed}, walk ${walk}, ${query}, ${JSON.stringify(window)}, ${answer.headers['cache-status']}`
      assert.equal(outcomeOf(answer).asked, expected.asked, `steps that the proxy fetched: ${where}`)
      assert.equal(
        stepsBetween(before, after, window.step),
        expected.asked,
        `steps that were evaluated: ${where}`,
      )
      if (query === oneSample && hasData(window)) {
        counted++
        assert.equal(after.samples - before.samples, expected.asked, `samples that were loaded: ${where}`)
      }
      before = after
    }
  }
  assert.ok(counted > 40, `only ${counted} windows had data at every step`)
})
