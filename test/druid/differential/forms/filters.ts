/** Filters, virtual columns and data sources: which rows of a bucket count, and which columns are read. */
import type { Form } from '../form.ts'
import { groupBy, native, period, sums, timeseries, topN } from '../native.ts'

const selector = (dimension: string, value: unknown) => ({ type: 'selector', dimension, value })

const filters: readonly object[] = [
  selector('country', 'DE'),
  selector('city', 'Say "hi", city'),
  selector('city', null),
  selector('tags', 'geo'),
  { type: 'in', dimension: 'page', values: ['Page 1', 'Page 2', 'Page 7'] },
  { type: 'inType', column: 'country', matchValueType: 'STRING', sortedValues: ['DE', 'FR'] },
  { type: 'equals', column: 'robot', matchValueType: 'STRING', matchValue: 'true' },
  { type: 'null', column: 'user' },
  { type: 'not', field: { type: 'null', column: 'city' } },
  { type: 'range', column: 'added', matchValueType: 'LONG', lower: 100, upper: 500, upperOpen: true },
  { type: 'bound', dimension: 'user', lower: '10', upper: '200', ordering: 'numeric', lowerStrict: true },
  { type: 'bound', dimension: 'page', lower: 'Page 1', upper: 'Page 3' },
  { type: 'like', dimension: 'page', pattern: 'Page 1%' },
  { type: 'regex', dimension: 'city', pattern: '[^ -~]' },
  { type: 'search', dimension: 'page', query: { type: 'insensitive_contains', value: 'PAGE 2' } },
  { type: 'expression', expression: "added > 500 && country != 'US'" },
  { type: 'and', fields: [selector('robot', 'false'), selector('country', 'JP')] },
  { type: 'or', fields: [selector('robot', 'true'), { type: 'not', field: selector('country', 'JP') }] },
  { type: 'columnComparison', dimensions: ['country', 'robot'] },
  { type: 'true' },
  {
    type: 'interval',
    dimension: '__time',
    intervals: ['2026-03-07T12/2026-03-09T20:15', '2026-03-28T05:05/P2D'],
  },
  { type: 'bound', dimension: '__time', lower: String(Date.UTC(2026, 2, 7, 3, 20)), ordering: 'numeric' },
  {
    type: 'selector',
    dimension: '__time',
    value: '7',
    extractionFn: { type: 'timeFormat', format: 'H', timeZone: 'America/New_York' },
  },
]

const virtual = (expression: string, outputType: string) => ({
  ...{ type: 'expression', name: 'v', expression, outputType },
})

const virtualColumns: readonly object[] = [
  virtual("concat(country, '-', robot)", 'STRING'),
  virtual('added * 2 + 1', 'LONG'),
  virtual("timestamp_extract(__time, 'HOUR', 'Europe/Berlin')", 'LONG'),
  virtual("timestamp_floor(__time, 'PT15M')", 'LONG'),
  virtual("case_searched(added > 500, 'much', 'little')", 'STRING'),
  virtual("nvl(city, 'nowhere')", 'STRING'),
  { type: 'mv-filtered', name: 'v', delegate: 'tags', values: ['geo', 'stub'], isAllowList: true },
]

const filterOf = (dataSource: unknown, filter: object) => ({ type: 'filter', base: dataSource, filter })
const table = (name: string) => ({ type: 'table', name })

export const filterForms: readonly Form[] = [
  ...filters.map((filter) => native(timeseries('hour', { filter }))),
  ...filters.slice(0, 8).map((filter) => native(groupBy('thirty_minute', ['robot'], { filter }))),
  ...filters.slice(8, 14).map((filter) => native(topN(period('P1D', 'Europe/Berlin'), 'page', { filter }))),
  ...virtualColumns.map((column) => native(groupBy('hour', ['v'], { virtualColumns: [column] }))),
  native(
    timeseries('hour', {
      virtualColumns: [virtual('added % 7', 'LONG')],
      aggregations: [{ type: 'longSum', name: 'x', fieldName: 'v' }, ...sums('n')],
    }),
  ),
  native(
    timeseries('hour', {
      aggregations: [{ type: 'longSum', name: 'x', expression: 'added * 3' }, ...sums('n')],
    }),
  ),
  native(topN('six_hour', 'v', { virtualColumns: [virtualColumns[4]] })),

  native(timeseries('hour', { dataSource: table('wiki') })),
  native(timeseries('hour', { dataSource: { type: 'union', dataSources: ['wiki', 'tiny'] } })),
  native(groupBy('hour', ['page'], { dataSource: { type: 'union', dataSources: [table('tiny'), 'wiki'] } })),
  native(topN('day', 'country', { dataSource: { type: 'union', dataSources: ['tiny', 'wiki'] } }), {
    dataSet: 'tiny',
  }),
  native(timeseries('hour', { dataSource: filterOf('wiki', selector('country', 'FR')) })),
  native(groupBy('hour', ['robot'], { dataSource: filterOf(table('wiki'), selector('country', 'FR')) })),
]
