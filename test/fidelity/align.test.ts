/** `align`: ranges of every phase, each compared with Prometheus' answer to the range floored to the step. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prometheus as prometheusBackend } from '../../src/backends/prometheus/index.ts'
import { startWindowpane } from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { pick, seededRandom, wholeNumber } from '../../src/testing/random.ts'
import { ApiClient, outcomeOf } from './client.ts'
import { compareAnswers } from './compare.ts'
import { atHour } from './forms/instants.ts'
import { formsFor } from './queries.ts'
import { startDatabase } from './setup.ts'
import type { Ask } from './spelling.ts'

/** Seconds. */
interface Range {
  readonly start: number
  readonly end: number
  readonly step: number
}

const floored = ({ start, end, step }: Range): Range => {
  const floor = (instant: number) => Math.floor(instant / step) * step
  return { start: floor(start), end: floor(end), step }
}

function ask(query: string, { start, end, step }: Range): Ask {
  const search = [
    ['query', query],
    ['start', String(start)],
    ['end', String(end)],
    ['step', String(step)],
  ] as const
  return { method: 'GET', search, form: [] }
}

const queries = 25
const viewsOfEach = 6

test('clients of every phase share answers, each equal to that of the floored range', async (t) => {
  const prometheus = await startDatabase(t)
  if (prometheus === null) return
  const backend = prometheusBackend({ settledAgeMs: 3_600_000, maxBuckets: defaultLimits.maxBuckets })
  const proxy = await startWindowpane({
    upstream: prometheus.url,
    backend,
    listen: '127.0.0.1:0',
    align: true,
  })
  t.after(() => proxy.close())
  const [direct, proxied] = [new ApiClient(prometheus.url, 1), new ApiClient(proxy.url, 1)]
  t.after(() => Promise.all([direct.close(), proxied.close()]))

  const random = seededRandom(19)
  const forms = formsFor(prometheus.version).filter(
    ({ eligible, error, extra, edit }) => eligible && !error && !extra && !edit,
  )
  let hits = 0
  for (let i = 0; i < queries; i++) {
    const { query } = pick(random, forms)
    const step = pick(random, [14, 60, 300])
    const begin = atHour(wholeNumber(random, 1, 10))
    for (let view = 0; view < viewsOfEach; view++) {
      // As the page of Prometheus itself does: the window moves with every click, by any number of milliseconds.
      const start = begin + wholeNumber(random, 0, 999) / 1000 + wholeNumber(random, 0, step)
      const range = { start, end: start + 3600, step }
      const got = await proxied.queryRange(ask(query, range))
      const expected = await direct.queryRange(ask(query, floored(range)))
      assert.equal(compareAnswers(expected, got), undefined, `${query} ${JSON.stringify(range)}`)
      if (floored(range).start !== start) assert.match(got.headers['cache-status']!, / align\b/)
      if (outcomeOf(got).outcome === 'hit') hits++
    }
  }
  const share = hits / (queries * viewsOfEach)
  t.diagnostic(`${(100 * share).toFixed(0)} % hits`)
  assert.ok(share > 0.4, `${share} of the answers were hits`)
})
