/** SQL with LIMIT, with an order that is not that of time, or with none; and as Superset writes it. */
import type { BypassReason } from '../../../../src/backends/kinds.ts'
import type { InstantStyle } from '../bounds.ts'
import type { Form } from '../form.ts'
import { type SqlMarks, sqlOne } from '../sql.ts'

const hour = 'FLOOR(__time TO HOUR)'
const from = 'FROM wiki WHERE {time}'
const byHour = `SELECT ${hour} AS t, COUNT(*) AS n, SUM(added) AS a, SUM(big) AS b ${from} GROUP BY 1`
const byPage = `SELECT ${hour} AS t, page, COUNT(*) AS n, SUM(added) AS a, SUM(big) AS b ${from} GROUP BY 1, 2`
const pageFirst = `SELECT page, ${hour} AS t, COUNT(*) AS n, SUM(added) AS a ${from} GROUP BY 1, 2`

/** One row for each hour: a timeseries, a topN, or a groupBy. */
const ofHours = [
  'LIMIT 1',
  'LIMIT 7',
  'LIMIT 50000',
  'ORDER BY 1 LIMIT 5',
  'ORDER BY t DESC LIMIT 9',
  'ORDER BY 1 LIMIT 50000',
  'ORDER BY n DESC LIMIT 10',
  'ORDER BY n LIMIT 10',
  'ORDER BY b DESC LIMIT 4',
  'ORDER BY a DESC LIMIT 50000',
  'ORDER BY n DESC',
  'ORDER BY n, t DESC',
  'ORDER BY SUM(added) DESC, 1 LIMIT 3',
]

const ofPages = [
  '',
  'LIMIT 11',
  'LIMIT 100000',
  'ORDER BY 1 LIMIT 30',
  'ORDER BY 1 DESC, n DESC, page LIMIT 30',
  'ORDER BY n DESC LIMIT 25',
  'ORDER BY n LIMIT 25',
  'ORDER BY n DESC',
  'ORDER BY a DESC, page LIMIT 100',
  'ORDER BY b DESC LIMIT 100',
  'ORDER BY page, t',
  'ORDER BY page DESC LIMIT 40',
  'ORDER BY 3 DESC, 1 DESC, 2 LIMIT 40',
  'ORDER BY COUNT(*) DESC, t LIMIT 1000',
  'HAVING COUNT(*) > 3 ORDER BY n LIMIT 12',
]

const ofPagesFirst = [
  '',
  'LIMIT 13',
  'LIMIT 10000',
  'ORDER BY n DESC LIMIT 25',
  'ORDER BY a LIMIT 25',
  'ORDER BY 1 LIMIT 25',
  'ORDER BY page DESC, n DESC',
  'ORDER BY 2 LIMIT 25',
  'ORDER BY n DESC, t LIMIT 500',
]

/** Nulls, numbers with a point, numbers beyond 2^53, text with escapes, several values, and keys that are numbers. */
const values = [
  `SELECT ${hour} AS t, SUM(added) FILTER (WHERE country = 'DE' AND robot = 'true') AS a ${from} GROUP BY 1 ORDER BY a DESC LIMIT 20`,
  `SELECT ${hour} AS t, page, SUM(added) FILTER (WHERE country = 'DE') AS a ${from} GROUP BY 1, 2 ORDER BY a LIMIT 200`,
  `SELECT ${hour} AS t, page, SUM(delta) AS d ${from} GROUP BY 1, 2 ORDER BY d DESC LIMIT 40`,
  `SELECT ${hour} AS t, page, AVG(added) AS d ${from} GROUP BY 1, 2 ORDER BY d DESC, page LIMIT 40`,
  `SELECT ${hour} AS t, page, SUM(delta) / COUNT(*) AS d ${from} GROUP BY 1, 2 ORDER BY d LIMIT 40`,
  `SELECT ${hour} AS t, page, MAX(added) AS d, MIN(big) AS m ${from} GROUP BY 1, 2 ORDER BY m DESC, d LIMIT 40`,
  `SELECT city, ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1, 2`,
  `SELECT city, ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1, 2 ORDER BY city DESC, n LIMIT 60`,
  `SELECT city, robot, ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1, 2, 3 ORDER BY n DESC LIMIT 60`,
  `SELECT tags, ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1, 2 ORDER BY n DESC LIMIT 60`,
  `SELECT "user", ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1, 2 LIMIT 60`,
  `SELECT "user", ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1, 2 ORDER BY n DESC LIMIT 60`,
  `SELECT UPPER(country) AS c, ${hour} AS t, COUNT(*) AS n ${from} GROUP BY 1, 2 ORDER BY n DESC LIMIT 60`,
  `SELECT ${hour} AS t, country, COUNT(DISTINCT page) AS p, COUNT(*) AS n ${from} GROUP BY 1, 2 ORDER BY n DESC LIMIT 60`,
]

