/** Panels that were requested and then left idle: their size when they are compressed, and the cost of that. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { request } from 'undici'
import { prometheus } from '../src/backends/prometheus/index.ts'
import type { Budget } from '../src/core/budget.ts'
import { type Clock, systemClock } from '../src/core/clock.ts'
import { startWindowpane } from '../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../src/proxy/limits.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import type { Store } from '../src/stores/store.ts'

export interface CoolOptions {
  /** The kind of values: see stub-database.ts. */
  readonly kind: 'gauge' | 'counter' | 'digits'
  readonly database: string
  /** The target of a query over so many points. */
  readonly path: (query: string, points: number) => string
  /** The reachable memory of this process. */
  readonly live: () => number
}

const mib = 2 ** 20

/** For the store alone: a minute passes in a second for its timer; durations are the system's. */
const fastClock: Clock = {
  ...systemClock,
  after: (delayMs, action) => systemClock.after(delayMs / 60, action),
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

const pause = (ms: number): Promise<void> => new Promise((resolve) => systemClock.after(ms, resolve))

/** How late timers were in the meantime: others on the machine make them late, too. */
async function heldUp(action: () => Promise<void>): Promise<string> {
  const late = monitorEventLoopDelay({ resolution: 1 })
  late.enable()
  await action()
  late.disable()
  const ms = (nanoseconds: number): string => (nanoseconds / 1e6).toFixed(1)
  return `${ms(late.percentile(99))} ms (99 %), ${ms(late.max)} (most)`
}

/** Prints its findings; returns bytes per point, as the process has them. */
export async function cool({ kind, database, path, live }: CoolOptions): Promise<number> {
  const backend = prometheus({ settledAgeMs: 3_600_000, maxBuckets: 11_001 })
  let [store, budget]: [Store?, Budget?] = []
  const proxy = await startWindowpane({
    ...{ upstream: database, backend, listen: '127.0.0.1:0' },
    limits: { memoryBytes: 192 * mib },
    store: (given) => {
      const { retentionMs, maxBucketsPerShape } = defaultLimits
      budget = given
      store = memoryStore({ clock: fastClock, budget, retentionMs, maxBucketsPerShape, coldAfterMs: 1000 })
      return store
    },
  })
  let hits = 0
  const get = async (target: string): Promise<number> => {
    const began = systemClock.elapsed()
    const { headers, body } = await request(proxy.url + target)
    await body.arrayBuffer()
    if (/; hit/.test(String(headers['cache-status']))) hits++
    return systemClock.elapsed() - began
  }
  const medium = Array.from({ length: 80 }, (_, i) => path(`stub_20_${kind}${i}`, 240))
  const large = Array.from({ length: 4 }, (_, i) => path(`stub_100_${kind}${i}`, 720))
  const points = medium.length * 20 * 240 + large.length * 100 * 720
  await get(path('stub_1_first', 1))
  // The first answers are not cached until the flavour of the database is known.
  for (let round = 0; round < 3; round++) for (const each of [...large, ...medium]) await get(each)
  const size = () => store!.figures!().bytes!
  const warm = { counted: size(), live: live() }
  const idle = await heldUp(() => pause(4000))
  // More than half is used: below that nothing is compressed.
  budget!.reserve(0.51 * budget!.limit)
  await get(path('stub_1_last', 1))
  const untilCold = async (): Promise<void> => {
    for (let last = 0; last !== size() || size() > warm.counted / 2; ) {
      last = size()
      await pause(2000)
    }
  }
  const cooling = await heldUp(untilCold)
  hits = 0
  for (const [name, targets] of [
    ['20 × 240', medium],
    ['100 × 720', large],
  ] as const) {
    const [first, second]: [number[], number[]] = [[], []]
    for (const target of targets) {
      first.push(await get(target))
      second.push(await get(target))
    }
    console.log(
      `cold    ${`${kind}, ${name}`.padEnd(28)} first hit ${median(first).toFixed(1)} ms, the next ${median(second).toFixed(1)} ms, over HTTP`,
    )
  }
  const asked = 2 * (medium.length + large.length)
  if (hits !== asked) throw new Error(`${hits} hits of ${asked}: something was lost`)
  await untilCold()
  const cold = { counted: size(), live: live() }
  for await (const [key] of store!.shapes()) await store!.remove(key)
  const rest = live()
  await proxy.close()
  const each = (bytes: number): string => (bytes / points).toFixed(1)
  console.log(
    `cold    ${`${kind}, 84 queries of both`.padEnd(28)} ${each(warm.live - rest)} → ${each(cold.live - rest)} bytes per point (counted as ${each(warm.counted)} → ${each(cold.counted)}); event loop late by ${cooling} meanwhile, ${idle} before`,
  )
  return Math.max(cold.live - rest, cold.counted) / points
}
