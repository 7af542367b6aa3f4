/** Timeseries: aggregators and post-aggregators of every kind, order, limit, and empty buckets. */
import type { Form } from '../form.ts'
import { native, period, sums, timeseries } from '../native.ts'

const berlinDay = period('P1D', 'Europe/Berlin')
const newYorkHours = period('PT6H', 'America/New_York')

const aggregators: readonly (readonly [type: string, fieldName: string, more?: object])[] = [
  ['longSum', 'big'],
  ['longMin', 'added'],
  ['longMax', 'big'],
  ['doubleMin', 'rate'],
  ['doubleMax', 'rate'],
  ['floatMin', 'score'],
  ['floatMax', 'score'],
  ['doubleMean', 'delta'],
  ['hyperUnique', 'users'],
  ['hyperUnique', 'users', { round: true }],
  ['HLLSketchBuild', 'page', { lgK: 12 }],
  ['HLLSketchBuild', 'user', { round: true }],
  ['thetaSketch', 'user', { size: 4096 }],
  ['quantilesDoublesSketch', 'delta', { k: 4096 }],
]

/** Of rows of one time in several segments Druid takes one or the other, as the interval is: `tiny` has none. */
const firstAndLast: readonly (readonly [type: string, fieldName: string, more?: object])[] = [
  ['longFirst', 'added'],
  ['longLast', 'added'],
  ['doubleFirst', 'delta'],
  ['doubleLast', 'delta'],
  ['floatFirst', 'delta'],
  ['floatLast', 'delta'],
  ['stringFirst', 'page', { maxStringBytes: 64 }],
  ['stringLast', 'country'],
]

const filtered = {
  type: 'filtered',
  name: 'german',
  filter: { type: 'selector', dimension: 'country', value: 'DE' },
  aggregator: { type: 'longSum', name: 'german', fieldName: 'added' },
}
const cities = { type: 'cardinality', name: 'cities', fields: ['city', 'tags'], byRow: false, round: true }

const field = (fieldName: string) => ({ type: 'fieldAccess', fieldName })
const arithmetic = (name: string, fn: string, ...names: string[]) => ({
  ...{ type: 'arithmetic', name, fn },
  fields: names.map(field),
})
const postAggregations: readonly object[] = [
  arithmetic('each', '/', 'added', 'n'),
  arithmetic('both', '+', 'added', 'delta'),
  arithmetic('part', 'quotient', 'delta', 'n'),
  { type: 'constant', name: 'one', value: 1 },
  { type: 'expression', name: 'square', expression: 'n * n + added' },
  { type: 'expression', name: 'word', expression: "if(n > 10, 'many', 'few')" },
  { type: 'doubleGreatest', name: 'most', fields: [field('added'), field('delta')] },
  { type: 'longLeast', name: 'least', fields: [field('added'), field('n')] },
]

const aggregated = (granularity: unknown, [type, fieldName, more]: (typeof aggregators)[number]) =>
  timeseries(granularity, { aggregations: [{ type, name: 'x', fieldName, ...more }, ...sums('n')] })

const hours = (more: object) => timeseries('hour', more as Record<string, unknown>)

export const timeseriesForms: readonly Form[] = [
  ...aggregators.map((aggregator) => native(aggregated('hour', aggregator))),
  ...firstAndLast.flatMap((aggregator) => [
    native(aggregated('hour', aggregator), { dataSet: 'tiny' }),
    native(aggregated(period('P1D', 'America/New_York'), aggregator), { dataSet: 'tiny' }),
  ]),
  native(hours({ aggregations: [filtered, cities, ...sums('n')] }), { variesWithCaches: true }),
  native(hours({ aggregations: [{ type: 'longAny', name: 'some', fieldName: 'added' }] }), {
    dataSet: 'tiny',
  }),
  native(hours({ aggregations: sums('n', 'added', 'big', 'delta', 'users') })),
  native(hours({ aggregations: [] }), { dataSet: 'tiny' }),
  native(hours({ aggregations: sums('n', 'rate') }), { inexact: 'double' }),
  native(hours({ aggregations: sums('score', 'added') }), { inexact: 'float' }),
  native(timeseries(berlinDay, { aggregations: sums('rate', 'n') }), { inexact: 'double' }),
  ...postAggregations.map((post) => native(hours({ postAggregations: [post] }))),
  native(
    hours({
      postAggregations: [{ type: 'hyperUniqueCardinality', name: 'u', fieldName: 'users' }],
      aggregations: sums('users'),
    }),
  ),

  native(hours({}), { dataSet: 'tiny' }),
  native(timeseries('minute'), { dataSet: 'tiny' }),
  native(timeseries('day'), { dataSet: 'tiny' }),
  native(timeseries(period('PT1H', 'Asia/Kolkata')), { dataSet: 'tiny' }),
  ...[true, 'true', false].flatMap((skipEmptyBuckets) => [
    native(hours({ context: { skipEmptyBuckets } }), { dataSet: 'tiny' }),
    native(timeseries('five_minute', { context: { skipEmptyBuckets } })),
  ]),
  native(timeseries('ten_minute', { context: { skipEmptyBuckets: true }, descending: true })),
  native(hours({ descending: true })),
  native(hours({ descending: 'true' }), { dataSet: 'tiny' }),
  native(timeseries(berlinDay, { descending: true })),
  native(timeseries(newYorkHours, { descending: true, context: { skipEmptyBuckets: true } })),
  ...[1, 7, 1000, '12'].map((limit) => native(hours({ limit }))),
  native(hours({ limit: 0 })),
  native(hours({ limit: 5 }), { dataSet: 'tiny' }),
  native(hours({ limit: 9, descending: true })),
  native(timeseries('fifteen_minute', { limit: 20, context: { skipEmptyBuckets: true } })),
  native(timeseries(berlinDay, { limit: 3, descending: true, context: { skipEmptyBuckets: true } })),
  native(hours({ context: { serializeDateTimeAsLong: true } })),
  native(timeseries(berlinDay, { context: { serializeDateTimeAsLong: 'true' }, descending: true })),
  native(hours({ context: { timestampResultField: 'at' } })),
  native(hours({ context: { finalize: false }, aggregations: sums('users', 'n') })),
  native(hours({ context: { finalize: false, vectorize: false }, aggregations: sums('users', 'n') }), {
    variesWithCaches: true,
  }),
  native(
    hours({
      aggregations: sums('n'),
      filter: { type: 'selector', dimension: 'page', value: 'nowhere' },
      context: { skipEmptyBuckets: true },
    }),
    { empty: true },
  ),
  native(hours({ dataSource: 'nosuchsource' }), { empty: true }),
]