/** Bounds as SQLAlchemy writes them. */
const asSuperset: SqlMarks = {
  bounds: 'quoted',
  instants: ['microText'] satisfies readonly InstantStyle[],
  body: { header: false },
  context: {},
}
const supersetBucket = `TIME_FLOOR(CAST("__time" AS TIMESTAMP), 'PT1H')`
const superset = [
  `SELECT ${supersetBucket} AS "__timestamp", COUNT(*) AS "count" FROM "druid"."wiki" WHERE {time} GROUP BY ${supersetBucket} ORDER BY "count" DESC LIMIT 1000`,
  `SELECT ${supersetBucket} AS "__timestamp", SUM("added") AS "SUM(added)" FROM "druid"."wiki" WHERE {time} GROUP BY ${supersetBucket} LIMIT 50000`,
  `SELECT "page" AS "page", ${supersetBucket} AS "__timestamp", COUNT(*) AS "count" FROM "druid"."wiki" WHERE {time} GROUP BY "page", ${supersetBucket} ORDER BY "count" DESC LIMIT 1000`,
  `SELECT "page" AS "page", ${supersetBucket} AS "__timestamp", SUM("added") AS "SUM(added)" FROM "druid"."wiki" WHERE {time} AND ("page" = 'Page 1' OR "page" = 'Page 2' OR "page" = 'Page 0') GROUP BY "page", ${supersetBucket} ORDER BY "SUM(added)" DESC LIMIT 50000`,
  `SELECT "page" AS "page", ${supersetBucket} AS "__timestamp", AVG("delta") AS "AVG(delta)" FROM "druid"."wiki" WHERE {time} AND "page" IN ('Page 1', 'Page 2') GROUP BY "page", ${supersetBucket} LIMIT 10000`,
]

const bypassed: readonly (readonly [BypassReason, string])[] = [
  ['limit', `${byPage} ORDER BY n DESC LIMIT 10 OFFSET 5`],
  ['not_decomposable', `SELECT ${hour} AS t, page ${from} GROUP BY 1, 2 ORDER BY COUNT(*) DESC LIMIT 10`],
  [
    'not_decomposable',
    `SELECT ${hour} AS t, page, COUNT(DISTINCT city) AS n ${from} GROUP BY 1, 2 ORDER BY n DESC LIMIT 10`,
  ],
  ['no_time_grouping', `SELECT COUNT(*) AS n ${from} GROUP BY ()`],
  [
    'not_decomposable',
    `SELECT "page", ${hour} AS t, COUNT(*) AS n FROM wiki JOIN (SELECT page AS p, COUNT(*) AS m ${from} GROUP BY 1 ORDER BY 2 DESC LIMIT 3) ON page = p WHERE {time} GROUP BY 1, 2 ORDER BY n DESC, page, t LIMIT 100`,
  ],
]

export const sqlOrderForms: readonly Form[] = [
  ...ofHours.map((ending) => sqlOne(`${byHour} ${ending}`)),
  ...ofPages.map((ending) => sqlOne(`${byPage} ${ending}`)),
  ...ofPagesFirst.map((ending) => sqlOne(`${pageFirst} ${ending}`)),
  ...values.map((query) => sqlOne(query)),
  ...superset.map((query) => sqlOne(query, asSuperset)),
  ...['array', 'objectLines', 'arrayLines'].flatMap((resultFormat) => [
    sqlOne(`${byPage} ORDER BY n DESC LIMIT 25`, { body: { resultFormat } }),
    sqlOne(`${pageFirst} LIMIT 25`, { body: { resultFormat, header: true } }),
  ]),
  sqlOne(`${byPage} ORDER BY n DESC LIMIT 25`, { body: { resultFormat: 'csv' }, bypass: 'not_decomposable' }),
  sqlOne(`${byPage} LIMIT 25`, { body: { resultFormat: 'csv' } }),
  sqlOne(`${byPage} ORDER BY n DESC LIMIT 25`, { context: { sqlTimeZone: 'America/New_York' } }),
  sqlOne(`${pageFirst} LIMIT 40`, { context: { sqlTimeZone: 'Europe/Berlin' } }),
  sqlOne(`SELECT country, ${hour} AS t, COUNT(DISTINCT page) AS p ${from} GROUP BY 1, 2 LIMIT 50`, {
    context: { useApproximateCountDistinct: false },
  }),
  ...bypassed.map(([bypass, query]) => sqlOne(query, { bypass })),
]
