/** The demo database next to Prometheus: with the same samples both give the same answer, byte by byte. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { endScrape, firstScrape, isVisible, scrapeBefore, timeOf } from '../../src/demo/arrivals.ts'
import { DemoDatabase } from '../../src/demo/database.ts'
import { createMetrics } from '../../src/demo/metrics.ts'
import { printMatrix } from '../../src/demo/print.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { startPrometheus } from '../servers/prometheus.ts'
import { rangeText } from '../servers/query.ts'
import { remoteWrite, STALE, type TimeSeries } from '../servers/remote-write.ts'

const hour = 3_600_000
const end = Date.UTC(2026, 0, 15, 12)
const start = end - 8 * hour
const seed = 1

/** Everything that has arrived at `end`, as Prometheus would have been sent it. */
function arrived(): TimeSeries[] {
  return [...createMetrics(seed).values()].flatMap((metric) =>
    metric.series(start, end).map(({ labels, source, value }) => {
      const samples: { t: number; value: number | typeof STALE }[] = []
      const last = Math.min(endScrape(source), scrapeBefore(source, end))
      const first = Math.max(firstScrape(source), scrapeBefore(source, start))
      for (let scrape = first; scrape <= last; scrape++) {
        if (!isVisible(source, scrape, end)) continue
        const t = timeOf(source, scrape)
        samples.push({ t, value: scrape === endScrape(source) ? STALE : value(t) })
      }
      return { labels: Object.fromEntries(labels), samples }
    }),
  )
}

const queries = [
  'room_temperature_celsius',
  'process_resident_memory_bytes{job!="search"}',
  'up{job="checkout"}',
  'http_requests_total{code="500"}',
  'rate(http_requests_total{job="catalog"}[5m])',
  'increase(http_requests_total{code="404"}[2m15s])',
  'sum by (job) (rate(http_requests_total[1m]))',
  'sum by (code, job) (rate(http_requests_total[10m]))',
  'max by (floor) (room_temperature_celsius)',
  'min(room_temperature_celsius)',
  'count by (job) (up)',
  'sum(queue_depth)',
]

test('the answers of the demo database equal those of Prometheus', async (t) => {
  const server = await startPrometheus({ outOfOrderWindow: '1d' })
  const skip = skipReason(server)
  if (skip !== false || isUnavailable(server)) return t.skip(skip || undefined)
  t.after(() => server.stop())
  const series = arrived()
  for (let i = 0; i < series.length; i += 20) await remoteWrite(server.url, series.slice(i, i + 20))
  const database = new DemoDatabase({ clock: fakeClock(end), seed })
  for (const query of queries) {
    for (const stepMs of [15_000, 60_000, 437_000]) {
      const question = { query, start: start + hour, end, stepMs }
      assert.equal(printMatrix(database.truth(question, end)!), await rangeText(server.url, question), query)
    }
  }
})
