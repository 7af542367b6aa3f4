/** Contexts that are part of the shape, queries that must be forwarded unchanged, and queries that must fail. */
import type { BypassReason } from '../../../../src/backends/kinds.ts'
import type { Form } from '../form.ts'
import { groupBy, native, period, sums, timeseries, topN } from '../native.ts'

const hours = timeseries('hour')
const within = (context: object) => ({ ...hours, context })

const contexts: readonly object[] = [
  { dashboard: 'front page' },
  { team: { name: 'a', members: [1, 2.0, null, true] } },
  { useFilterCNF: true, secondaryPartitionPruning: false },
  { realtimeSegmentsOnly: false },
  { lane: 'low', priority: -5 },
  { skipEmptyBuckets: null },
  {},
]

const inner = { ...groupBy('hour', ['page']), dataSource: 'wiki', intervals: ['2026-03-06/2026-04-02'] }
const lookup = { type: 'inline', columnNames: ['country'], rows: [['DE']] }

const bypassed: readonly (readonly [BypassReason, Readonly<Record<string, unknown>>])[] = [
  ['no_time_grouping', { ...timeseries('all') }],
  ['no_time_grouping', topN({ type: 'all' }, 'page')],
  ['no_time_grouping', groupBy('ALL', ['page'])],
  ['not_decomposable', within({ grandTotal: true })],
  ['not_decomposable', within({ bySegment: true })],
  ['not_decomposable', { ...groupBy('hour', ['page']), context: { sortByDimsFirst: true } }],
  [
    'not_decomposable',
    { ...groupBy('hour', ['page']), context: { mergeRunnersUsingChainedExecution: true } },
  ],
  ['not_decomposable', { ...groupBy('day', ['page', 'robot']), subtotalsSpec: [['page'], []] }],
  ['not_decomposable', { ...hours, dataSource: { type: 'query', query: inner } }],
  [
    'not_decomposable',
    {
      ...timeseries('hour', { aggregations: sums('n') }),
      dataSource: {
        ...{ type: 'join', left: 'wiki', right: lookup, rightPrefix: 'r.', joinType: 'INNER' },
        condition: 'country == "r.country"',
      },
    },
  ],
  [
    'not_decomposable',
    {
      ...timeseries('hour', { aggregations: sums('n') }),
      dataSource: {
        ...{ type: 'unnest', base: 'wiki' },
        virtualColumn: { type: 'expression', name: 'tag', expression: '"tags"', outputType: 'STRING' },
      },
    },
  ],
  ['limit', { ...groupBy('hour', ['page']), limitSpec: { type: 'default', offset: 3, columns: ['page'] } }],
  [
    'limit',
    {
      ...groupBy('hour', ['page'], { context: { forceLimitPushDown: true } }),
      limitSpec: { type: 'default', limit: 5, columns: ['page'] },
    },
  ],
  ['partial_results', within({ returnPartialResults: true })],
  ['partial_results', within({ uncoveredIntervalsLimit: 5 })],
  ['other_query_type', { queryType: 'scan', columns: ['__time', 'page'], limit: 20 }],
  [
    'other_query_type',
    { queryType: 'search', granularity: 'hour', query: { type: 'contains', value: 'e 1' }, limit: 20 },
  ],
  ['other_query_type', { queryType: 'timeBoundary' }],
]

const failing: readonly Readonly<Record<string, unknown>>[] = [
  { queryType: 'nosuchtype' },
  { ...hours, granularity: 'fortnight' },
  { ...hours, granularity: period('P1D', 'Europe/Berlin', 'yesterday') },
  { ...hours, aggregations: [{ type: 'nosuchsum', name: 'x' }] },
  { ...hours, filter: { type: 'nosuchfilter' } },
  { ...topN('hour', 'page'), threshold: 0 },
  { ...groupBy('hour', ['page']), context: { timestampResultField: 't' } },
]

export const otherForms: readonly Form[] = [
  ...contexts.map((context) => native(within(context))),
  native({ ...groupBy('hour', ['country']), context: { applyLimitPushDown: false, dashboard: 'second' } }),
  native({ ...topN('hour', 'country'), context: { unknownKey: [1, 'two'] } }),
  ...bypassed.map(([bypass, query]) => native(query, { bypass, buckets: 'hour' })),
  ...failing.map((query) => native(query, { error: true, buckets: 'hour' })),
  native(hours, { error: true, intervals: '2026-03-08/2026-03-06' }),
  native(hours, { error: true, intervals: ['2026-03-08T25/P1D'] }),
  native(hours, { eitherWay: true, intervals: [] }),
  native(hours, { eitherWay: true, intervals: '2026-03-08/2026-03-08' }),
]
