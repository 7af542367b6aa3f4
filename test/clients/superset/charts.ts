/**
 * Charts of Superset as its frontend requests them: the query contexts of the usual chart kinds over one dataset. Each
 * is sent to `/api/v1/chart/data`; Superset makes SQL of it.
 */

export interface Chart {
  readonly name: string
  readonly queries: readonly object[]
}

/** As Superset writes a range of its time picker. */
export interface TimeRange {
  readonly from: string
  readonly to: string
}

type Metric = string | object
type Query = Readonly<Record<string, unknown>>

const sum = (column: string): object => ({
  expressionType: 'SIMPLE',
  column: { column_name: column },
  aggregate: 'SUM',
  label: `SUM(${column})`,
})
const sqlMetric = (sqlExpression: string, label: string): object => ({
  expressionType: 'SQL',
  sqlExpression,
  label,
})
const added = sum('added')
const rows: Metric = 'count'

/** The time column as an axis, as in charts since the generic x-axis. */
const axis = (timeGrain: string): object => ({
  columnType: 'BASE_AXIS',
  expressionType: 'SQL',
  label: '__time',
  sqlExpression: '__time',
  timeGrain,
})

const isEqual = (column: string, value: string): object => ({ col: column, op: '==', val: value })

export function charts({ from, to }: TimeRange): readonly Chart[] {
  const time_range = `${from} : ${to}`
  const inRange = { col: '__time', op: 'TEMPORAL_RANGE', val: time_range }
  const query = (more: Query, filters: readonly object[] = []): Query => ({
    filters: [inRange, ...filters],
    extras: { having: '', where: '' },
    annotation_layers: [],
    row_limit: 10_000,
    series_limit: 0,
    order_desc: true,
    ...more,
  })
  /** By default a chart is ordered by its first metric, largest first, and has 10 000 rows. */
  const byTime = (timeGrain: string, more: Query = {}, filters: readonly object[] = []): Query => {
    const columns = [axis(timeGrain), ...((more['series_columns'] as readonly string[] | undefined) ?? [])]
    return query({ columns, metrics: [added], orderby: [[added, false]], ...more }, filters)
  }
  const chart = (name: string, ...queries: readonly Query[]): Chart => ({ name, queries })
  return [
    chart('line', byTime('PT1H')),
    chart('line, several metrics', byTime('PT1H', { metrics: [added, sum('delta'), rows] })),
    chart('line by country', byTime('PT1H', { series_columns: ['country'] })),
    chart('line by country and robot', byTime('PT6H', { series_columns: ['country', 'robot'] })),
    chart(
      'line by page, five series',
      byTime('PT1H', { series_columns: ['page'], series_limit: 5, series_limit_metric: added }),
    ),
    chart(
      'line by page, smallest three series',
      byTime('PT1H', {
        ...{ series_columns: ['page'], series_limit: 3, series_limit_metric: rows },
        ...{ order_desc: false, orderby: [[rows, true]], metrics: [rows] },
      }),
    ),
    chart(
      'area by robot, filtered',
      byTime('PT1H', { series_columns: ['robot'] }, [isEqual('country', 'DE')]),
    ),
    chart('area, 500 rows', byTime('PT1H', { series_columns: ['country'], row_limit: 500 })),
    chart('bar by day', byTime('P1D')),
    chart('bar by day and country', byTime('P1D', { series_columns: ['country'] })),
    chart('bar by month', byTime('P1M')),
    chart('bar by week from Sunday', byTime('1969-12-28T00:00:00Z/P1W')),
    chart('bar, sorted ascending', byTime('PT6H', { order_desc: false, orderby: [[added, true]] })),
    chart('scatter, sql metric', byTime('PT5M', { metrics: [quotient], orderby: [[quotient, false]] })),
    chart('step, distinct', byTime('PT1H', { metrics: [distinct], orderby: [[distinct, false]] })),
    chart('big number with trend line', query({ columns: [axis('P1D')], metrics: [added] })),
    chart('mixed', byTime('PT1H'), byTime('PT1H', { metrics: [rows], orderby: [[rows, false]] })),
    chart('time shift', byTime('PT1H', { time_offsets: ['1 day ago'] })),
    chart(
      'time shift by country',
      byTime('P1D', { series_columns: ['country'], time_offsets: ['2 days ago'] }),
    ),
    chart(
      'heat map over time',
      query({
        ...{ columns: [axis('PT6H'), 'country'], metrics: [added] },
        orderby: [
          [axis('PT6H'), true],
          ['country', true],
        ],
      }),
    ),
    chart(
      'pivot table',
      query({ columns: [axis('P1D'), 'country'], metrics: [added, rows], orderby: [[added, false]] }),
    ),
    chart(
      'table by day',
      query({
        ...{ columns: [axis('P1D'), 'country'], metrics: [added, rows] },
        ...{ orderby: [[added, false]], row_limit: 1000 },
      }),
    ),
    chart('table by day, without order', query({ columns: [axis('P1D'), 'robot'], metrics: [rows] })),
    chart('waterfall', query({ columns: [axis('P1D')], metrics: [added], orderby: [[axis('P1D'), true]] })),
    chart(
      'box plot',
      query({ columns: [axis('P1D'), 'country'], metrics: [added], series_columns: ['country'] }),
    ),
    chart(
      'line of an older dashboard',
      query({
        ...{ granularity: '__time', time_range, is_timeseries: true, filters: [] },
        ...{ extras: { time_grain_sqla: 'PT1H' }, columns: ['country'], metrics: [added] },
      }),
    ),
    chart('line with having', byTime('PT1H', { extras: { having: 'SUM(added) > 100', where: '' } })),
    chart('big number', query({ columns: [], metrics: [added] })),
    chart(
      'pie',
      query({ columns: ['country'], metrics: [added], orderby: [[added, false]], row_limit: 100 }),
    ),
    chart(
      'table of rows',
      query({ columns: ['__time', 'page', 'country'], metrics: undefined, row_limit: 100 }),
    ),
    chart(
      'filter values',
      query({ columns: ['country'], metrics: [], row_limit: 1000, orderby: [['country', true]] }),
    ),
  ]
}

const quotient = sqlMetric('SUM(added) * 1.0 / COUNT(*)', 'each')
const distinct = sqlMetric('COUNT(DISTINCT page)', 'pages')
