/** The servers of one test and the size of a run, as the environment wishes it. */
import type { TestContext } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { END, START } from '../data/dataset.ts'
import { requireServer, startOwnFixture } from '../data/fixture.ts'
import type { Prometheus, PrometheusOptions } from '../servers/prometheus.ts'
import { ApiClient } from './client.ts'
import type { Run } from './itinerary.ts'
import { formsFor } from './queries.ts'
import type { Size } from './run.ts'
import { startUnderTest } from './under-test.ts'

/** The data ends before END, so that is where windows end. */
export const span = { from: START, to: END }

/** A Prometheus of this test alone, with experimental functions (limitk and others), or null after a skip. */
export async function startDatabase(
  t: TestContext,
  options: PrometheusOptions = {},
): Promise<Prometheus | null> {
  const extraFlags = ['--enable-feature=promql-experimental-functions', ...(options.extraFlags ?? [])]
  const prometheus = requireServer(t, await startOwnFixture({ ...options, extraFlags }))
  if (prometheus !== null) t.after(() => prometheus.stop())
  return prometheus
}

/** Clients of a database and of a proxy in front of it, or null after a skip. */
export async function startBoth(
  t: TestContext,
  more: Parameters<typeof startUnderTest>[1] = {},
): Promise<{ readonly direct: ApiClient; readonly proxied: ApiClient; readonly version: string } | null> {
  const database = await startDatabase(t)
  if (database === null) return null
  const proxy = await startUnderTest(database.url, more)
  t.after(() => proxy.close())
  const [direct, proxied] = [new ApiClient(database.url, 1), new ApiClient(proxy.url, 1)]
  t.after(() => Promise.all([direct.close(), proxied.close()]))
  return { direct, proxied, version: database.version }
}

/** A run of one test file over all forms, as they are with this version of Prometheus. */
export function chooseRun(t: TestContext, version: string, file: string): Run {
  const replay = replayCommand(file)
  return { seed: chooseSeed(t), span, forms: formsFor(version), replay }
}

/** New every time unless WINDOWPANE_SEED names one. */
export function chooseSeed(t: TestContext): number {
  const seed = fromEnvironment('WINDOWPANE_SEED') ?? Math.floor(systemClock.random() * 2 ** 31)
  t.diagnostic(`WINDOWPANE_SEED=${seed}`)
  return seed
}

/** Walks differ between versions of Prometheus, so the long run, which has another one, names its own command. */
export const replayCommand = (file: string): string =>
  `${process.env['WINDOWPANE_REPLAY'] ?? 'npx node --test'} ${file}`

/** How much of a run to make; WINDOWPANE_WALK selects one walk of it only. */
export function chooseSize(comparisons: number): Size {
  const only = fromEnvironment('WINDOWPANE_WALK')
  return only === undefined ? { comparisons, walkers } : { comparisons, walkers, only }
}

const walkers = 8

export function fromEnvironment(name: string): number | undefined {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new Error(`${name} must be a whole number, not ${text}`)
  return value
}
