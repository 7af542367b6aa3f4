/** Where Prometheus, and whatever speaks its API, answers range queries. */

export const rangeQueryPath = '/api/v1/query_range'

export const isRangeQuery = (method: string, path: string): boolean =>
  path === rangeQueryPath && (method === 'GET' || method === 'POST')
