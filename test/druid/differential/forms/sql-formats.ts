/** SQL: every result format with every header option. */
import type { Form } from '../form.ts'
import { sqlOne } from '../sql.ts'

const formats = ['object', 'array', 'objectLines', 'arrayLines', 'csv']
const headers: readonly object[] = [
  {},
  { header: true },
  { header: true, typesHeader: true },
  { header: true, sqlTypesHeader: true },
  { header: true, typesHeader: true, sqlTypesHeader: true },
]

const plain =
  'SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) AS n, SUM(added) AS added FROM wiki WHERE {time} GROUP BY 1'
const cities =
  'SELECT FLOOR(__time TO HOUR) AS t, city, COUNT(*) AS n, SUM(big) AS big FROM wiki WHERE {time} GROUP BY 1, 2 ORDER BY 1, 2'
const timeLast =
  'SELECT page, SUM(delta) AS "sum of ""delta""", TIME_FLOOR(__time, \'PT30M\') FROM wiki WHERE {time} GROUP BY 1, 3 ORDER BY 3, 1'
const nothing = `SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) AS n FROM wiki WHERE {time} AND page = 'nowhere' GROUP BY 1`

const each = (query: string, marks: object) =>
  formats.flatMap((resultFormat) =>
    headers.map((header) => sqlOne(query, { ...marks, body: { resultFormat, ...header } })),
  )

export const formatForms: readonly Form[] = [
  ...each(plain, {}),
  ...each(cities, {}).filter((_, i) => i % 2 === 0),
  ...each(timeLast, { buckets: 'thirty_minute' }).filter((_, i) => i % 2 === 1),
  ...each(nothing, { empty: true }).filter((_, i) => i % 5 === 0),
  ...each(nothing, {}).filter((_, i) => i % 5 === 4),
  sqlOne(plain, { body: { resultFormat: 'ObjectLines', header: 'true' }, eitherWay: true }),
  sqlOne(plain, { body: { typesHeader: true }, error: true }),
  sqlOne(plain, { body: { resultFormat: 'xml' }, error: true }),
]
