/**
 * SQL: aggregates, filters, orders and contexts; queries that must be forwarded unchanged, and queries that must fail.
 */
import type { BypassReason } from '../../../../src/backends/kinds.ts'
import type { Form } from '../form.ts'
import { sqlOne } from '../sql.ts'

const hour = 'FLOOR(__time TO HOUR)'
const from = 'FROM wiki WHERE {time}'

const aggregates = [
  'MIN(added), MAX(big)',
  'AVG(added)',
  'APPROX_COUNT_DISTINCT("user")',
  'APPROX_COUNT_DISTINCT_DS_HLL(page)',
  "SUM(added) FILTER (WHERE country = 'DE'), COUNT(*) FILTER (WHERE robot IS NULL)",
  'SUM(CASE WHEN added > 500 THEN 1 ELSE 0 END)',
  'SUM(added) / COUNT(*), SUM(added) * 1.5',
  'MAX(CHAR_LENGTH(city))',
  'SUM(big) AS "the big one", COUNT(*) AS "n"',
  "CASE WHEN COUNT(*) > 50 THEN 'many' ELSE 'few' END AS what",
]

const filters = [
  "country IN ('DE', 'FR', 'JP')",
  "page LIKE 'Page 2%' OR robot = 'true'",
  'NOT (country IS NULL) AND added BETWEEN 10 AND 400',
  'city = \'Say "hi", city\'',
  "city = 'L''Aquila'",
  "MV_CONTAINS(tags, 'geo')",
  'EXTRACT(HOUR FROM __time) < 12',
  '"user" > 100',
]

const dimensions = [
  'page',
  'tags',
  'city, robot',
  '"user"',
  "CASE WHEN robot = 'true' THEN 1 ELSE 2 END",
  'UPPER(country)',
]

const orders = [
  '1',
  't',
  '1 ASC, 2 DESC',
  '1, 3 DESC, 2',
  't, n DESC, page',
  '1 DESC',
  '1 DESC, 2',
  `${hour}, 2`,
  `${hour} DESC, 3, 2`,
]

const bypassed: readonly (readonly [BypassReason, string])[] = [
  ['no_time_grouping', `SELECT COUNT(*) AS n ${from}`],
  ['no_time_grouping', `SELECT page, COUNT(*) AS n ${from} GROUP BY 1 ORDER BY 2 DESC, 1`],
  ['no_time_grouping', `SELECT COUNT(*) AS n ${from} GROUP BY ${hour} ORDER BY ${hour}`],
  ['limit', `SELECT ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1 ORDER BY 1 OFFSET 2`],
  ['too_many_buckets', `SELECT ${hour} AS t, COUNT(*) AS n FROM wiki GROUP BY 1`],
]

const sentOn = [
  `SELECT t, n FROM (SELECT ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1) WHERE n > 60 ORDER BY 1`,
  `WITH h AS (SELECT ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1) SELECT * FROM h ORDER BY t`,
  `SELECT ${hour} AS t, page, COUNT(*) AS n ${from} GROUP BY GROUPING SETS ((1, 2), (1)) ORDER BY 1, 2, 3`,
  `SELECT ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1 UNION ALL SELECT ${hour} AS t, COUNT(*) AS n FROM tiny GROUP BY 1`,
  `SELECT DISTINCT ${hour} AS t ${from} ORDER BY 1`,
]

const failing = [
  `SELECT ${hour} AS t, COUNT(*) AS n FROM nosuchtable WHERE {time} GROUP BY 1`,
  `SELECT ${hour} AS t, SUM(nosuchcolumn) AS n ${from} GROUP BY 1`,
  `SELECT ${hour} AS t, COUNT(*) AS n ${from} GROUP BY`,
  `SELECT ${hour} AS t, COUNT(*) AS n ${from} AND __time > 'tomorrow' GROUP BY 1`,
]

const byPage = `SELECT ${hour} AS t, page, COUNT(*) AS n ${from} GROUP BY 1, 2`

export const sqlQuestionForms: readonly Form[] = [
  ...aggregates.map((text) => sqlOne(`SELECT ${hour} AS t, ${text} ${from} GROUP BY 1`)),
  ...filters.map((text) => sqlOne(`SELECT ${hour} AS t, COUNT(*) AS n ${from} AND (${text}) GROUP BY 1`)),
  ...dimensions.map((text) =>
    sqlOne(
      `SELECT ${hour} AS t, ${text}, COUNT(*) AS n ${from} GROUP BY 1, ${text} ORDER BY 1, 2${text === 'city, robot' ? ', 3' : ''}`,
    ),
  ),
  ...orders.map((text) => sqlOne(`${byPage} ORDER BY ${text}`)),
  sqlOne(`SELECT ${hour} AS t, COUNT(DISTINCT page) ${from} GROUP BY 1 ORDER BY 1`),
  sqlOne(`SELECT ${hour} AS t, COUNT(DISTINCT page) ${from} GROUP BY 1`),
  sqlOne(`${byPage} HAVING COUNT(*) > 5 ORDER BY 1, 2`),
  sqlOne(`${byPage} HAVING SUM(added) BETWEEN 1000 AND 3000 ORDER BY 1 DESC, 2 DESC`),
  sqlOne(`SELECT page, ${hour} AS t, SUM(added) AS added ${from} GROUP BY 1, 2 ORDER BY 2, 1`),
  sqlOne(`SELECT ${hour} AS t, LATEST(page), EARLIEST(country) FROM tiny WHERE {time} GROUP BY 1`, {
    dataSet: 'tiny',
  }),
  sqlOne(`SELECT ${hour} AS t, COUNT(*) AS n FROM tiny WHERE {time} GROUP BY 1`, { dataSet: 'tiny' }),
  sqlOne(
    `SELECT ${hour} AS t, page, SUM(added) AS n FROM tiny WHERE {time} GROUP BY 1, 2 ORDER BY 1 DESC, 2`,
    { dataSet: 'tiny' },
  ),
  sqlOne(`SELECT ${hour} AS t, SUM(rate) AS rate ${from} GROUP BY 1`, { inexact: 'double' }),
  sqlOne(`SELECT ${hour} AS t, page, SUM(score) AS score ${from} GROUP BY 1, 2 ORDER BY 1, 2`, {
    inexact: 'float',
  }),
  sqlOne(`${byPage} ORDER BY 1, 2`, { context: { useApproximateCountDistinct: false, dashboard: 'two' } }),
  sqlOne(`SELECT ${hour} AS t, COUNT(DISTINCT robot) AS n ${from} GROUP BY 1`, {
    context: { useApproximateCountDistinct: false },
    eitherWay: true,
  }),
  ...bypassed.map(([bypass, text]) => sqlOne(text, { bypass })),
  sqlOne(`SELECT ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1`, {
    bypass: 'limit',
    context: { sqlOuterLimit: 4 },
  }),
  ...sentOn.map((text) => sqlOne(text, { eitherWay: true })),
  // A plan names its query: this one has a name of the client's.
  sqlOne(`EXPLAIN PLAN FOR SELECT ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1`, {
    bypass: 'other_query_type',
    context: { sqlQueryId: 'a plan' },
  }),
  ...failing.map((text) => sqlOne(text, { error: true })),
]
