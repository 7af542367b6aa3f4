/** SQL: every way to bound the time, with literals, arithmetic and parameters. */
import { type BoundStyle, boundStyles, type InstantStyle, instantStyles } from '../bounds.ts'
import type { Form } from '../form.ts'
import { period } from '../native.ts'
import { sql, sqlOne } from '../sql.ts'

const hours =
  'SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) AS n, SUM(delta) AS d FROM wiki WHERE {time} GROUP BY 1'
const filtered =
  "SELECT FLOOR(__time TO HOUR) AS t, robot, COUNT(*) AS n FROM wiki WHERE country = 'DE' AND {time} AND page LIKE 'Page 1%' GROUP BY 1, 2 ORDER BY 1, 2"
const german = { context: { sqlTimeZone: 'Europe/Berlin' }, buckets: period('PT1H', 'Europe/Berlin') }

const parameterised =
  'SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) FILTER (WHERE robot = ?) AS n FROM wiki WHERE added > ? AND {time} AND country <> ? GROUP BY 1'
const parameters = [
  { type: 'VARCHAR', value: 'true' },
  { type: 'INTEGER', value: 10 },
  { type: 'VARCHAR', value: 'JP' },
]
const byParameter = ['millisParameter', 'textParameter'] as const
const everyBound = Object.keys(boundStyles) as BoundStyle[]
const everyInstant = Object.keys(instantStyles) as InstantStyle[]

export const sqlBoundForms: readonly Form[] = [
  ...everyBound.map((bounds) => sqlOne(hours, { bounds })),
  ...everyInstant.map((instant) => sqlOne(hours, { instants: [instant] })),
  ...everyInstant.map((instant) => sqlOne(hours, { instants: [instant], ...german })),
  ...(['between', 'interval', 'closed'] as const).map((bounds) => sqlOne(hours, { bounds, ...german })),
  ...(['halfOpen', 'between', 'mirrored'] as const).map((bounds) => sql(hours, { bounds })),
  sql(filtered),
  sqlOne(filtered, { bounds: 'between' }),
  sqlOne(parameterised, { parameters }),
  sqlOne(parameterised, { parameters, instants: byParameter }),
  sqlOne(hours, { instants: byParameter, bounds: 'between' }),
  sql(hours, { instants: byParameter, ...german }),
  sqlOne('SELECT FLOOR(w.__time TO HOUR) AS t, COUNT(*) AS n FROM wiki AS w WHERE {time} GROUP BY 1'),
  sqlOne('SELECT FLOOR(wiki.__time TO HOUR) AS t, COUNT(*) AS n FROM druid.wiki WHERE {time} GROUP BY 1', {
    eitherWay: true,
  }),
  sqlOne(`${hours} -- for the front page`),
  sqlOne(`/* panel 7 */ ${hours.replaceAll(' ', '\n  ')}`),
]
