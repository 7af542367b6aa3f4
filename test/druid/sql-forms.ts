/**
 * SQL queries that can be cut by time, as people and tools write them, each with a hole for the bounds of time; and the
 * ways to write bounds. Every query goes with every way.
 */
import { exactZone, instantAt, localAt } from '../../src/backends/druid/zoned.ts'
import { wikiSpans } from './data/wiki.ts'
import { yearsSpan } from './data/years.ts'

export interface Span {
  readonly from: number
  readonly to: number
}

export interface SqlForm {
  /** With {time} in it. */
  readonly sql: string
  readonly spans: readonly Span[]
  readonly resultFormat?: string
  readonly context?: Readonly<Record<string, unknown>>
}

const newYork = { sqlTimeZone: 'America/New_York' }
const berlin = { sqlTimeZone: 'Europe/Berlin' }
const kolkata = { sqlTimeZone: 'Asia/Kolkata' }

const MINUTE = 60_000
const tinySpans = [{ from: Date.UTC(2026, 0, 1), to: Date.UTC(2026, 0, 6) }]
const wikiHours = [
  { from: Date.UTC(2026, 2, 8), to: Date.UTC(2026, 2, 9) },
  { from: Date.UTC(2026, 2, 29), to: Date.UTC(2026, 2, 30) },
]
const yearsSpans = [yearsSpan]
/** Nothing is stored there, and clocks are put back. */
const autumn = [{ from: Date.UTC(2026, 9, 31), to: Date.UTC(2026, 10, 2) }]

const wiki = (sql: string, more: Partial<SqlForm> = {}): SqlForm => ({ sql, spans: wikiSpans, ...more })
const tiny = (sql: string, more: Partial<SqlForm> = {}): SqlForm => ({ sql, spans: tinySpans, ...more })
const years = (sql: string, more: Partial<SqlForm> = {}): SqlForm => ({ sql, spans: yearsSpans, ...more })

const hourly = "SELECT TIME_FLOOR(__time, 'PT1H') AS t, COUNT(*) AS n, SUM(added) AS a FROM wiki WHERE {time}"

