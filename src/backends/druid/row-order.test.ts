/** Rows that are sorted by something else than their bucket: as a database sorts them that has them all at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { gridThrough, startOf } from '../../core/grid.ts'
import type { Intervals } from '../../core/interval.ts'
import { chunksOf } from '../../testing/mutations.ts'
import { mixSeeds, pick, type Random, seededRandom, wholeNumber } from '../../testing/random.ts'
import { testBackend } from '../../testing/test-backend.ts'
import type { Plan, WireRequest } from '../backend.ts'
import { RowSink } from './decompose.ts'
import type { DruidPlan, RowKey, RowOrder } from './druid-plan.ts'
import { druid } from './index.ts'
import { recompose } from './recompose.ts'

interface Row {
  readonly bucket: number
  readonly page: string | null
  readonly n: bigint | null
  readonly d: number | null
}

const pages = [null, '', 'A', 'a"b', 'a\\', 'two\nlines', 'é', '東京', '\u{1f600}', '\u0001']
const longs = [null, 0n, 7n, -5n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, -(2n ** 53n), 2n ** 62n]
const doubles = [null, 0, -0, 1.5, -2.25, 1e-7, 1e21, Number.NaN, Number.POSITIVE_INFINITY]

/** At most one row for each page. */
function rowsOf(random: Random, bucket: number): Row[] {
  return pages
    .filter(() => random() < 0.4)
    .map((page) => ({ bucket, page, n: pick(random, longs), d: pick(random, doubles) }))
}

type Compare = (a: Row, b: Row) => number

/** Nulls first, -0 before 0, NaN last. */
function compareValues<T extends string | bigint | number>(a: T | null, b: T | null): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null)
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  if (a === 0 && b === 0) return Number(Object.is(b, -0)) - Number(Object.is(a, -0))
  return a < b ? -1 : a > b ? 1 : 0
}

const by: Readonly<Record<string, Compare>> = {
  t: (a, b) => a.bucket - b.bucket,
  page: (a, b) => compareValues(a.page, b.page),
  n: (a, b) => compareValues(a.n, b.n),
  d: (a, b) => compareValues(a.d, b.d),
}

/** `n DESC, page`. */
const sortedBy =
  (...texts: readonly string[]): Compare =>
  (a, b) => {
    for (const [name, direction] of texts.flatMap((text) => text.split(', ')).map((key) => key.split(' '))) {
      const difference = by[name!]!(a, b)
      if (difference !== 0) return direction === 'DESC' ? -difference : difference
    }
    return 0
  }

/** As Java prints them. */
const double = (value: number): string => {
  if (!Number.isFinite(value)) return JSON.stringify(String(value))
  const text = Object.is(value, -0) ? '-0.0' : String(value)
  const [digits = '', exponent] = text.split('e')
  const point = digits.includes('.') ? digits : `${digits}.0`
  return exponent === undefined ? point : `${point}E${exponent.replace('+', '')}`
}

const grid = gridThrough('cell', 3_600_000, 0)
const timeOf = ({ bucket }: Row): string => `"${new Date(startOf(grid, bucket)).toISOString()}"`
const valuesOf = (row: Row): Readonly<Record<string, string>> => ({
  t: timeOf(row),
  page: JSON.stringify(row.page),
  n: row.n === null ? 'null' : String(row.n),
  d: row.d === null ? 'null' : double(row.d),
})

function print(row: Row, columns: readonly string[], resultFormat: string): string {
  const values = valuesOf(row)
  return resultFormat.startsWith('object')
    ? `{${columns.map((name) => `"${name}":${values[name]}`).join(',')}}`
    : `[${columns.map((name) => values[name]).join(',')}]`
}

interface Case {
  readonly resultFormat: string
  readonly columns: readonly string[]
  /** ORDER BY, and in which order equal rows come. */
  readonly order: string
  readonly natural: string
  readonly limit: number
}

const timeFirst = { columns: ['t', 'page', 'n', 'd'], natural: 't, page' }
const pageFirst = { columns: ['page', 't', 'n', 'd'], natural: 'page, t' }
const cases: readonly Case[] = [timeFirst, pageFirst].flatMap((layout) =>
  ['', 'n DESC', 'n', 'd', 'd DESC, n', 'page', 'page DESC, n', 'n, t DESC', 'd DESC, page DESC'].flatMap(
    (order, i) => [
      { ...layout, order, limit: 5, resultFormat: ['object', 'array'][i % 2]! },
      { ...layout, order, limit: 100_000, resultFormat: ['arrayLines', 'objectLines'][i % 2]! },
    ],
  ),
)

const expressions: Readonly<Record<string, string>> = {
  t: 'FLOOR(__time TO HOUR) AS t',
  page: 'page',
  n: 'SUM(n) AS n',
  d: 'SUM(d) AS d',
}

const caseOf = ({ body }: WireRequest): Case =>
  cases[(JSON.parse(Buffer.from(body).toString()) as { context: { case: number } }).context.case]!

