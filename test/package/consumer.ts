/** A program that uses the package as a library: compiled against the published files, and never run. */
import { type Bypass, gridThrough, PaneBuilder, type Plan } from '../../src/backends/index.ts'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import {
  type Backend,
  type ChangeObservation,
  computeTtl,
  estimateRate,
  exponential,
  type FetchHandler,
  fetchHandler,
  fixed,
  ladder,
  learned,
  linear,
  logarithmic,
  type ObjectAnswer,
  type ObjectCache,
  type OpenedStore,
  objectCache,
  openStore,
  type RateEstimate,
  rate,
  type Store,
  staleFraction,
  startWindowpane,
  steps,
  type TtlPolicy,
  type Windowpane,
} from '../../src/index.ts'
import { type Found, layOver, type Pane, type ShapeRecord } from '../../src/stores/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type FakeClock, fakeClock, testStore } from '../../src/testing/index.ts'

const clock: FakeClock = fakeClock()
const policy: TtlPolicy = ladder()
const backend: Backend = prometheus({ settledAgeMs: policy.settledAgeMs, maxBuckets: 11_000 })

export const running: Promise<Windowpane> = startWindowpane({
  upstream: 'http://127.0.0.1:9090',
  backend,
  policy: fixed(5000),
  store: (budget): Store => memoryStore({ clock, budget, retentionMs: 3_600_000, maxBucketsPerShape: 1000 }),
})

// @ts-expect-error types are not lost on the way: an upstream is a text
export const wrong = startWindowpane({ upstream: 9090, backend })

export const handle: FetchHandler = fetchHandler({
  upstream: 'http://127.0.0.1:9090',
  backend,
  policy,
  clock,
})

export const answer: Promise<Response> = handle(new Request('http://localhost/api/v1/labels'))

export const objects: ObjectCache = objectCache({}, { clock })

export const found = async (): Promise<ObjectAnswer> =>
  objects.get('key', async () => 'body', { revalidateSeconds: 60 })

export const isPlanned = (plan: Plan | Bypass): plan is Plan => !('bypass' in plan)

export const emptyPane = (): Pane =>
  new PaneBuilder(1).finish({ interval: { from: 0, to: 1 }, fetchedAt: 0, slab: new Uint8Array() })

export const grid = gridThrough('cell', 60_000, 0)

export const schedules: readonly TtlPolicy[] = [
  exponential({ floorMs: 5000, doublingMs: 60_000, capMs: 3_600_000 }),
  linear({ floorMs: 5000, slope: 0.1, capMs: 3_600_000 }),
  logarithmic({ floorMs: 5000, riseMs: 30_000, unitMs: 60_000, capMs: 3_600_000 }),
  steps({ floorMs: 5000, steps: [{ ageMs: 60_000, ttlMs: 60_000 }] }),
  rate({ changesEveryMs: 86_400_000, budget: 0.01 }),
  learned({ staleness: 0.01 }),
]

const observed: readonly ChangeObservation[] = [{ gap: 60, changed: true }]
const estimated: RateEstimate = estimateRate(observed)
export const kept: number = staleFraction(estimated.rate, computeTtl(estimated.upper95, 0.01))

export const opened: Promise<OpenedStore> = openStore('memory:', { clock, memoryBytes: 2 ** 20 })

export const laid = (found: Found, pane: Pane): Found => {
  const shape: ShapeRecord = found.shape
  return { panes: layOver(found.panes, pane), shape }
}

void testStore
