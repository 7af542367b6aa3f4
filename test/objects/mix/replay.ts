/**
 * Replays what viewers ask through Windowpane and counts what reaches Prometheus, by Prometheus' own counters. Simulated time that
 * stands still while a page loads, so that nothing depends on how fast the machine is, and no request is spared because it happens to arrive
 * while an equal one of another viewer is under way.
 */
import { request } from 'undici'
import { prometheus as prometheusBackend } from '../../../src/backends/prometheus/index.ts'
import { usualWholeSettings } from '../../../src/engine/objects/whole-terms.ts'
import { startWindowpane } from '../../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../../src/proxy/limits.ts'
import { type FakeClock, fakeClock } from '../../../src/testing/fake-clock.ts'
import { HOUR } from '../../data/dataset.ts'
import { sumMetric } from '../../servers/metrics-text.ts'
import { type Call, type CallKind, handlers, kinds } from './calls.ts'
import type { PageLoad } from './viewers.ts'

export type Counts = Readonly<Record<CallKind, number>>

export interface MixProxy {
  readonly url: string
  readonly clock: FakeClock
  close(): Promise<void>
}

/** With the defaults for everything but `instant.within`. */
export async function startProxy(upstream: string, withinMs: number, now: number): Promise<MixProxy> {
  const clock = fakeClock(now)
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
      await clock.advance(drainMs)
      await closed
    },
  }
}

export type Send = (call: Call, at: number) => Promise<void>

/** All panels of a page at once, one page after the other. */
export async function replay(loads: readonly PageLoad[], clock: FakeClock, send: Send): Promise<Counts> {
  const calls = zeros()
  for (const { at, calls: ofPage } of loads) {
    await clock.advance(at - clock.now())
    await Promise.all(ofPage.map((call) => send(call, at)))
    for (const { kind } of ofPage) calls[kind]++
  }
  return calls
}

/** What has reached a Prometheus since it was started, also in the background. */
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
