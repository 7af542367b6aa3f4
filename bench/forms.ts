/** The pane forms that every micro-benchmark runs over, as the bytes of a Prometheus answer. */
import type { Interval } from '../src/core/interval.ts'

export interface Form {
  readonly name: string
  readonly columns: number
  readonly buckets: number
  readonly interval: Interval
  readonly body: Buffer
}

export const grid = { kind: 'point', step: 60_000, origin: 0 } as const
export const firstBucket = 28_333_334

/** `life`: how many consecutive buckets each column has; columns begin evenly over the interval. */
function form(columns: number, buckets: number, life = buckets): Form {
  const series = Array.from({ length: columns }, (_, column) => {
    const begin = life === buckets ? 0 : Math.floor((column / columns) * (buckets - life))
    const points = Array.from({ length: life }, (_, i) => point(begin + i, column))
    return `{"metric":${labels(column)},"values":[${points.join(',')}]}`
  })
  const body = Buffer.from(
    `{"status":"success","data":{"resultType":"matrix","result":[${series.join(',')}]}}`,
  )
  const name = life === buckets ? `${columns} × ${buckets}` : `${columns} short-lived in ${buckets}`
  return { name, columns, buckets, interval: { from: firstBucket, to: firstBucket + buckets }, body }
}

const labels = (column: number): string =>
  `{"__name__":"bench_gauge","group":"g${column % 10}","instance":"host-${String(column).padStart(5, '0')}.example:9100","job":"node"}`

const point = (bucket: number, column: number): string =>
  `[${((firstBucket + bucket) * grid.step) / 1000},"${(50 + 50 * Math.sin(bucket / 9 + column)).toFixed(6)}"]`

export const forms = (): Form[] =>
  [form(1, 10_000), form(100, 720), form(5_000, 10), form(50_000, 720, 3)].map(sorted)

/** Series stand in label order: group before instance. */
function sorted(given: Form): Form {
  const answer = given.body.toString()
  const start = answer.indexOf('[') + 1
  const end = answer.lastIndexOf(']')
  const series = answer.slice(start, end).split(/,(?=\{"metric")/)
  series.sort((a, b) => (a < b ? -1 : 1))
  return { ...given, body: Buffer.from(answer.slice(0, start) + series.join(',') + answer.slice(end)) }
}
