/** SQL: every way to write a bucket, in sessions of several zones. */
import type { Form } from '../form.ts'
import { period } from '../native.ts'
import { sqlOne } from '../sql.ts'

const zones = ['America/New_York', 'Europe/Berlin', 'Asia/Kolkata']

interface Bucket {
  readonly text: string
  readonly buckets: (zone: string) => unknown
}

const inZone = (text: string, iso: string): Bucket => ({ text, buckets: (zone) => period(iso, zone) })

const short: readonly Bucket[] = [
  inZone('FLOOR(__time TO MINUTE)', 'PT1M'),
  inZone('FLOOR(__time TO HOUR)', 'PT1H'),
  inZone('FLOOR(__time TO DAY)', 'P1D'),
  inZone("TIME_FLOOR(__time, 'PT5M')", 'PT5M'),
  inZone("TIME_FLOOR(__time, 'PT1H')", 'PT1H'),
  inZone("TIME_FLOOR(__time, 'PT6H')", 'PT6H'),
  inZone("TIME_FLOOR(__time, 'P1D')", 'P1D'),
  inZone("DATE_TRUNC('hour', __time)", 'PT1H'),
  inZone("date_trunc('DAY', __time)", 'P1D'),
]

const fixed: readonly Bucket[] = [
  {
    text: "TIME_FLOOR(__time, 'PT90M', TIMESTAMP '2026-03-01 00:15:00')",
    buckets: () => period('PT90M', 'UTC', '2026-03-01T00:15:00Z'),
  },
  { text: "TIME_FLOOR(__time, 'P1D', NULL, 'Europe/Berlin')", buckets: () => period('P1D', 'Europe/Berlin') },
  {
    text: "TIME_FLOOR(__time, 'PT2H', NULL, 'America/New_York')",
    buckets: () => period('PT2H', 'America/New_York'),
  },
  { text: 'FLOOR(__time TO SECOND)', buckets: () => 'second' },
  { text: "TIME_FLOOR(CAST(__time AS TIMESTAMP), 'PT15M')", buckets: () => 'fifteen_minute' },
]

const long: readonly Bucket[] = [
  inZone('FLOOR(__time TO WEEK)', 'P1W'),
  inZone('FLOOR(__time TO MONTH)', 'P1M'),
  inZone('FLOOR(__time TO QUARTER)', 'P3M'),
  inZone('FLOOR(__time TO YEAR)', 'P1Y'),
  inZone("TIME_FLOOR(__time, 'P1M')", 'P1M'),
  inZone("TIME_FLOOR(__time, 'P2W')", 'P2W'),
  inZone("DATE_TRUNC('month', __time)", 'P1M'),
]

const inSession = (zone: string) => ({ context: { sqlTimeZone: zone } })
const edits = ({ text }: Bucket) =>
  `SELECT ${text} AS t, country, COUNT(*) AS n, SUM(delta) AS d FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2`
const sales = ({ text }: Bucket) =>
  `SELECT ${text} AS t, SUM(sold) AS sold, SUM(price) AS price FROM years WHERE {time} GROUP BY ${text}`

export const sqlBucketForms: readonly Form[] = [
  ...[...short, ...fixed].map((bucket) => sqlOne(edits(bucket), { buckets: bucket.buckets('UTC') })),
  ...zones
    .flatMap((zone) =>
      short.map((bucket) => sqlOne(edits(bucket), { buckets: bucket.buckets(zone), ...inSession(zone) })),
    )
    .filter((_, i) => i % 2 === 0),
  ...long.map((bucket) => sqlOne(sales(bucket), { buckets: bucket.buckets('UTC'), dataSet: 'years' })),
  ...zones
    .flatMap((zone) =>
      long.map((bucket) =>
        sqlOne(sales(bucket), { buckets: bucket.buckets(zone), dataSet: 'years', ...inSession(zone) }),
      ),
    )
    .filter((_, i) => i % 2 === 0),
]