export const sqlForms: readonly SqlForm[] = [
  wiki(`${hourly} GROUP BY 1 ORDER BY 1`),
  wiki(`${hourly} GROUP BY 1 ORDER BY 1`, { resultFormat: 'array' }),
  wiki(`${hourly} GROUP BY 1 ORDER BY 1`, { resultFormat: 'objectLines' }),
  wiki(`${hourly} GROUP BY 1 ORDER BY 1`, { resultFormat: 'arrayLines' }),
  wiki(`${hourly} GROUP BY 1 ORDER BY 1`, { resultFormat: 'csv' }),
  wiki(`${hourly} GROUP BY 1`),
  wiki(`${hourly} GROUP BY TIME_FLOOR(__time, 'PT1H')`, { context: newYork }),
  wiki(`${hourly} GROUP BY 1 ORDER BY t`, { context: berlin }),
  wiki(`${hourly} GROUP BY 1 HAVING COUNT(*) > 80`),
  // A join of two queries.
  wiki(
    `SELECT FLOOR(__time TO DAY) AS t, COUNT(DISTINCT page), COUNT(DISTINCT city) FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
    { context: { useApproximateCountDistinct: false } },
  ),
  wiki(`${hourly} GROUP BY 1 ORDER BY 1 DESC`),
  wiki(`${hourly} GROUP BY 1 ORDER BY t DESC`, { context: newYork }),
  wiki(`${hourly} GROUP BY 1 ORDER BY TIME_FLOOR(__time, 'PT1H') ASC`, { context: kolkata }),
  wiki(`${hourly} AND page = 'Page 1' GROUP BY 1 ORDER BY 1`),
  wiki(`${hourly} AND (country = 'DE' OR country IS NULL) GROUP BY 1 ORDER BY 1`),
  wiki(`${hourly} AND page IN ('Page 1', 'Page 2', 'it''s') AND NOT robot = 'true' GROUP BY 1 ORDER BY 1`),
  wiki(`${hourly} AND city LIKE '%a%' AND page BETWEEN 'Page 1' AND 'Page 3' GROUP BY 1 ORDER BY 1`),
  wiki(`${hourly} AND EXTRACT(HOUR FROM __time) < 12 GROUP BY 1 ORDER BY 1`),
  wiki(`${hourly} AND page = 'no such page' GROUP BY 1 ORDER BY 1`),
  wiki(`${hourly} AND page = 'no such page' GROUP BY 1 ORDER BY 1`, { resultFormat: 'csv' }),
  wiki(`${hourly} AND page = 'no such page' GROUP BY 1 ORDER BY 1`, { resultFormat: 'arrayLines' }),
  wiki(`${hourly} GROUP BY 1 HAVING COUNT(*) > 80 ORDER BY 1`),
  wiki(`${hourly} GROUP BY 1 HAVING n > 80 AND SUM(added) > 100 ORDER BY t`),
  wiki(`-- by the hour\n${hourly} /* all pages */ GROUP BY 1 ORDER BY 1`),
  wiki(
    `SELECT FLOOR(__time TO HOUR), COUNT(*), COUNT(DISTINCT page) FROM wiki WHERE {time} GROUP BY FLOOR(__time TO HOUR) ORDER BY 1`,
  ),
  wiki(`SELECT FLOOR(__time TO DAY) AS d, SUM("big") AS b FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`),
  wiki(`SELECT FLOOR(__time TO DAY) AS d, SUM("big") AS b FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`, {
    context: newYork,
  }),
  wiki(
    `SELECT FLOOR("__time" TO DAY) AS d, SUM("big") AS b FROM "wiki" WHERE {time} GROUP BY 1 ORDER BY 1 DESC`,
    {
      context: berlin,
      resultFormat: 'array',
    },
  ),
  wiki(
    `SELECT DATE_TRUNC('hour', __time) AS h, MAX(delta) AS m FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  wiki(
    `SELECT DATE_TRUNC('DAY', __time) AS h, MIN(delta) AS m FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
    {
      context: berlin,
    },
  ),
  wiki(`SELECT TIME_FLOOR(__time, 'PT5M') AS t, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`, {
    spans: wikiHours,
  }),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1M') AS t, SUM(delta) AS n FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
    {
      spans: wikiHours,
      context: kolkata,
    },
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT15M') AS t, SUM(delta) AS n FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
    {
      spans: wikiHours,
      context: newYork,
    },
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT6H') AS t, SUM(added) AS a FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'P1D', NULL, 'America/New_York') AS t, COUNT(*) FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'P1D', NULL, 'UTC') AS t, COUNT(*) FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
    {
      context: newYork,
    },
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT2H', TIMESTAMP '2026-01-01 00:30:00') AS t, COUNT(*) FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  wiki(
    `SELECT TIME_FLOOR(CAST(__time AS TIMESTAMP), 'PT1H') AS "__timestamp", SUM(added) AS "SUM(added)" FROM druid.wiki WHERE {time} GROUP BY TIME_FLOOR(CAST(__time AS TIMESTAMP), 'PT1H') ORDER BY "__timestamp"`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS __time, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1 ORDER BY __time`,
  ),
  wiki(
    `SELECT page, TIME_FLOOR(__time, 'PT1H') AS t, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 2, 1`,
  ),
  wiki(
    `SELECT page, TIME_FLOOR(__time, 'PT1H') AS t, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 2`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, page, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1 DESC, 2`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, page, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1, 3 DESC`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'P1D') AS t, country, SUM(added) AS a FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY t, a DESC, country`,
    { context: newYork, resultFormat: 'csv' },
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT6H') AS t, country, city, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    { resultFormat: 'csv' },
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT6H') AS t, city, SUM(delta) AS d FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1 DESC, 2 DESC`,
    { resultFormat: 'objectLines' },
  ),
  wiki(
    `SELECT city, SUM(delta) AS d, TIME_FLOOR(__time, 'PT6H') AS t FROM wiki WHERE {time} GROUP BY city, TIME_FLOOR(__time, 'PT6H') ORDER BY TIME_FLOOR(__time, 'PT6H'), d`,
    { resultFormat: 'arrayLines' },
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, tags, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, UPPER(country) || '!' AS c, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'P1D') AS t, CASE WHEN robot = 'true' THEN 'r' ELSE 'h' END AS k, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, SUM(added) FILTER (WHERE country = 'US') AS us, COUNT(*) FILTER (WHERE robot IS NULL) AS r FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, AVG(added) AS a, SUM(added) * 1.0 / COUNT(*) AS q, MAX(__time) AS latest FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  // Not on wiki: of rows of one time in several segments, Druid takes now this one and now that.
  tiny(
    `SELECT TIME_FLOOR(__time, 'PT20M') AS t, EARLIEST(added) AS e, LATEST(delta) AS l FROM tiny WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, APPROX_COUNT_DISTINCT(page) AS p FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
    { context: { ...newYork, useApproximateCountDistinct: true } },
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, COUNT(DISTINCT page) AS p FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`,
    { context: { useApproximateCountDistinct: false } },
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'P1D') AS t, country, COUNT(DISTINCT page) AS p FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2`,
    { context: { useApproximateCountDistinct: false } },
  ),
  wiki(
    `SELECT TIME_FLOOR(w.__time, 'PT1H') AS t, COUNT(*) AS n FROM wiki AS w WHERE {time} AND w.country = 'DE' GROUP BY 1 ORDER BY 1`,
  ),
  wiki(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, TIME_FLOOR(__time, 'P1D') AS d, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1`,
  ),
  wiki(
    `SELECT TIME_FORMAT(TIME_FLOOR(__time, 'PT1H'), 'HH:mm') AS l, TIME_FLOOR(__time, 'PT1H') AS t, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY TIME_FLOOR(__time, 'PT1H') ORDER BY TIME_FLOOR(__time, 'PT1H')`,
  ),
  wiki(
    `select time_floor(__time, 'PT1H') as t, count(*) as n from wiki where {time} group by 1 order by 1 asc`,
  ),
  wiki(`SELECT TIME_FLOOR(__time, 'PT1H') AS t, COUNT(*) AS n FROM wiki WHERE {time} GROUP BY 1 ORDER BY 1`, {
    spans: autumn,
    context: newYork,
  }),
  tiny(
    `SELECT TIME_FLOOR(__time, 'PT1H') AS t, COUNT(*) AS n, SUM(added) AS a, SUM(delta) AS d FROM tiny WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  tiny(
    `SELECT TIME_FLOOR(__time, 'PT20M') AS t, page, SUM(added) AS a FROM tiny WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2`,
  ),
  tiny(
    `SELECT TIME_FLOOR(__time, 'P1D') AS t, country, SUM(added) AS a FROM tiny WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2`,
    {
      resultFormat: 'array',
    },
  ),
  tiny(
    `SELECT TIME_FLOOR(__time, 'PT30M') AS t, SUM(cnt) AS n FROM tiny WHERE {time} AND page <> 'A' GROUP BY 1 ORDER BY 1 DESC`,
    {
      context: kolkata,
    },
  ),
  tiny(`SELECT TIME_FLOOR(__time, 'PT1S') AS t, SUM(cnt) AS n FROM tiny WHERE {time} GROUP BY 1 ORDER BY 1`, {
    spans: [{ from: Date.UTC(2026, 0, 1, 8), to: Date.UTC(2026, 0, 1, 10) }],
  }),
  years(`SELECT FLOOR(__time TO WEEK) AS w, SUM(sold) AS s FROM years WHERE {time} GROUP BY 1 ORDER BY 1`),
  years(
    `SELECT FLOOR(__time TO MONTH) AS m, shop, SUM(sold) AS s FROM years WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2`,
  ),
  years(`SELECT FLOOR(__time TO MONTH) AS m, SUM(sold) AS s FROM years WHERE {time} GROUP BY 1 ORDER BY 1`, {
    context: newYork,
  }),
  years(
    `SELECT FLOOR(__time TO QUARTER) AS q, SUM(price) AS s FROM years WHERE {time} GROUP BY 1 ORDER BY 1`,
    {
      context: berlin,
    },
  ),
  years(
    `SELECT FLOOR(__time TO YEAR) AS y, SUM(price) AS s FROM years WHERE {time} GROUP BY 1 ORDER BY 1 DESC`,
  ),
  years(
    `SELECT DATE_TRUNC('quarter', __time) AS q, kind, COUNT(*) AS s FROM years WHERE {time} GROUP BY 1, 2 ORDER BY 1, 3, 2`,
  ),
  years(
    `SELECT DATE_TRUNC('week', __time) AS q, COUNT(*) AS s FROM years WHERE {time} GROUP BY 1 ORDER BY 1`,
    {
      context: newYork,
    },
  ),
  years(`SELECT TIME_FLOOR(__time, 'P1M') AS m, SUM(sold) FROM years WHERE {time} GROUP BY 1 ORDER BY 1`, {
    context: kolkata,
  }),
  years(`SELECT TIME_FLOOR(__time, 'P2W') AS m, SUM(sold) FROM years WHERE {time} GROUP BY 1 ORDER BY 1`),
  years(`SELECT TIME_FLOOR(__time, 'P7D') AS m, SUM(sold) FROM years WHERE {time} GROUP BY 1 ORDER BY 1`),
  years(`SELECT TIME_FLOOR(__time, 'P2M') AS m, SUM(sold) FROM years WHERE {time} GROUP BY 1 ORDER BY 1`),
  years(`SELECT TIME_FLOOR(__time, 'P1Y') AS m, SUM(sold) FROM years WHERE {time} GROUP BY 1 ORDER BY 1`, {
    context: newYork,
  }),
  years(
    `SELECT TIME_FLOOR(__time, 'P1W', NULL, 'Europe/Berlin') AS m, SUM(sold) FROM years WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
  years(
    `SELECT TIME_FLOOR(__time, 'P1D', TIMESTAMP '2023-01-01 06:00:00') AS m, SUM(sold) FROM years WHERE {time} GROUP BY 1 ORDER BY 1`,
  ),
]

