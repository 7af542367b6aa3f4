/** The proxy that this suite judges: the only place that knows how it is started. */
import { type PrometheusOptions, prometheus } from '../../src/backends/prometheus/index.ts'
import { startWindowpane } from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'

export interface UnderTest {
  readonly url: string
  close(): Promise<void>
}

/** All data is months old: any settled age that a person would choose will do. */
const settledAgeMs = 3_600_000

export function startUnderTest(
  upstream: string,
  more: Pick<PrometheusOptions, 'assume'> = {},
): Promise<UnderTest> {
  const backend = prometheus({ settledAgeMs, maxBuckets: defaultLimits.maxBuckets, ...more })
  return startWindowpane({ upstream, backend, listen: '127.0.0.1:0' })
}