function sqlOf({ columns, order, limit }: Case, [from, to]: readonly [number, number]): string {
  const list = columns.map((name) => expressions[name]).join(', ')
  const ordering = order === '' ? '' : ` ORDER BY ${order}`
  return `SELECT ${list} FROM wiki WHERE __time >= MILLIS_TO_TIMESTAMP(${from}) AND __time < MILLIS_TO_TIMESTAMP(${to}) GROUP BY 1, 2${ordering} LIMIT ${limit}`
}

function request(random: Random): WireRequest {
  const number = wholeNumber(random, 0, cases.length - 1)
  const { resultFormat } = cases[number]!
  const from = Date.UTC(2026, 2, 1) + wholeNumber(random, 0, 100) * 600_000
  const bounds = [from, from + wholeNumber(random, 1, 60) * 600_000] as const
  const query = sqlOf(cases[number]!, bounds)
  return {
    ...{ method: 'POST', path: '/druid/v2/sql/', search: '' },
    headers: ['content-type', 'application/json'],
    body: Buffer.from(JSON.stringify({ query, resultFormat, context: { case: number } })),
  }
}

function printed({ columns, resultFormat }: Case, rows: readonly Row[]): Buffer {
  const texts = rows.map((row) => print(row, columns, resultFormat))
  if (!resultFormat.endsWith('Lines')) return Buffer.from(`[${texts.join(',')}]\n`)
  return Buffer.from(texts.length === 0 ? '\n\n' : `${texts.join('\n')}\n\n`)
}

const worldRows = (world: number, intervals: Intervals): Row[] =>
  intervals.flatMap(({ from, to }) =>
    Array.from({ length: to - from }, (_, i) => from + i).flatMap((bucket) =>
      rowsOf(seededRandom(mixSeeds(world, bucket)), bucket),
    ),
  )

const askedOf = ({ whole, edges }: Plan): Intervals =>
  [...whole, ...(edges?.buckets ?? [])].toSorted((a, b) => a.from - b.from)

const withoutTime = (order: string): string[] => order.split(', ').filter((key) => !/^(?:t\b|$)/.test(key))

testBackend({
  backend: druid({ maxBuckets: 11_000 }),
  now: Date.UTC(2027, 0),
  request,
  spans({ body }) {
    const instants = [
      ...Buffer.from(body)
        .toString()
        .matchAll(/_TIMESTAMP\((\d+)\)/g),
    ].map(([, ms]) => Number(ms))
    const spans = Array.from({ length: instants.length / 2 }, (_, i) => instants.slice(2 * i))
    return spans.map(([from, to]) => ({ from: from!, to: to! }))
  },
  answer(world, plan, intervals) {
    const asked = caseOf(plan.request)
    const inBuckets = sortedBy('t', ...withoutTime(asked.order), asked.natural)
    return printed(asked, worldRows(world, intervals).sort(inBuckets))
  },
  direct(world, plan) {
    const asked = caseOf(plan.request)
    const order = asked.order === '' ? sortedBy(asked.natural) : sortedBy(asked.order, asked.natural)
    return printed(asked, worldRows(world, askedOf(plan)).sort(order).slice(0, asked.limit))
  },
  rounds: 300,
  equivalent: [],
  different: [],
})

const format = { container: 'list', row: 'array', time: 0, headerRows: 0, end: '\n' } as const
const columns = ['t', 'page', 'n', 'd']
const key = (name: string, kind: RowKey['kind'], isDescending = false): RowKey => ({
  field: columns.indexOf(name),
  kind,
  isDescending,
})

/** The result of the sink for an answer about these buckets. */
function cut(order: RowOrder | undefined, body: Uint8Array, buckets: number, chunk = body.length) {
  const plan = { format, grid, isDescending: false, order, isUnlimited: true }
  const sink = new RowSink(plan, [{ from: 0, to: buckets }])
  for (const bytes of chunksOf(Buffer.from(body), () => chunk)) sink.write(bytes)
  return sink.end(5, { headers: [], trailers: [] })
}