/** How long the windows of a form are, at most. */
export const lengthOf = ({ spans }: SqlForm): number => (spans[0]!.to - spans[0]!.from) / 2

export interface WrittenBounds {
  readonly where: string
  readonly parameters?: readonly object[]
  /** The required time of the database's clock. */
  readonly now?: number
}

type BoundStyle = (span: Span, zone: string) => WrittenBounds

const iso = (at: number): string => new Date(at).toISOString()
const local = (at: number, zone: string): string => iso(localAt(exactZone(zone)!, at)).slice(0, -1)
const sql = (at: number, zone: string): string => local(at, zone).replace('T', ' ')

/** Where the first of two ranges ends, and the second begins. */
const innerEnds = ({ from, to }: Span): [number, number] => [
  from + Math.floor((to - from) * 0.3),
  from + Math.floor((to - from) * 0.6),
]

/** Of a window that ends in the second of two equal local hours, Druid understands something else than was written. */
export const isUnequivocal = (span: Span, zone: string): boolean =>
  [span.from, span.to, ...innerEnds(span)].every((at) => {
    const rules = exactZone(zone)!
    return instantAt(rules, localAt(rules, at)) === at
  })

export const boundStyles: Readonly<Record<string, BoundStyle>> = {
  timestamps: ({ from, to }, zone) => ({
    where: `__time >= TIMESTAMP '${sql(from, zone)}' AND __time < TIMESTAMP '${sql(to, zone)}'`,
  }),
  mirrored: ({ from, to }, zone) => ({
    where: `TIMESTAMP '${sql(from, zone)}' <= __time AND TIMESTAMP '${sql(to, zone)}' > __time`,
  }),
  inclusive: ({ from, to }, zone) => ({
    where: `(__time > TIMESTAMP '${sql(from - 1, zone)}' AND __time <= '${local(to - 1, zone)}')`,
  }),
  'iso strings': ({ from, to }) => ({ where: `__time >= '${iso(from)}' AND __time < '${iso(to)}'` }),
  'local strings': ({ from, to }, zone) => ({
    where: `__time >= '${sql(from, zone)}' AND __time < '${local(to, zone)}'`,
  }),
  microseconds: ({ from, to }, zone) => ({
    where: `"__time" >= '${sql(from, zone)}000' AND "__time" < TIMESTAMP '${sql(to, zone)}999'`,
  }),
  between: ({ from, to }) => ({
    where: `__time BETWEEN MILLIS_TO_TIMESTAMP(${from}) AND MILLIS_TO_TIMESTAMP(${to - 1})`,
  }),
  milliseconds: ({ from, to }) => ({
    where: `TIMESTAMP_TO_MILLIS(__time) >= ${from} AND CAST(__time AS BIGINT) < ${to}`,
  }),
  interval: ({ from, to }) => ({ where: `TIME_IN_INTERVAL(__time, '${iso(from)}/${iso(to)}')` }),
  parsed: ({ from, to }, zone) => ({
    where: `__time >= TIME_PARSE('${iso(from)}') AND __time < TIME_PARSE('${local(to, zone)}')`,
  }),
  cast: ({ from, to }, zone) => ({
    where: `__time >= CAST('${iso(from)}' AS TIMESTAMP) AND CAST(__time AS TIMESTAMP) < CAST('${sql(to, zone)}' AS TIMESTAMP)`,
  }),
  relative: ({ from, to }) => ({
    where: `__time >= CURRENT_TIMESTAMP - INTERVAL '${Math.ceil((to - from) / MINUTE)}' MINUTE AND __time < CURRENT_TIMESTAMP`,
    now: to,
  }),
  shifted: ({ from, to }) => ({
    where: `__time >= TIME_SHIFT(CURRENT_TIMESTAMP, 'PT1S', -${Math.floor((to - from) / 1000)}) AND __time < TIMESTAMPADD(SECOND, 1, CURRENT_TIMESTAMP)`,
    now: to - 1000,
  }),
  rounded: ({ from, to }) => ({
    where: `__time >= FLOOR(MILLIS_TO_TIMESTAMP(${from}) TO DAY) AND __time < TIME_CEIL(MILLIS_TO_TIMESTAMP(${to}), 'PT1H')`,
  }),
  'two ranges': ({ from, to }) => {
    const [a, b] = innerEnds({ from, to })
    return {
      where: `((__time >= MILLIS_TO_TIMESTAMP(${from}) AND __time < MILLIS_TO_TIMESTAMP(${a})) OR TIME_IN_INTERVAL(__time, '${iso(b)}/${iso(to)}'))`,
    }
  },
  'parameters of milliseconds': ({ from, to }) => ({
    where: '__time >= MILLIS_TO_TIMESTAMP(?) AND __time < MILLIS_TO_TIMESTAMP(?)',
    parameters: [
      { type: 'BIGINT', value: from },
      { type: 'BIGINT', value: to },
    ],
  }),
  'parameters of time': ({ from, to }, zone) => ({
    where: '__time >= ? AND __time < ?',
    parameters: [
      { type: 'TIMESTAMP', value: sql(from, zone).replace('.000', '') },
      { type: 'VARCHAR', value: iso(to) },
    ],
  }),
  'open end': ({ from, to }) => ({ where: `__time >= MILLIS_TO_TIMESTAMP(${from})`, now: to }),
}
