/**
 * Prometheus with the dataset. test/run.ts starts one for all test files and names it in the environment; a test file
 * run by itself starts its own. Tests that count the server's work, or stop or pause it, start their own.
 */
import type { TestContext } from 'node:test'
import { isUnavailable, skipReason, type Unavailable } from '../servers/availability.ts'
import { type LabelMatcher, readMetric } from '../servers/metrics-text.ts'
import { type Prometheus, type PrometheusOptions, startPrometheus } from '../servers/prometheus.ts'
import { datasetBlocks } from './blocks.ts'

/** A shared server can be queried, not stopped. */
export interface Fixture {
  readonly url: string
  readonly port: number
  readonly version: string
  readonly pid: number
  metrics(name: string, labels?: LabelMatcher): Promise<number>
  /** Stops the server if it was started by this call; a shared one stays. */
  stop(): Promise<void>
}

/** Returns the shared server, or one started now when there is none. */
export async function startFixture(): Promise<Fixture | Unavailable> {
  const reason = process.env['WINDOWPANE_FIXTURE_UNAVAILABLE']
  if (reason) return { unavailable: reason }
  const url = process.env['WINDOWPANE_FIXTURE_URL']
  return url ? sharedFixture(url) : startOwnFixture()
}

/** Returns an exclusive server with the dataset. */
export async function startOwnFixture(
  options: Omit<PrometheusOptions, 'dataDir'> = {},
): Promise<Prometheus | Unavailable> {
  const dataDir = await datasetBlocks()
  if (isUnavailable(dataDir)) return dataDir
  return startPrometheus({ ...options, dataDir })
}

/** Returns the environment by which startFixture() of other processes finds this server. */
export function fixtureEnvironment(fixture: Fixture | Unavailable): Record<string, string> {
  if (isUnavailable(fixture)) return { WINDOWPANE_FIXTURE_UNAVAILABLE: fixture.unavailable }
  return {
    WINDOWPANE_FIXTURE_URL: fixture.url,
    WINDOWPANE_FIXTURE_PID: String(fixture.pid),
    WINDOWPANE_FIXTURE_VERSION: fixture.version,
  }
}

/**
 * Returns the server, or null after marking the test as skipped with the reason.
 * @throws under CI=true, where a missing server is a failure.
 */
export function requireServer<Server extends object>(
  t: TestContext,
  server: Server | Unavailable,
): Server | null {
  const reason = skipReason(server)
  if (reason === false) return server as Server
  t.skip(reason)
  return null
}

function sharedFixture(url: string): Fixture {
  return {
    url,
    port: Number(new URL(url).port),
    version: process.env['WINDOWPANE_FIXTURE_VERSION'] ?? 'unknown',
    pid: Number(process.env['WINDOWPANE_FIXTURE_PID']),
    metrics: (name, labels) => readMetric(url, name, labels),
    stop: async () => {},
  }
}
