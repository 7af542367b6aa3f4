/**
 * Replays the requests of viewers through Windowpane and counts the ones that reach Prometheus, by Prometheus' own
 * counters. Simulated time stands still while a page loads: nothing depends on how fast the machine is, and no request
 * is saved because it happens to arrive while an equal one of another viewer is in progress. In real time pages load
 * side by side.
 */
import { scheduler } from 'node:timers/promises'
import { request } from 'undici'
import { prometheus as prometheusBackend } from '../../../src/backends/prometheus/index.ts'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { usualWholeSettings } from '../../../src/engine/objects/whole-terms.ts'
import { startWindowpane } from '../../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../../src/proxy/limits.ts'
import { HOUR } from '../../data/dataset.ts'
import { sumMetric } from '../../servers/metrics-text.ts'
import { type Call, type CallKind, handlers, kinds } from './calls.ts'
import type { PageLoad } from './viewers.ts'

export type Counts = Readonly<Record<CallKind, number>>

/** The clock of the proxy and of the viewers. */
export interface MixClock extends Clock {
  advance(ms: number): Promise<void>
  /** Time passes while a page loads. */
  readonly isReal?: true
}

/** Real time, of the day on which the data ends. */
export function realClock(from: number): MixClock {
  const shiftMs = from - systemClock.now()
  return {
    ...systemClock,
    now: () => systemClock.now() + shiftMs,
    advance: (ms) => scheduler.wait(Math.max(0, ms)),
    isReal: true,
  }
}

export interface MixProxy {
  readonly url: string
  readonly clock: MixClock
  close(): Promise<void>
}

/** With the defaults for everything but `instant.within`. */
export async function startProxy(upstream: string, withinMs: number, clock: MixClock): Promise<MixProxy> {
  const { maxBuckets, drainMs } = defaultLimits
  const backend = prometheusBackend({ settledAgeMs: HOUR, maxBuckets })
  const windowpane = await startWindowpane({
    ...{ upstream, clock, listen: '127.0.0.1:0', backend },
    objects: { ...usualWholeSettings, instantWithinMs: withinMs },
  })
  return {
    url: windowpane.url,
    clock,
    async close() {
      const closed = windowpane.close()
      if (!clock.isReal) await clock.advance(drainMs)
      await closed
    },
  }
}

/** All panels of a page at once. */
export async function replay(
  loads: readonly PageLoad[],
  clock: MixClock,
  send: (call: Call) => Promise<void>,
): Promise<Counts> {
  const counts = zeros()
  const loading: Promise<unknown>[] = []
  for (const { at, calls } of loads) {
    await clock.advance(at - clock.now())
    const page = Promise.all(calls.map(send))
    if (clock.isReal) loading.push(page)
    else await page
    for (const { kind } of calls) counts[kind]++
  }
  await Promise.all(loading)
  return counts
}

/** The requests that have reached a Prometheus since it was started, also in the background. */
export async function reachedSoFar(prometheus: string): Promise<Counts> {
  const counts = zeros()
  const { body } = await request(`${prometheus}/metrics`)
  const metrics = await body.text()
  for (const kind of kinds)
    for (const handler of handlers[kind])
      counts[kind] += sumMetric(metrics, 'prometheus_http_requests_total', { handler })
  return counts
}

function zeros(): Record<CallKind, number> {
  return { range: 0, instant: 0, exemplars: 0, variables: 0 }
}
