/** The proxy that this suite judges: the only place that knows how it is started. */
import { request } from 'undici'
import { druid } from '../../../src/backends/druid/index.ts'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import {
  startWindowpane,
  type Windowpane,
  type WindowpaneOptions,
} from '../../../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../../../src/proxy/limits.ts'
import { fixed } from '../../../src/ttl/fixed.ts'
import { eventually } from '../../wait.ts'

const day = 86_400_000

/**
 * All windows lie in the past, also windows of years that reach beyond the data, whatever the clock of this machine is.
 */
const started = Date.UTC(2040, 0, 1)
const later: Clock = { ...systemClock, now: () => Math.floor(started + systemClock.elapsed()) }

/**
 * The data is old and does not change: known buckets stay fresh for longer than any run. By default only buckets are
 * cached: queries that cannot be cut into them are forwarded.
 */
export async function startUnderTest(
  upstream: string,
  options: Partial<WindowpaneOptions> = {},
): Promise<Windowpane> {
  const backend = druid({ maxBuckets: defaultLimits.maxBuckets })
  const usual = { listen: '127.0.0.1:0', policy: fixed(day), clock: later, objects: false } as const
  const proxy = await startWindowpane({ upstream, backend, ...usual, ...options })
  if (options.clock === undefined) await untilKnown(proxy)
  return proxy
}

const ofNothing = {
  ...{ queryType: 'timeseries', dataSource: 'none', granularity: 'hour', aggregations: [] },
  intervals: '2026-01-01T00/PT1H',
}

/**
 * On a busy machine the kind of Druid may not be detected in time. It is queried again with the queries of clients,
 * which are forwarded meanwhile.
 */
async function untilKnown(proxy: Windowpane): Promise<void> {
  const options = {
    ...{ method: 'POST', body: JSON.stringify(ofNothing) },
    headers: { 'content-type': 'application/json' },
  }
  const isKnown = async () => {
    if (!proxy.flavour.isKnown) await (await request(`${proxy.url}/druid/v2`, options)).body.dump()
    return proxy.flavour.isKnown
  }
  await eventually(isKnown, (known) => known)
}
