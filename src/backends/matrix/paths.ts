/** Where Prometheus answers range queries. */

export const rangeQueryPath = '/api/v1/query_range'
