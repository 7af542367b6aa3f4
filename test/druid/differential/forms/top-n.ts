/** TopN: its metric, its dimension, and its threshold. */
import type { Form } from '../form.ts'
import { native, period, sums, topN } from '../native.ts'

const zones = ['America/New_York', 'Europe/Berlin', 'Asia/Kolkata']

const metrics: readonly unknown[] = [
  'n',
  { type: 'numeric', metric: 'delta' },
  { type: 'inverted', metric: 'added' },
  { type: 'inverted', metric: { type: 'numeric', metric: 'n' } },
  { type: 'dimension', ordering: 'lexicographic' },
  { type: 'dimension', ordering: 'numeric', previousStop: '1' },
  { type: 'alphaNumeric', previousStop: 'Page 3' },
  { type: 'lexicographic', previousStop: 'Page 2' },
  { type: 'inverted', metric: { type: 'dimension', ordering: 'alphanumeric' } },
]

const dimensions: readonly unknown[] = [
  'city',
  'tags',
  'user',
  { type: 'default', dimension: 'page', outputName: 'title' },
  { type: 'default', dimension: 'user', outputName: 'user', outputType: 'LONG' },
  { type: 'extraction', dimension: 'page', outputName: 'cut', extractionFn: { type: 'substring', index: 5 } },
  { type: 'listFiltered', delegate: 'tags', values: ['geo'] },
]

const hours = (dimension: unknown, more: object = {}) =>
  topN('hour', dimension, more as Record<string, unknown>)

export const topNForms: readonly Form[] = [
  ...metrics.map((metric) => native(hours('page', { metric }))),
  ...dimensions.map((dimension) => native(hours(dimension))),
  ...[1, 3, 100].map((threshold) => native(hours('page', { threshold }))),
  ...zones.map((zone) => native(topN(period('P1D', zone), 'city', { threshold: 3 }))),
  ...zones.map((zone) => native(topN(period('PT2H', zone), 'country', { threshold: 3 }))),
  native(hours('page'), { dataSet: 'tiny' }),
  native(hours('country', { context: { skipEmptyBuckets: true } }), { dataSet: 'tiny' }),
  native(topN('minute', 'page'), { dataSet: 'tiny' }),
  native(topN('five_minute', 'country')),
  native(hours('page', { context: { serializeDateTimeAsLong: true } })),
  native(hours('page', { context: { minTopNThreshold: 100 } })),
  native(hours('page', { aggregations: sums('users', 'added') })),
  native(
    hours('page', {
      metric: 'each',
      postAggregations: [{ type: 'expression', name: 'each', expression: 'added / n' }],
    }),
  ),
  native(hours('page', { aggregations: sums('added', 'rate') }), { inexact: 'double' }),
  native(hours('page', { filter: { type: 'selector', dimension: 'country', value: 'JP' } })),
]
