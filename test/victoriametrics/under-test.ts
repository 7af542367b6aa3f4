/** A VictoriaMetrics of one test alone, and the proxy that is judged. */
import type { TestContext } from 'node:test'
import type { Backend } from '../../src/backends/backend.ts'
import { victoriametrics } from '../../src/backends/victoriametrics/index.ts'
import { startWindowpane, type Windowpane } from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { requireServer } from '../data/fixture.ts'
import { startVictoriametrics, type Victoriametrics } from '../servers/victoriametrics.ts'

const flags = [
  // Otherwise it takes most of the machine's memory for its caches.
  '-memory.allowedBytes=256MiB',
  '-search.maxConcurrentRequests=16',
  // Several workers add up series in any order: the last digits of a sum of fractions would differ between two answers.
  '-search.maxWorkersPerQuery=1',
]

/** Null after a skip. */
export async function startDatabase(t: TestContext): Promise<Victoriametrics | null> {
  const server = requireServer(t, await startVictoriametrics(flags))
  if (server !== null) t.after(() => server.stop())
  return server
}

export const backendUnderTest = (): Backend =>
  victoriametrics({ settledAgeMs: 3_600_000, maxBuckets: defaultLimits.maxBuckets }) as Backend

export async function startUnderTest(
  t: TestContext,
  upstream: string,
  backend = backendUnderTest(),
): Promise<Windowpane> {
  const proxy = await startWindowpane({ upstream, backend, listen: '127.0.0.1:0' })
  t.after(() => proxy.close())
  return proxy
}
