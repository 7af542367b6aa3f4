/** Requests whose answers are kept as a whole: as clients send them, in other words, and how many of them there are. */

export interface WholeForm {
  readonly name: string
  readonly endpoint: string
  readonly path: '/druid/v2' | '/druid/v2/sql'
  readonly body: object
  /** The same question, written otherwise. */
  readonly same: readonly object[]
  /** Whether its interval is known and over: watched segments can vouch for it. */
  readonly isVouchable: boolean
}

/** The data source must have the columns of `tiny`. */
export function wholeForms(dataSource: string): readonly WholeForm[] {
  return [...nativeForms(dataSource), ...sqlForms(dataSource), ...clockForms(dataSource)]
}

const intervals = ['2026-01-01T00:00:00.000Z/2026-01-03T00:00:00.000Z']
const aggregations = [
  { type: 'longSum', name: 'n', fieldName: 'cnt' },
  { type: 'longSum', name: 'added', fieldName: 'added' },
  { type: 'doubleSum', name: 'delta', fieldName: 'delta' },
]

/** The members of any native query that may differ without changing its meaning. */
const rewritten = (body: { readonly context?: object }): readonly object[] => [
  Object.fromEntries(Object.entries(body).reverse()),
  { ...body, context: { queryId: 'another', populateCache: false, ...body.context } },
]

function native(name: string, endpoint: string, body: object): WholeForm {
  const isVouchable = 'granularity' in body
  const intervalsToo = isVouchable
    ? [
        { ...body, intervals: '2026-01-01/P2D' },
        { ...body, intervals: ['2026-01-02/2026-01-03', '2026-01-01/2026-01-02'] },
      ]
    : []
  return { name, endpoint, path: '/druid/v2', body, isVouchable, same: [...rewritten(body), ...intervalsToo] }
}

function nativeForms(dataSource: string): readonly WholeForm[] {
  const total = { queryType: 'timeseries', dataSource, granularity: 'all', intervals, aggregations }
  const table = { ...total, queryType: 'groupBy', dimensions: ['page', 'country'] }
  const top = { ...total, queryType: 'topN', dimension: 'page', metric: 'added', threshold: 2 }
  const byAdded = [{ dimension: 'added', direction: 'descending' }]
  return [
    native('a total', 'totals', total),
    native('a total that is printed as a number', 'totals', {
      ...total,
      context: { serializeDateTimeAsLong: true },
    }),
    native('hours with their total', 'totals', {
      ...total,
      granularity: 'hour',
      context: { grandTotal: true },
    }),
    native('a table', 'totals', table),
    native('a table as arrays', 'totals', { ...table, context: { resultAsArray: true } }),
    native('the first rows of a table', 'totals', {
      ...table,
      limitSpec: { type: 'default', limit: 2, columns: byAdded },
    }),
    native('the best hours', 'totals', {
      ...table,
      granularity: 'hour',
      limitSpec: { type: 'default', limit: 5, offset: 1, columns: byAdded },
    }),
    native('subtotals', 'totals', { ...table, subtotalsSpec: [['page'], ['country'], []] }),
    native('a pie', 'topN', top),
    native('a pie of some', 'topN', {
      ...top,
      filter: { type: 'selector', dimension: 'country', value: 'DE' },
    }),
    native('a boundary of time', 'timeBoundary', { queryType: 'timeBoundary', dataSource }),
    native('the latest time', 'timeBoundary', { queryType: 'timeBoundary', dataSource, bound: 'maxTime' }),
    native('when it was fed', 'segmentMetadata', { queryType: 'dataSourceMetadata', dataSource }),
    native('its columns', 'segmentMetadata', {
      queryType: 'segmentMetadata',
      dataSource,
      merge: true,
      analysisTypes: [],
    }),
  ]
}

const bounds = "__time >= TIMESTAMP '2026-01-01 00:00:00' AND __time < TIMESTAMP '2026-01-03 00:00:00'"

function sql(name: string, endpoint: string, query: string, more: object = {}): WholeForm {
  const body = { query, ...more }
  const same = [
    {
      query: `${query.replaceAll(/ (?=(?:[^']*'[^']*')*[^']*$)/g, '\n  ')} -- as a dashboard writes it\n`,
      ...more,
    },
    { ...more, context: { sqlQueryId: 'another', populateCache: false }, query },
  ]
  return { name, endpoint, path: '/druid/v2/sql', body, same, isVouchable: query.includes(bounds) }
}

function sqlForms(dataSource: string): readonly WholeForm[] {
  const from = `FROM "${dataSource}" WHERE ${bounds}`
  const byPage = `SELECT page, COUNT(*) AS n, SUM(added) AS added ${from} GROUP BY page ORDER BY added DESC`
  return [
    sql('values', 'distinct', `SELECT DISTINCT page ${from}`),
    sql(
      'values in order',
      'distinct',
      `SELECT DISTINCT page, country ${from} ORDER BY page, country LIMIT 5`,
    ),
    sql('groups without numbers', 'distinct', `SELECT country ${from} GROUP BY country ORDER BY 1`),
    sql('values of all times', 'distinct', `SELECT DISTINCT country FROM "${dataSource}"`),
    sql('one number', 'totals', `SELECT COUNT(*) AS n ${from}`),
    sql(
      'several numbers',
      'totals',
      `SELECT SUM(added) AS added, MAX(delta) AS delta ${from} AND page <> 'B'`,
    ),
    sql('a pie in SQL', 'totals', byPage),
    sql('the first rows in SQL', 'totals', `${byPage} LIMIT 2 OFFSET 1`),
    ...['array', 'objectLines', 'arrayLines', 'csv'].map((resultFormat) =>
      sql(`a table as ${resultFormat}`, 'totals', byPage, { resultFormat, header: true }),
    ),
    sql('nothing as csv', 'totals', `SELECT page, COUNT(*) ${from} AND page = 'Z' GROUP BY 1`, {
      resultFormat: 'csv',
    }),
    sql('nothing as lines', 'totals', `SELECT page, COUNT(*) ${from} AND page = 'Z' GROUP BY 1`, {
      resultFormat: 'objectLines',
    }),
    sql(
      'the best hours in SQL',
      'totals',
      `SELECT FLOOR(__time TO HOUR) AS t, SUM(added) AS a ${from} GROUP BY 1 ORDER BY 2 DESC LIMIT 5 OFFSET 1`,
    ),
  ]
}

/** No witness can vouch for them: their data sources are unknown, or depend on the clock. */
function clockForms(dataSource: string): readonly WholeForm[] {
  const inner = `SELECT page, SUM(added) AS a FROM "${dataSource}" GROUP BY page`
  return [
    sql(
      'a number of years',
      'totals',
      `SELECT COUNT(*) AS n FROM "${dataSource}" WHERE __time >= CURRENT_TIMESTAMP - INTERVAL '99' YEAR`,
    ),
    sql('groups of groups', 'totals', `SELECT COUNT(*) AS n, MAX(a) AS a FROM (${inner}) AS t`),
    sql('WITH', 'totals', `WITH t AS (${inner}) SELECT MIN(a) AS a FROM t`),
  ]
}
