/**
 * SQL as Superset generates it for charts over time: each part of a chart's settings is drawn by a weight. The forms
 * are the ones of Superset (test/druid/clients/superset.json); how often each is used is our estimate.
 */
import type { Random } from '../../fidelity/random.ts'

/** A choice and its weight among the others of its kind. */
type Choices<T> = readonly (readonly [weight: number, choice: T])[]

interface Metric {
  readonly sql: string
  /** Whether the statement alone shows its type: Druid's order of other values is not known. */
  readonly isTyped: boolean
}

const typed = (sql: string): Metric => ({ sql, isTyped: true })
const untyped = (sql: string): Metric => ({ sql, isTyped: false })

const metrics: Choices<Metric> = [
  [30, typed('SUM("added")')],
  [25, typed('COUNT(*)')],
  [8, typed('AVG("added")')],
  [5, typed('MAX("delta")')],
  [5, typed('MIN("added")')],
  [5, typed('SUM(added) * 1.0 / COUNT(*)')],
  [4, untyped('COUNT(DISTINCT "page")')],
  [2, untyped('SUM(CASE WHEN "robot" = \'true\' THEN 1 ELSE 0 END)')],
]
/** With how many of them five days have. */
const grains: Choices<readonly [name: string, buckets: number]> = [
  [30, ['P1D', 5]],
  [20, ['PT1H', 120]],
  [10, ['P1W', 2]],
  [10, ['P1M', 1]],
  [6, ['PT5M', 1440]],
  [5, ['PT15M', 480]],
  [4, ['PT1M', 7200]],
  [3, ['PT6H', 20]],
  [2, ['P3M', 1]],
]
const dimensions: Choices<readonly string[]> = [
  [50, []],
  [35, ['country']],
  [10, ['country', 'robot']],
]
const filters: Choices<string> = [
  [60, ''],
  [15, ` AND "country" = 'DE'`],
  [10, ` AND "country" IN ('DE', 'US')`],
  [5, ` AND NOT ("robot" = 'true')`],
  [5, ` AND ("page" = 'Page 1' OR "page" = 'Page 2' OR "page" IS NULL)`],
  [5, ` AND "page" LIKE '%1%'`],
]
const limits: Choices<number> = [
  [70, 10_000],
  [10, 50_000],
  [10, 1000],
  [5, 100],
]
/** Largest first is the default of charts; others are ordered by their time axis, or not at all. */
const orders: Choices<'metric' | 'axis' | 'none'> = [
  [70, 'metric'],
  [10, 'axis'],
  [20, 'none'],
]
/** Most datasets are tables; the others are queries of their own. */
const sources: Choices<'table' | 'virtual'> = [
  [90, 'table'],
  [10, 'virtual'],
]

/** From so many buckets Druid chooses the largest exactly. */
const exactlyChosen = 1000

export interface SupersetQuery {
  readonly sql: string
  /** Undefined where it is cached in buckets. */
  readonly why: 'not_decomposable' | 'limit' | undefined
}

export function supersetQuery(random: Random): SupersetQuery {
  const [metric, [grain, buckets]] = [draw(random, metrics), draw(random, grains)]
  const [names, limit] = [draw(random, dimensions), draw(random, limits)]
  const [source, order] = [draw(random, sources), draw(random, orders)]
  const bucket = `TIME_FLOOR(CAST("__time" AS TIMESTAMP), '${grain}')`
  const keys = [bucket, ...names.map((name) => `"${name}"`)]
  const table = source === 'table' ? '"druid"."wiki"' : '(SELECT * FROM wiki) AS "virtual_table"'
  const by = { metric: '\nORDER BY\n  "metric" DESC', axis: '\nORDER BY\n  __time ASC', none: '' }[order]
  const sql = `SELECT
  ${[`${bucket} AS "__time"`, ...names.map((name) => `"${name}" AS "${name}"`), `${metric.sql} AS "metric"`].join(',\n  ')}
FROM ${table}
WHERE
  "__time" >= '2026-03-06 00:00:00.000000'
  AND "__time" < '2026-03-11 00:00:00.000000'${draw(random, filters)}
GROUP BY
  ${keys.join(',\n  ')}${by}
LIMIT ${limit}`
  const isOrdered = order !== 'metric' || metric.isTyped
  if (source === 'virtual' || !isOrdered) return { sql, why: 'not_decomposable' }
  const isTopN = names.length === 0 && order === 'metric'
  return { sql, why: isTopN && buckets > Math.max(exactlyChosen, limit) ? 'limit' : undefined }
}

function draw<T>(random: Random, choices: Choices<T>): T {
  const total = choices.reduce((sum, [weight]) => sum + weight, 0)
  let left = random.next() * total
  for (const [weight, choice] of choices) {
    left -= weight
    if (left < 0) return choice
  }
  return choices.at(-1)![1]
}
