import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { END, HOUR, MINUTE, START } from '../data/dataset.ts'
import { startOwnFixture } from '../data/fixture.ts'
import { isUnavailable, skipReason } from './availability.ts'
import type { Prometheus } from './prometheus.ts'
import { type RangeQuery, rangeMatrix, rangeText } from './query.ts'

const outcome = await startOwnFixture({ queryLog: true })
const skip = skipReason(outcome)
after(() => (isUnavailable(outcome) ? undefined : outcome.stop()))

function server(): Prometheus {
  assert.ok(!isUnavailable(outcome))
  return outcome
}

const HOUR_BY_MINUTES = { start: START + HOUR, end: START + 2 * HOUR, stepMs: MINUTE }

/** Returns by how much the counts of steps and of samples went up. */
async function workOf(range: RangeQuery): Promise<{ steps: number; samples: number }> {
  const count = async () => [
    await server().evaluatedSteps(),
    await server().metrics('prometheus_engine_query_samples_total'),
  ]
  const [steps, samples] = await count()
  await rangeText(server().url, range)
  const [stepsAfter, samplesAfter] = await count()
  return { steps: stepsAfter! - steps!, samples: samplesAfter! - samples! }
}

test('samples of a plain selector without gaps are steps times series', { skip }, async () => {
  const one = await workOf({ ...HOUR_BY_MINUTES, query: 'ramp_seconds' })
  assert.deepEqual(one, { steps: 61, samples: 61 })
  const many = await workOf({ ...HOUR_BY_MINUTES, query: 'sum by (job) (http_requests_total)' })
  assert.deepEqual(many, { steps: 61, samples: 61 * 24 })
})

test('samples of a range selector are those in each window, once per step', { skip }, async () => {
  const work = await workOf({ ...HOUR_BY_MINUTES, query: 'rate(ramp_seconds[5m])' })
  // Scraped at whole multiples of 15 s, and a window leaves out its left end: 20 samples.
  assert.deepEqual(work, { steps: 61, samples: 61 * 20 })
})

test('without a selector only the query log sees the steps', { skip }, async () => {
  const work = await workOf({ ...HOUR_BY_MINUTES, query: 'time()' })
  assert.deepEqual(work, { steps: 61, samples: 0 })
})

test('instant queries and end points off the grid are counted right', { skip }, async () => {
  const before = await server().evaluatedSteps()
  await (await request(`${server().url}/api/v1/query?query=up&time=${END / 1000}`)).body.dump()
  assert.equal(await server().evaluatedSteps(), before)
  const { steps } = await workOf({ ...HOUR_BY_MINUTES, end: START + 2 * HOUR - 1, query: 'up' })
  assert.equal(steps, 60)
})

test('requests are counted by handler', { skip }, async () => {
  const handler = { handler: '/api/v1/query_range' }
  const before = await server().metrics('prometheus_http_requests_total', handler)
  await rangeText(server().url, { ...HOUR_BY_MINUTES, query: 'up' })
  assert.equal(await server().metrics('prometheus_http_requests_total', handler), before + 1)
})

test('restart() keeps port and data', { skip }, async () => {
  const range = { ...HOUR_BY_MINUTES, query: 'ramp_seconds' }
  const [before, url, pid] = [await rangeText(server().url, range), server().url, server().pid]
  await server().restart()
  assert.equal(await rangeText(url, range), before)
  assert.notEqual(server().pid, pid)
})

test('a paused server does not answer until it is resumed', { skip }, async () => {
  const ready = () => request(`${server().url}/-/ready`, { headersTimeout: 300 })
  server().pause()
  await assert.rejects(ready, /Headers Timeout/)
  server().resume()
  assert.equal((await ready()).statusCode, 200)
  assert.equal((await rangeMatrix(server().url, { ...HOUR_BY_MINUTES, query: 'ramp_seconds' })).length, 1)
})
