/** The servers of one test and the size of a run, as the environment wishes it. */
import type { TestContext } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { END, START } from '../data/dataset.ts'
import { requireServer, startOwnFixture } from '../data/fixture.ts'
import type { Prometheus, PrometheusOptions } from '../servers/prometheus.ts'
import type { Run } from './itinerary.ts'
import { forms } from './queries.ts'

/** The data ends before END, so that is where windows end. */
export const span = { from: START, to: END }

/** A Prometheus of this test alone, with experimental functions (limitk and others), or null after a skip. */
export async function startDatabase(
  t: TestContext,
  options: PrometheusOptions = {},
): Promise<Prometheus | null> {
  const extraFlags = ['--enable-feature=promql-experimental-functions']
  const prometheus = requireServer(t, await startOwnFixture({ ...options, extraFlags }))
  if (prometheus !== null) t.after(() => prometheus.stop())
  return prometheus
}

/** A run over all forms; the seed is new every time unless WINDOWPANE_SEED names one. */
export function chooseRun(t: TestContext): Run {
  const seed = fromEnvironment('WINDOWPANE_SEED') ?? Math.floor(systemClock.random() * 2 ** 31)
  t.diagnostic(`WINDOWPANE_SEED=${seed}`)
  return { seed, span, forms }
}

export function fromEnvironment(name: string): number | undefined {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new Error(`${name} must be a whole number, not ${text}`)
  return value
}