test('buckets that are sorted each by itself are merged as if they were sorted together', () => {
  const row = fc.record({
    bucket: fc.nat(5),
    page: fc.option(fc.stringMatching(/^(?:[^"{[\ud800-\uffff][^\ud800-\uffff]{0,3})?$/)),
    n: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    d: fc.option(fc.double()),
  })
  const order = fc.uniqueArray(fc.constantFrom('page', 'page DESC', 'n', 'n DESC', 'd', 'd DESC', 't DESC'), {
    selector: (text) => text.split(' ')[0]!,
  })
  const distinct = fc.uniqueArray(row, { selector: ({ bucket, page }) => `${bucket} ${page}`, maxLength: 40 })
  fc.assert(
    fc.property(
      distinct,
      order,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 99 }),
      (...drawn) => {
        const [rows, keys, limit, chunk] = drawn
        const asked = [...keys, 'page', 't'].map((text) => text.split(' '))
        const end = asked.findIndex(([name]) => name === 't')
        const kinds: Readonly<Record<string, RowKey['kind']>> = {
          t: 'time',
          page: 'group',
          n: 'number',
          d: 'number',
        }
        const rowOrder: RowOrder = {
          isTopN: false,
          keys: asked.slice(0, end + 1).map(([name, to]) => key(name!, kinds[name!]!, to === 'DESC')),
        }
        const whole = sortedBy(...keys, 'page', 't')
        const write = (some: readonly Row[]): Buffer =>
          Buffer.from(`[${some.map((one) => print(one, columns, 'array')).join(',')}]\n`)
        const inBuckets = rows.toSorted((a, b) => a.bucket - b.bucket || whole(a, b))
        const result = cut(rowOrder, write(inBuckets), 6, chunk)
        assert.ok('panes' in result, JSON.stringify(result))
        const answer = recompose({ format, isDescending: false, limit, order: rowOrder }, result.panes)
        const target = Buffer.alloc(answer.length)
        answer.write(target)
        assert.equal(target.toString(), write(rows.toSorted(whole).slice(0, limit)).toString())
      },
    ),
    { seed: 17, numRuns: 500 },
  )
})

const numbers: RowOrder = { isTopN: false, keys: [key('n', 'number'), key('t', 'time')] }
const computed: RowOrder = { isTopN: false, keys: [key('n', 'computed'), key('t', 'time')] }
const groups: RowOrder = { isTopN: false, keys: [key('page', 'group'), key('t', 'time')] }
const topN: RowOrder = { isTopN: true, keys: [key('n', 'number'), key('t', 'time')] }

/** Values of `page` and `n`, and their mistakes. */
const refused: readonly (readonly [RowOrder, readonly (readonly [page: string, n: string])[], RegExp])[] = [
  [numbers, [['"A"', '"text"']], /text in a column of numbers/],
  [numbers, [['"A"', 'true']], /neither text nor a number/],
  [numbers, [['"A"', '[1]']], /neither text nor a number/],
  [
    numbers,
    [
      ['"A"', '2'],
      ['"B"', '1'],
    ],
    /another order/,
  ],
  [
    numbers,
    [
      ['"A"', '9007199254740993'],
      ['"B"', '9007199254740992'],
    ],
    /another order/,
  ],
  [
    numbers,
    [
      ['"A"', '"NaN"'],
      ['"B"', '1.0'],
    ],
    /another order/,
  ],
  [computed, [['"A"', '5']], /may have been rounded/],
  [computed, [['"A"', '9.1E15']], /may have been rounded/],
  [
    groups,
    [
      ['"B"', '1'],
      ['"A"', '1'],
    ],
    /another order/,
  ],
  [
    groups,
    [
      ['"A"', '1'],
      ['null', '1'],
    ],
    /another order/,
  ],
  [groups, [['"\uff01"', '1']], /depends on its encoding/],
  [groups, [['"{\\"a\\":1}"', '1']], /looks like JSON/],
  [groups, [['"\\"a\\""', '1']], /looks like JSON/],
  [groups, [['"[1]"', '1']], /looks like JSON/],
  [groups, [['"-Infinity"', '1']], /looks like a number/],
  [topN, [['"A"', 'null']], /no numbers/],
  [topN, [['"A"', '"NaN"']], /no numbers/],
]

test('an answer is not cut whose rows Druid may sort otherwise', () => {
  for (const [order, rows, problem] of refused) {
    const texts = rows.map(([page, n]) => `["1970-01-01T00:00:00.000Z",${page},${n},0.0]`)
    const result = cut(order, Buffer.from(`[${texts.join(',')}]\n`), 1)
    assert.ok('unusable' in result, JSON.stringify(rows))
    assert.match(result.unusable, problem)
  }
})

test('a bucket of more than 10 000 rows is not cut where the client requested fewer', () => {
  const body = (rows: number) =>
    Buffer.from(`[${Array(rows).fill('["1970-01-01T00:00:00.000Z","A",1,0.0]').join(',')}]\n`)
  assert.ok('panes' in cut(undefined, body(10_000), 1))
  const result = cut(undefined, body(10_001), 1)
  assert.ok('unusable' in result)
  assert.match(result.unusable, /more than 10000 rows/)
})

test('rows are merged when their bytes are needed, and once', () => {
  const plan: Pick<DruidPlan, 'format' | 'isDescending' | 'limit' | 'order'> = {
    ...{ format, isDescending: false, limit: 1, order: numbers },
  }
  const answer = recompose(plan, [])
  assert.equal(answer.parts, Number.POSITIVE_INFINITY)
  assert.equal(answer.length, 3)
  const target = Buffer.alloc(3)
  answer.write(target)
  assert.equal(target.toString(), '[]\n')
})
