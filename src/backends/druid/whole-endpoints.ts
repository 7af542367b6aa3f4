/** The requests to Druid that are cached as a whole, and their default TTLs. */
import type { EndpointTerms } from '../whole-answers.ts'

/** Numbers go with the data, which arrives all the time. */
const figures = {
  revalidateSeconds: 10,
  staleWhileRevalidateSeconds: 0,
  staleIfErrorSeconds: 'maxStale',
} as const

/** Values and columns rarely change: a minute late is not noticed, and an outage of hours must not blank a variable. */
const names = { revalidateSeconds: 60, staleWhileRevalidateSeconds: 600, staleIfErrorSeconds: 43_200 }

export const endpoints = {
  totals: {
    meaning:
      'Druid: totals and tables (timeseries and groupBy with granularity `all`, and other queries of these types and of SQL that cannot be cut into time buckets)',
    ...figures,
  },
  topN: { meaning: 'Druid: topN with granularity `all`', ...figures },
  distinct: {
    meaning: 'Druid: SQL that lists values (`SELECT DISTINCT`, and `GROUP BY` without numbers)',
    ...names,
  },
  timeBoundary: { meaning: 'Druid: the earliest and the latest time of a data source', ...figures },
  segmentMetadata: {
    meaning: 'Druid: columns and their types (`segmentMetadata`, `dataSourceMetadata`)',
    ...names,
  },
} as const satisfies Readonly<Record<string, EndpointTerms>>

export type WholeEndpoint = keyof typeof endpoints
