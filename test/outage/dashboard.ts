/**
 * A three-hour dashboard before a real Prometheus, in simulated time: Windowpane's clock is the test's, and samples
 * carry simulated timestamps, so that minutes of outage take moments.
 */
import type { TestContext } from 'node:test'
import { scheduler } from 'node:timers/promises'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { startWindowpane, type Windowpane } from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits, type Limits } from '../../src/proxy/limits.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { Lookups } from '../coalescing/lookups.ts'
import { type Answer, visit } from '../coalescing/viewer.ts'
import { requireServer } from '../data/fixture.ts'
import { type Prometheus, startPrometheus } from '../servers/prometheus.ts'
import { type Matrix, rangeText } from '../servers/query.ts'
import { remoteWrite, type TimeSeries } from '../servers/remote-write.ts'

export const STEP = 15_000
const WINDOW = 3 * 3_600_000
const START = Date.UTC(2026, 0, 15, 12)

const panels = [
  'sum by (host) (rate(requests_total[2m]))',
  'memory_bytes',
  'max(memory_bytes) - min(memory_bytes)',
  'histogram_quantile(0.9, sum by (le) (rate(latency_seconds_bucket[5m])))',
]

export class Dashboard {
  readonly database: Prometheus
  readonly clock: FakeClock
  readonly windowpane: Windowpane
  readonly #lookups: Lookups
  #writtenUntil = START - WINDOW - 600_000

  constructor(parts: { database: Prometheus; clock: FakeClock; windowpane: Windowpane; lookups: Lookups }) {
    this.database = parts.database
    this.clock = parts.clock
    this.windowpane = parts.windowpane
    this.#lookups = parts.lookups
  }

  /** The current range of the dashboard. */
  get range() {
    const end = Math.floor(this.clock.now() / STEP) * STEP
    return { start: end - WINDOW, end, stepMs: STEP }
  }

  /** Samples up to now; samples that could not be written during an outage are written after it, as agents do. */
  async write(): Promise<void> {
    const from = this.#writtenUntil
    this.#writtenUntil = Math.floor(this.clock.now() / STEP) * STEP
    if (from < this.#writtenUntil) await remoteWrite(this.database.url, samplesIn(from, this.#writtenUntil))
  }

  /** All panels at once, as a browser requests them. */
  ask(): Promise<Answer>[] {
    const { start, end, stepMs } = this.range
    return panels.map((query) => {
      const range = { start: String(start / 1000), end: String(end / 1000), step: String(stepMs / 1000) }
      return visit(`${this.windowpane.url}/api/v1/query_range?${new URLSearchParams({ query, ...range })}`)
        .answer
    })
  }

  refresh(): Promise<Answer[]> {
    return Promise.all(this.ask())
  }

  /** Sends the requests, lets every panel wait for the database, and then lets simulated time pass. */
  async refreshPatiently(patienceMs: number): Promise<Answer[]> {
    const before = this.#lookups.count
    const answers = this.ask()
    await this.#lookups.until(before + panels.length)
    await this.clock.advance(patienceMs)
    return Promise.all(answers)
  }

  direct(): Promise<string[]> {
    return Promise.all(panels.map((query) => rangeText(this.database.url, { ...this.range, query })))
  }

  /** As a crash would: no farewell. Returns when connections are refused. */
  async crash(): Promise<void> {
    process.kill(this.database.pid, 'SIGKILL')
    while ((await visit(`${this.database.url}/-/ready`).answer).status !== 0) await scheduler.yield()
  }

  /** The same dashboard before a Windowpane that is started now. */
  async anotherWindowpane(t: TestContext): Promise<Dashboard> {
    const { database, clock } = this
    const parts = { database, clock, lookups: new Lookups() }
    return new Dashboard({ ...parts, windowpane: await openWindowpane(t, parts, {}) })
  }

  /** Until no query is in progress. */
  async untilIdle(): Promise<void> {
    while (this.clock.pending > 0) await visit(`${this.database.url}/-/ready`).answer
  }
}

export async function openDashboard(t: TestContext, given: Partial<Limits> = {}): Promise<Dashboard | null> {
  const database = requireServer(t, await startPrometheus())
  if (database === null) return null
  t.after(() => database.stop())
  const parts = { database, clock: fakeClock(START), lookups: new Lookups() }
  const dashboard = new Dashboard({ ...parts, windowpane: await openWindowpane(t, parts, given) })
  await dashboard.write()
  return dashboard
}

async function openWindowpane(
  t: TestContext,
  { database, clock, lookups }: { database: Prometheus; clock: FakeClock; lookups: Lookups },
  given: Partial<Limits>,
): Promise<Windowpane> {
  const limits = { ...defaultLimits, ...given }
  const windowpane = await startWindowpane({
    upstream: database.url,
    backend: prometheus({ settledAgeMs: 3_600_000, maxBuckets: limits.maxBuckets }),
    listen: '127.0.0.1:0',
    ...{ limits, clock, store: (budget) => lookups.of(memoryStore({ ...limits, clock, budget })) },
  })
  t.after(async () => {
    const closed = windowpane.close()
    await clock.advance(limits.drainMs)
    await closed
  })
  return windowpane
}

/** Values that change with every sample, so that a wrong bucket cannot look right. */
function samplesIn(from: number, to: number): TimeSeries[] {
  const series = (labels: Record<string, string>, valueAt: (n: number) => number): TimeSeries => {
    const samples = []
    for (let t = from + STEP; t <= to; t += STEP) samples.push({ t, value: valueAt(t / STEP - START / STEP) })
    return { labels, samples }
  }
  return ['a', 'b', 'c'].flatMap((host, i) => [
    series({ __name__: 'requests_total', host }, (n) => 100_000 + n * (40 + i) + ((n * n) % 29)),
    series({ __name__: 'memory_bytes', host }, (n) => 1e9 + Math.round(1e7 * Math.sin(n / (7 + i))) + n),
    ...['0.1', '1', '+Inf'].map((le, k) =>
      series(
        { __name__: 'latency_seconds_bucket', host, le },
        (n) => 50_000 + n * (5 + k) + k * ((n * n) % 3),
      ),
    ),
  ])
}

/** Every point of an answer: series and instant, and its value. */
export function pointsOf(body: string): Map<string, string> {
  const { data } = JSON.parse(body) as { data: { result: Matrix[] } }
  const points = new Map<string, string>()
  for (const { metric, values } of data.result) {
    for (const [at, value] of values ?? []) points.set(JSON.stringify([metric, at]), value)
  }
  return points
}
