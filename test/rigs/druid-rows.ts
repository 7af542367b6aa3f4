/** Answers as Druid writes them, in every format, for tests of whatever reads or joins them. */
import type { RowFormat } from '../../src/backends/druid/druid-plan.ts'
import type { EpochMs } from '../../src/core/clock.ts'
import { type Grid, startOf } from '../../src/core/grid.ts'
import type { Interval } from '../../src/core/interval.ts'
import { mixSeeds, pick, type Random, seededRandom, wholeNumber } from '../../src/testing/random.ts'

/** How one kind of query is answered. */
export interface RowStyle {
  readonly name: string
  readonly format: RowFormat
  /** Header rows; none by default. */
  readonly headers?: readonly string[]
  /** Whether a bucket has one row at most; false by default. */
  readonly isSingle?: boolean
  row(random: Random, start: EpochMs): string
}

const list = { container: 'list', headerRows: 0, end: '' } as const
const sqlList = { ...list, end: '\n' } as const
const lines = { container: 'lines', headerRows: 0, end: '\n' } as const

/** Everything that a scanner could stumble over. */
const texts = [
  'A',
  '',
  'a"b',
  'back\\slash',
  '\\"',
  '}],[{',
  'two\nlines',
  ',"timestamp":"2026-01-01T00:00:00.000Z"',
  'é\u{1f600}',
  '\u0001\u007f\u2028',
  'a,b;c',
]
const numbers = ['0', '-1', '1242993497154257034', '51.333333333333336', '46.0', '1.0E-7', 'null', '"NaN"']

const text = (random: Random): string => JSON.stringify(pick(random, texts))
const number = (random: Random): string => pick(random, numbers)

/** As Joda-Time prints it: in UTC, or in a zone. */
const utc = (start: EpochMs): string => new Date(start).toISOString()
const zoned = (start: EpochMs): string => new Date(start + 19_800_000).toISOString().replace('Z', '+05:30')

const event = (random: Random): string =>
  `{"added":${number(random)},"page":${text(random)},"tags":[${text(random)},{"timestamp":[]}]}`
const field = (value: string): string =>
  /[",\n\r\\]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
const csv = (random: Random): string => `${field(pick(random, texts))},${number(random).replaceAll('"', '')}`

const names = '["t","page","n"]'
const members = (random: Random): string => `"page":${text(random)},"n":${number(random)}`

export const rowStyles: readonly RowStyle[] = [
  {
    name: 'timeseries',
    format: { ...list, row: 'object', time: 'timestamp' },
    isSingle: true,
    row: (random, start) =>
      `{"timestamp":"${utc(start)}","result":{"n":${number(random)},"d":${number(random)}}}`,
  },
  {
    name: 'timeseries with long timestamps',
    format: { ...list, row: 'object', time: 'timestamp' },
    isSingle: true,
    row: (random, start) => `{"timestamp":${start},"result":{"n":${number(random)}}}`,
  },
  {
    name: 'topN, in one zone or the other',
    format: { ...list, row: 'object', time: 'timestamp' },
    isSingle: true,
    row: (random, start) =>
      `{"timestamp":"${pick(random, [utc, zoned])(start)}","result":[${event(random)},${event(random)}]}`,
  },
  {
    name: 'groupBy in a zone',
    format: { ...list, row: 'object', time: 'timestamp' },
    row: (random, start) => `{"version":"v1","timestamp":"${zoned(start)}","event":${event(random)}}`,
  },
  {
    name: 'groupBy as arrays',
    format: { ...list, row: 'array', time: 0 },
    row: (random, start) => `[${start},${text(random)},${number(random)}]`,
  },
  {
    name: 'SQL objects',
    format: { ...sqlList, row: 'object', time: 't' },
    row: (random, start) => `{"t":"${utc(start)}",${members(random)}}`,
  },
  {
    name: 'SQL objects with a header, the time last',
    format: { ...sqlList, row: 'object', time: 'the "time"', headerRows: 1 },
    headers: ['{"page":null,"n":null,"the \\"time\\"":null}'],
    row: (random, start) => `{${members(random)},"the \\"time\\"":"${utc(start)}"}`,
  },
  {
    name: 'SQL arrays with all headers',
    format: { ...sqlList, row: 'array', time: 1, headerRows: 3 },
    headers: ['["page","t"]', '["STRING","LONG"]', '["VARCHAR","TIMESTAMP"]'],
    row: (random, start) => `[${text(random)},"${utc(start)}"]`,
  },
  {
    name: 'SQL object lines',
    format: { ...lines, row: 'object', time: 't' },
    row: (random, start) => `{"t":"${utc(start)}",${members(random)}}`,
  },
  {
    name: 'SQL array lines with a header',
    format: { ...lines, row: 'array', time: 0, headerRows: 1 },
    headers: [names],
    row: (random, start) => `["${utc(start)}",${text(random)},${number(random)}]`,
  },
  {
    name: 'SQL csv',
    format: { ...lines, row: 'csv', time: 0 },
    row: (random, start) => `${utc(start)},${csv(random)}`,
  },
  {
    name: 'SQL csv with headers, the time last and long',
    format: { ...lines, row: 'csv', time: 2, headerRows: 2 },
    headers: ['page,n,t', 'STRING,LONG,LONG'],
    row: (random, start) => `${csv(random)},${start}`,
  },
]

/** The database's rows of a style for some buckets, in the world of this number: one with holes, or none at all. */
export interface RowWorld {
  readonly style: RowStyle
  readonly world: number
  readonly grid: Grid
  readonly isDescending: boolean
}

/** The rows of intervals, which are in time order. Worlds do not change. */
export function rowsIn(
  { style, world, grid, isDescending }: RowWorld,
  intervals: readonly Interval[],
): string[] {
  const density = pick(seededRandom(world), [0, 0.3, 0.8, 1])
  const buckets = intervals.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i))
  if (isDescending) buckets.reverse()
  return buckets.flatMap((bucket) => {
    const random = seededRandom(mixSeeds(world, bucket))
    if (random() >= density) return []
    const count = style.isSingle ? 1 : wholeNumber(random, 1, 3)
    return Array.from({ length: count }, () => style.row(random, startOf(grid, bucket)))
  })
}

/** Rows as one answer, its header rows before them. */
export function printRows({ format, headers = [] }: RowStyle, rows: readonly string[]): Buffer {
  const all = [...headers, ...rows]
  if (format.container === 'list') return Buffer.from(`[${all.join(',')}]${format.end}`)
  if (format.row === 'csv') return Buffer.from(`${all.map((row) => `${row}\n`).join('')}${format.end}`)
  return Buffer.from(`${all.join('\n')}\n${format.end}`)
}
