/** A Windowpane in front of a scripted database, on a clock that only the test moves. */
import type { TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import type { Budget } from '../../src/core/budget.ts'
import { allOff, allOn, type RuntimeSwitches } from '../../src/core/runtime.ts'
import {
  startWindowpane,
  type Windowpane,
  type WindowpaneOptions,
} from '../../src/proxy/assembly/windowpane.ts'
import { defaultLimits, type Limits } from '../../src/proxy/limits.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts'

export interface Stand {
  readonly url: string
  readonly clock: FakeClock
  readonly windowpane: Windowpane
  /** The memory in use: panes, bodies in progress and unsent answers. */
  readonly budget: Budget
}

export interface StandOptions extends Partial<Omit<WindowpaneOptions, 'clock' | 'limits' | 'store'>> {
  readonly upstream: string
  readonly limits?: Partial<Limits>
  readonly clock?: FakeClock
}

/** The proxy tests run again with this variable set to the name of a switch, or to `all`: see switched-off.test.ts. */
export const switchedOff = 'WINDOWPANE_TEST_SWITCHED_OFF'

/** The switches of tests of the proxy, unless they are about one of them. */
export const runtime: RuntimeSwitches = switchesWithout(process.env[switchedOff])

function switchesWithout(off: string | undefined): RuntimeSwitches {
  if (off === 'all') return allOff
  return off === undefined ? allOn : { ...allOn, [off]: false }
}

const minute = 60_000
const settledAgeMs = 60 * minute

/** The wall clock at the start of a test. All ranges below lie a day or more before it: settled, with a TTL of 1 h. */
export const NOW = Date.UTC(2026, 1, 1)
const DAY = 24 * 60 * minute

/** Ten minutes of buckets, one per minute, that ended `daysAgo` days before NOW. */
export const oldRange = (daysAgo = 1, buckets = 10) => ({
  start: NOW - daysAgo * DAY - (buckets - 1) * minute,
  end: NOW - daysAgo * DAY,
})

export async function startStand(t: TestContext, options: StandOptions): Promise<Stand> {
  const clock = options.clock ?? fakeClock(NOW)
  const limits = { ...defaultLimits, ...options.limits }
  const backend = prometheus({ settledAgeMs, maxBuckets: limits.maxBuckets })
  let budget: Budget | undefined
  const windowpane = await startWindowpane({
    backend,
    listen: '127.0.0.1:0',
    runtime,
    ...options,
    clock,
    store: (given) => {
      budget = given
      const { retentionMs, maxBucketsPerShape } = limits
      return memoryStore({ clock, budget: given, retentionMs, maxBucketsPerShape })
    },
  })
  t.after(() => closeNow(windowpane, clock, limits.drainMs))
  return { url: windowpane.url, clock, windowpane, budget: budget! }
}

/** Does not wait for connections that a test left open. */
async function closeNow(windowpane: Windowpane, clock: FakeClock, drainMs: number): Promise<void> {
  const closed = windowpane.close()
  await clock.advance(drainMs)
  await closed
}

export async function startBoth(
  t: TestContext,
  options: Omit<StandOptions, 'upstream'> = {},
): Promise<Stand & { readonly upstream: ScriptedUpstream }> {
  const upstream = await startScriptedUpstream(t)
  return { ...(await startStand(t, { ...options, upstream: upstream.url })), upstream }
}
