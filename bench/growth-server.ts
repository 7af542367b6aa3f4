/** Windowpane whose memory already holds many small shapes: `node bench/growth-server.ts <database> <shapes>`. */
import { prometheus } from '../src/backends/prometheus/index.ts'
import { systemClock } from '../src/core/clock.ts'
import { keyOf } from '../src/core/key.ts'
import { PaneBuilder } from '../src/core/pane-builder.ts'
import { startWindowpane } from '../src/proxy/assembly/windowpane.ts'
import { defaultLimits } from '../src/proxy/limits.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import type { ShapeRecord, Store } from '../src/stores/store.ts'

const [upstream = '', shapes = '0'] = process.argv.slice(2)
const grid = { kind: 'point', step: 60_000, origin: 0 } as const
const points = Buffer.from(
  '{"metric":{"__name__":"small"}[1767225600,"1"],[1767225660,"2"],[1767225720,"3"],',
)
const firstPoint = points.indexOf('[')
const pointBytes = (points.length - firstPoint) / 3

function fill(store: Store, shape: number): void {
  const builder = new PaneBuilder(2)
  builder.beginColumn(0, firstPoint, Buffer.from('small'))
  builder.beginLane(0)
  for (let bucket = 0; bucket < 3; bucket++) builder.bucket(bucket, firstPoint + bucket * pointBytes)
  builder.endLane(points.length)
  const from = 1_767_225_600_000 / grid.step
  const fetchedAt = systemClock.now()
  const pane = builder.finish({ interval: { from, to: from + 3 }, fetchedAt, slab: points })
  const record: ShapeRecord = {
    ...{
      backend: 'main',
      text: `small_${shape}`,
      query: `small_${shape}`,
      sources: [],
      knowsAllSources: true,
    },
    ...{ lookbackMs: 300_000, grid, identity: '', headers: [] },
  }
  store.write(keyOf({ ...record, shape: record.text }), { pane, shape: record })
}

const windowpane = await startWindowpane({
  upstream,
  backend: prometheus({ settledAgeMs: 3_600_000, maxBuckets: defaultLimits.maxBuckets }),
  listen: '127.0.0.1:0',
  limits: { memoryBytes: 8 * 2 ** 30 },
  store: (budget) => {
    const { retentionMs, maxBucketsPerShape } = defaultLimits
    const store = memoryStore({ clock: systemClock, budget, retentionMs, maxBucketsPerShape })
    for (let shape = 0; shape < Number(shapes); shape++) fill(store, shape)
    return store
  },
})
console.log(windowpane.url)
