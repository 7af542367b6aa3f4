/** A proxy in front of a scripted database, and an exporter to a collector, on a clock that only the test moves. */
import type { TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { startServer } from '../../src/proxy/assembly/server.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { type Posted, TraceExporter } from '../../src/telemetry/tracing-export.ts'
import { collectorAt } from '../../src/telemetry/tracing-post.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { until } from '../proxy/client.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { type FakeCollector, startCollector } from './collector.ts'

export const NOW = Date.UTC(2026, 1, 1)

export interface TracedProxy {
  readonly url: string
  readonly clock: FakeClock
  readonly upstream: ScriptedUpstream
  readonly collector: FakeCollector
  readonly exporter: TraceExporter
  sampleRatio: number
  /** Batches that the collector could not take. */
  failures(): number
  /** Lets the exporter send its queue, and waits until it has. */
  flush(): Promise<void>
}

const policy = ladder()

export async function startTracedProxy(t: TestContext): Promise<TracedProxy> {
  const clock = fakeClock(NOW)
  const [upstream, collector] = [await startScriptedUpstream(t), await startCollector(t)]
  const way = collectorAt({ clock, endpoint: collector.url })
  let failures = 0
  const onPosted = ({ kind }: Posted) => {
    if (kind === 'later') failures++
  }
  const exporter = new TraceExporter({ clock, version: '1.2.3', post: way.post, onPosted })
  const backend = prometheus({ settledAgeMs: policy.settledAgeMs, maxBuckets: defaultLimits.maxBuckets })
  const terms = { mode: 'on', identity: 'separate', policy, maxStaleMs: defaultLimits.maxStaleMs } as const
  const proxy = await startServer({
    listen: '127.0.0.1:0',
    limits: defaultLimits,
    clock,
    sampleRatio: () => traced.sampleRatio,
    databases: [
      {
        name: 'main',
        backend,
        upstream: { urls: [upstream.url] },
        settings: () => ({ terms, rules: [] }),
      },
    ],
  })
  const traced: TracedProxy = {
    ...{ url: proxy.url, clock, upstream, collector, exporter, sampleRatio: 1 },
    failures: () => failures,
    async flush() {
      await clock.advance(5_000)
      await until(() => exporter.figures.queued === 0)
    },
  }
  t.after(async () => {
    const closed = Promise.all([proxy.close(), exporter.close()])
    await clock.advance(defaultLimits.drainMs)
    await closed
    await way.close()
  })
  return traced
}
