/** GroupBy: dimensions of every kind, having, the order of rows, rows as arrays. */
import type { Form } from '../form.ts'
import { groupBy, native, period, sums } from '../native.ts'

const newYorkDay = period('P1D', 'America/New_York')
const berlinHours = period('PT3H', 'Europe/Berlin')

const extraction = (dimension: string, extractionFn: object) => ({
  ...{ type: 'extraction', dimension, outputName: 'cut', extractionFn },
})

const dimensions: readonly (readonly unknown[])[] = [
  ['page'],
  ['city'],
  ['tags'],
  ['user'],
  ['country', 'robot', 'tags'],
  [],
  [{ type: 'default', dimension: 'page', outputName: 'title' }],
  [{ type: 'default', dimension: 'user', outputName: 'who', outputType: 'LONG' }],
  [{ type: 'default', dimension: 'user', outputType: 'STRING' }],
  [
    extraction('page', {
      type: 'regex',
      expr: '(\\d)$',
      replaceMissingValue: true,
      replaceMissingValueWith: 'none',
    }),
  ],
  [extraction('page', { type: 'substring', index: 5, length: 1 })],
  [extraction('city', { type: 'strlen' }), 'robot'],
  [extraction('country', { type: 'lower' })],
  [extraction('__time', { type: 'timeFormat', format: 'EEEE', timeZone: 'Europe/Berlin', locale: 'en' })],
  [{ type: 'listFiltered', delegate: 'tags', values: ['geo', 'bio'], isWhitelist: true }],
  [{ type: 'regexFiltered', delegate: 'tags', pattern: '^s' }],
  [{ type: 'prefixFiltered', delegate: 'tags', prefix: 'b' }, 'country'],
]

const having: readonly object[] = [
  { type: 'greaterThan', aggregation: 'added', value: 2000 },
  { type: 'lessThan', aggregation: 'delta', value: 0 },
  { type: 'equalTo', aggregation: 'n', value: 3 },
  { type: 'dimSelector', dimension: 'country', value: 'JP' },
  { type: 'not', havingSpec: { type: 'greaterThan', aggregation: 'n', value: 5 } },
  {
    type: 'and',
    havingSpecs: [
      { type: 'greaterThan', aggregation: 'n', value: 2 },
      {
        type: 'filter',
        filter: { type: 'not', field: { type: 'selector', dimension: 'country', value: null } },
      },
    ],
  },
  { type: 'greaterThan', aggregation: 'added', value: 1e9 },
]

const columns: readonly (readonly unknown[])[] = [
  ['added'],
  [{ dimension: 'added', direction: 'descending', dimensionOrder: 'numeric' }],
  [{ dimension: 'country', direction: 'DESCENDING' }],
  [{ dimension: 'page', dimensionOrder: 'alphanumeric' }],
  [
    { dimension: 'page', dimensionOrder: 'strlen' },
    { dimension: 'delta', dimensionOrder: 'numeric', direction: 'ascending' },
  ],
  [{ dimension: 'n', direction: 'descending', dimensionOrder: 'numeric' }, 'country', 'page'],
]

/** Some cut in every window, some in long ones, some in none; with many rows that are equal in their order columns. */
const limits: readonly object[] = [
  { type: 'default', limit: 10 },
  { type: 'default', limit: '1000' },
  { type: 'default', limit: 300, columns: columns[1] },
  { type: 'default', limit: 700, columns: columns[2] },
  { type: 'default', limit: 5, columns: columns[0] },
  { type: 'default', limit: 40, columns: [{ dimension: 'n', dimensionOrder: 'numeric' }] },
  { type: 'default', limit: 500, columns: [{ dimension: 'n', direction: 'descending' }] },
  { type: 'default', limit: 100_000, columns: columns[5] },
]

const hours = (names: readonly unknown[], more: object = {}) =>
  groupBy('hour', names, more as Record<string, unknown>)

export const groupByForms: readonly Form[] = [
  ...dimensions.map((names) => native(hours(names))),
  ...dimensions.slice(0, 6).map((names) => native(groupBy(newYorkDay, names))),
  ...having.slice(0, -1).map((spec) => native(hours(['country'], { having: spec }))),
  native(hours(['country'], { having: having.at(-1) }), { empty: true }),
  native(groupBy(berlinHours, ['country'], { having: having[0] })),
  ...columns.map((list) =>
    native(hours(['country', 'page'], { limitSpec: { type: 'default', columns: list } })),
  ),
  native(groupBy(newYorkDay, ['page'], { limitSpec: { type: 'default', columns: columns[1] } })),
  native(hours(['page'], { limitSpec: { type: 'default', columns: columns[1] }, having: having[0] })),
  ...limits.map((limitSpec) => native(hours(['country', 'page'], { limitSpec }))),
  native(groupBy(newYorkDay, ['page'], { limitSpec: { type: 'default', limit: 25, columns: columns[1] } })),
  native(hours(['page'], { limitSpec: limits[2], having: having[0], context: { resultAsArray: true } })),
  native(hours(['page'], { limitSpec: { type: 'NoopLimitSpec' } }), { eitherWay: true }),
  native(hours(['page', 'robot'], { context: { resultAsArray: true } })),
  native(hours(['city'], { context: { resultAsArray: 'true' } })),
  native(groupBy(berlinHours, ['tags'], { context: { resultAsArray: true } })),
  native(hours(['country'], { context: { serializeDateTimeAsLong: true } })),
  native(hours(['country'], { context: { groupByStrategy: 'v2' } })),
  native(hours(['country'], { context: { finalize: false }, aggregations: sums('users', 'n') })),
  native(hours(['country'], { context: { groupByIsSingleThreaded: true } })),
  native(hours(['robot'], { aggregations: sums('big', 'users', 'added') })),
  native(groupBy('six_hour', ['country'], { aggregations: sums('rate', 'n') }), { inexact: 'double' }),
  native(groupBy(newYorkDay, ['robot'], { aggregations: sums('score') }), { inexact: 'float' }),
  native(groupBy('five_minute', ['page'])),
  native(groupBy('ten_minute', ['country', 'city'], { context: { resultAsArray: true } })),
  native(hours(['page', 'country']), { dataSet: 'tiny' }),
  native(groupBy('minute', ['page']), { dataSet: 'tiny' }),
  native(groupBy(period('P1D', 'Asia/Tokyo'), ['country']), { dataSet: 'tiny' }),
  native(
    hours(['country'], {
      postAggregations: [{ type: 'expression', name: 'each', expression: 'added / n' }],
      limitSpec: {
        type: 'default',
        columns: [{ dimension: 'each', direction: 'descending', dimensionOrder: 'numeric' }],
      },
    }),
  ),
]
