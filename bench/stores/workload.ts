/** Answers as a dashboard refreshes them: a window of 180 buckets of a minute, every 10 s, on the published ladder. */
import type { Interval } from '../../src/core/interval.ts'
import { keyOf } from '../../src/core/key.ts'
import type { Pane } from '../../src/core/pane.ts'
import { PaneBuilder } from '../../src/core/pane-builder.ts'
import type { ShapeRecord } from '../../src/stores/store.ts'
import { ladder } from '../../src/ttl/ladder.ts'

const stepMs = 60_000
export const windowBuckets = 180
const refreshMs = 10_000

/** A range answer of Prometheus: one column per series, a counter's rate with the digits that such have. */
export function answerPane(series: number, interval: Interval, fetchedAt: number): Pane {
  const builder = new PaneBuilder(2)
  let slab = ''
  for (let column = 0; column < series; column++) {
    const name = `host-${String(column).padStart(3, '0')}`
    const head = slab.length
    slab += `{"cluster":"eu-west-1","instance":"${name}.example:9100","job":"node","namespace":"monitoring"}`
    builder.beginColumn(head, slab.length, Buffer.from(name))
    builder.beginLane(0)
    for (let bucket = interval.from; bucket < interval.to; bucket++) {
      builder.bucket(bucket - interval.from, slab.length)
      slab += `[${(bucket * stepMs) / 1000},"${valueAt(bucket, column)}"],`
    }
    builder.endLane(slab.length)
  }
  return builder.finish({ interval, fetchedAt, slab: Buffer.from(slab) })
}

const valueAt = (bucket: number, column: number): string =>
  String(50 + 40 * Math.sin(bucket / 37 + column) + ((bucket * 7919 + column * 104729) % 1000) / 997)

/** The bytes that the database sent: heads once, then the points. */
export const answerBytes = ({ body }: Pane): number => body.bytes.length - body.slabAt

export interface Refresh {
  readonly now: number
  readonly interval: Interval
}

/** The interval fetched at each refresh: from the first bucket that is not fresh to the end, as the engine does. */
export function* refreshes(begin: number, hours: number): Iterable<Refresh> {
  const policy = ladder()
  const fetchedAt = new Map<number, number>()
  for (let now = begin; now < begin + hours * 3_600_000; now += refreshMs) {
    const to = Math.floor(now / stepMs) + 1
    let from = to - windowBuckets
    while (from < to && isFresh(fetchedAt.get(from), { end: from * stepMs, now })) from++
    if (from === to) continue
    for (let bucket = from; bucket < to; bucket++) fetchedAt.set(bucket, now)
    yield { now, interval: { from, to } }
  }

  function isFresh(at: number | undefined, { end, now }: { end: number; now: number }): boolean {
    return at !== undefined && now < at + policy.ttl(at - end)
  }
}

export const shapeFor = (series: number): ShapeRecord => ({
  backend: 'main',
  text: `sum by (cluster, instance, job, namespace) (rate(node_cpu_seconds_total{mode!="idle"}[5m])) # ${series}`,
  query: 'sum by (cluster, instance, job, namespace) (rate(node_cpu_seconds_total{mode!="idle"}[5m]))',
  sources: ['node_cpu_seconds_total'],
  knowsAllSources: true,
  lookbackMs: 300_000,
  grid: { kind: 'point', step: stepMs, origin: 0 },
  identity: '',
  headers: ['content-type', 'application/json'],
})

export const keyFor = (shape: ShapeRecord): string => keyOf({ ...shape, shape: shape.text })
