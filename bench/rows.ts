/**
 * Druid's rows: cutting them into panes against JSON.parse, and putting them together against a plain copy:
 * `npm run bench:rows`. Ratios are of one run. Exits with 1 where a mark is missed.
 */
import type { Decomposed } from '../src/backends/backend.ts'
import { RowSink } from '../src/backends/druid/decompose.ts'
import type { RowFormat } from '../src/backends/druid/druid-plan.ts'
import { recompose } from '../src/backends/druid/recompose.ts'
import { startOf } from '../src/core/grid.ts'
import { type Pane, slice } from '../src/core/pane.ts'
import { join } from '../src/core/pane-join.ts'
import { inTurn, microseconds, shown } from './measure.ts'

const grid = { kind: 'cell', step: 60_000, origin: 0 } as const
const firstBucket = 29_453_760
const chunkBytes = 64 * 1024
const list = { container: 'list', row: 'object', time: 'timestamp', headerRows: 0, end: '' } as const
const csv = { container: 'lines', row: 'csv', time: 0, headerRows: 0, end: '\n' } as const
const marks: { name: string; isMet: boolean }[] = []

interface Form {
  readonly name: string
  readonly format: RowFormat
  readonly isDescending: boolean
  readonly buckets: number
  readonly body: Buffer
}

type Row = (time: string, row: number) => string

const value = (row: number): string => (50 + 50 * Math.sin(row)).toFixed(6)
const timeseries: Row = (time, row) =>
  `{"timestamp":"${time}","result":{"delta":${value(row)},"added":${row * 37},"n":${row % 97}}}`
const groupBy: Row = (time, row) =>
  `{"version":"v1","timestamp":"${time}","event":{"added":${row * 37},"page":"page-${row % 400}","country":"DE","delta":${value(row)}}}`
const arrays: Row = (time, row) => `[${Date.parse(time)},"page-${row % 400}","DE",${row * 37},${value(row)}]`
const lines: Row = (time, row) => `${time},page-${row % 400},DE,${row * 37},${value(row)}`

function form(
  name: string,
  row: Row,
  [buckets, perBucket]: readonly [number, number],
  more: Partial<Form> = {},
): Form {
  const { format = list, isDescending = false } = more
  const rows = Array.from({ length: buckets * perBucket }, (_, i) => {
    const bucket = Math.floor(i / perBucket)
    const start = startOf(grid, firstBucket + (isDescending ? buckets - 1 - bucket : bucket))
    return row(new Date(start).toISOString(), i)
  })
  const body = format === csv ? `${rows.join('\n')}\n\n` : `[${rows.join(',')}]`
  return { name, format, isDescending, buckets, body: Buffer.from(body) }
}

const forms = [
  form('timeseries, 10 000 buckets', timeseries, [10_000, 1]),
  form('the same, descending', timeseries, [10_000, 1], { isDescending: true }),
  form('groupBy, 36 × 20', groupBy, [36, 20]),
  form('groupBy, 180 × 400', groupBy, [180, 400]),
  form('groupBy as arrays, 180 × 400', arrays, [180, 400], { format: { ...list, row: 'array', time: 0 } }),
  form('SQL csv, 180 × 400', lines, [180, 400], { format: csv }),
]

function ingest(given: Form): Pane {
  const sink = new RowSink({ ...given, grid }, [{ from: firstBucket, to: firstBucket + given.buckets }])
  for (let at = 0; at < given.body.length; at += chunkBytes)
    sink.write(given.body.subarray(at, at + chunkBytes))
  return (sink.end(1, { headers: [], trailers: [] }) as Decomposed).panes[0]!
}

/** The pane as it was fetched, or in pieces of their own. */
function pieces(pane: Pane, count: number): Pane[] {
  if (count === 1) return [pane]
  const width = Math.ceil((pane.to - pane.from) / count)
  return Array.from({ length: count }, (_, i) =>
    join([slice(pane, { from: pane.from + i * width, to: pane.from + (i + 1) * width })]),
  )
}

function benchIngest(given: Form): void {
  const label = `ingest  ${given.name.padEnd(30)}`
  const speed = (own: number) => `${shown(own)} µs  ${shown(given.body.length / own)} MB/s`
  if (given.format === csv) {
    console.log(`${label} ${speed(microseconds(() => ingest(given)))}`)
    return
  }
  const text = given.body.toString()
  const [own, json] = inTurn(
    () => ingest(given),
    () => JSON.parse(text),
    20,
  )
  // With a row per bucket every time is another one and must be read, which JSON.parse does not do.
  const least = given.buckets >= 10_000 ? 0.8 : 1.5
  marks.push({ name: `ingest of ${given.name} ≥ ${least} × JSON.parse`, isMet: json / own >= least })
  console.log(`${label} ${speed(own)}  JSON.parse ${shown(json)} µs  ${(json / own).toFixed(1)} ×`)
}

function benchSplice(given: Form, count: number): void {
  const panes = pieces(ingest(given), count)
  const target = Buffer.allocUnsafeSlow(given.body.length)
  const plan = { ...given, limit: Number.POSITIVE_INFINITY }
  const splice = () => recompose(plan, panes).write(target)
  splice()
  if (!target.equals(given.body)) throw new Error(`${given.name}: the splice is wrong`)
  const { bytes, slabAt } = ingest(given).body
  const plain = () => bytes.copy(target, 1, slabAt, slabAt + given.body.length - 2)
  const [own, copy] = inTurn(splice, plain, 40)
  // Making the answer costs a microsecond; a descending one is copied bucket by bucket.
  const isMet = own <= 1.5 * copy + 2 + (given.isDescending ? 0.2 * given.buckets : 0)
  marks.push({ name: `splice of ${given.name} from ${count} panes ≤ 1.5 × memcpy + 2 µs`, isMet })
  console.log(
    `splice  ${given.name.padEnd(30)} ${shown(own)} µs  memcpy ${shown(copy)} µs  ${count} panes  ${(own / copy).toFixed(2)} ×`,
  )
}

for (const each of forms) benchIngest(each)
for (const each of forms) for (const count of [1, 4]) benchSplice(each, count)

const missed = marks.filter((mark) => !mark.isMet)
for (const { name } of missed) console.log(`missed: ${name}`)
process.exitCode = missed.length > 0 ? 1 : 0
