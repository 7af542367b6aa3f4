import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { WireRequest } from '../backend.ts'
import { createSqlPlanner } from './sql.ts'

const planner = createSqlPlanner({ maxBuckets: 1_000_000 })

interface Session {
  readonly sqlTimeZone?: string
  readonly now?: string
  readonly parameters?: readonly (object | null)[]
}

const newYork = { sqlTimeZone: 'America/New_York' }
/** A few hours after clocks were put forward in New York. */
const sunday = { ...newYork, now: '2026-03-08T15:30:00.123Z' }
const monday = { ...newYork, now: '2026-03-09T15:30:00.123Z' }

/** The spans that a condition admits: `from/to`, comma-separated, or why it is not read. */
function boundsOf(where: string, { now, parameters, ...context }: Session): string {
  const query = `SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) FROM wiki WHERE ${where} GROUP BY 1 ORDER BY 1`
  const request: WireRequest = {
    method: 'POST',
    path: '/druid/v2/sql',
    search: '',
    headers: ['content-type', 'application/json'],
    body: Buffer.from(JSON.stringify({ query, context, parameters })),
  }
  const plan = planner(request, Date.parse(now ?? '2026-06-01T00:00:00Z'))
  if ('bypass' in plan) return plan.bypass
  return plan.spans.map(({ from, to }) => `${short(from)}/${short(to)}`).join(',')
}

/** `2026-01-01T05:00:00.000Z` without zero parts. */
const short = (at: number): string =>
  new Date(at)
    .toISOString()
    .replace(/\.000Z$/, '')
    .replace(/Z$/, '')
    .replace(/:00$/, '')
    .replace(/T00:00$/, '')

type Row = readonly [where: string, expected: string, session?: Session]

function check(name: string, rows: readonly Row[]): void {
  test(name, () => {
    for (const [where, expected, session = {}] of rows)
      assert.equal(boundsOf(where, session), expected, where)
  })
}

// The expected values come from a Druid 33 with the same texts (EXPLAIN PLAN, with the clock set).
const day = '2026-01-01/2026-01-02'
const dayInNewYork = '2026-01-01T05:00/2026-01-02T05:00'

check('literals are local times of the session', [
  ["__time >= TIMESTAMP '2026-01-01 00:00:00' AND __time < TIMESTAMP '2026-01-02 00:00:00'", day],
  [
    "__time >= TIMESTAMP '2026-01-01 00:00:00' AND __time < TIMESTAMP '2026-01-02 00:00:00'",
    dayInNewYork,
    newYork,
  ],
  ["__time >= TIMESTAMP'2026-01-01' AND __time < TIMESTAMP '2026-01-02'", dayInNewYork, newYork],
  ["__time >= DATE '2026-01-01' AND __time < DATE '2026-01-02'", dayInNewYork, newYork],
  [
    "__time >= TIMESTAMP '2026-01-01 00:00:00.5' AND __time < TIMESTAMP '2026-01-02 00:00:01'",
    '2026-01-01T00:00:00.500/2026-01-02T00:00:01',
  ],
  [
    "__time >= TIMESTAMP '2026-01-01 00:00:00.123456' AND __time < TIMESTAMP '2026-01-02 00:00:00.999999999'",
    '2026-01-01T00:00:00.123/2026-01-02T00:00:00.999',
  ],
  // With two bounds the first counts; without any, the result is unknown.
  [
    "__time >= TIMESTAMP '2026-11-01 01:30:00' AND __time < TIMESTAMP '2026-11-01 03:00:00'",
    '2026-11-01T05:30/2026-11-01T08:00',
    newYork,
  ],
  [
    "__time >= TIMESTAMP '2026-03-08 02:30:00' AND __time < TIMESTAMP '2026-03-09 00:00:00'",
    'too_many_buckets',
    newYork,
  ],
  [
    "__time >= TIMESTAMP '2026-02-30 00:00:00' AND __time < TIMESTAMP '2026-04-01 00:00:00'",
    'too_many_buckets',
  ],
  ["__time >= TIMESTAMP '2026-01-01T00:00:00' AND __time < TIMESTAMP '2026-01-02'", 'too_many_buckets'],
  ["__time >= TIMESTAMP '2026-01-01 24:00:00' AND __time < TIMESTAMP '2026-01-03'", 'too_many_buckets'],
  ["__time >= DATE '2026-01-01 00:00:00' AND __time < DATE '2026-01-02'", 'too_many_buckets'],
])

check('text is ISO or SQL, with or without an offset', [
  ["__time >= '2026-01-01' AND __time < '2026-01-02T00:00:00'", dayInNewYork, newYork],
  [
    "__time >= '2026-01-01 00:00:00' AND __time < '2026-01-02T00:00:00Z'",
    '2026-01-01T05:00/2026-01-02',
    newYork,
  ],
  [
    "__time >= '2026-01-01T00:00' AND __time < '2026-01-02T00:00:00.123+02:00'",
    '2026-01-01T05:00/2026-01-01T22:00:00.123',
    newYork,
  ],
  [
    "__time >= '2026-01-01T05:00:00+01' AND __time < '2026-01-02T05:00:00+0100'",
    '2026-01-01T04:00/2026-01-02T04:00',
  ],
  ["__time >= 'yesterday' AND __time < '2026-01-02'", 'too_many_buckets'],
  ["__time >= '2026-01-01T00:00:00+99:00' AND __time < '2026-01-02'", 'too_many_buckets'],
  [
    "__time >= CAST('2026-01-01' AS TIMESTAMP) AND __time < CAST('2026-01-02T05:00:00Z' AS TIMESTAMP)",
    dayInNewYork,
    newYork,
  ],
  [
    "__time >= CAST('2026-01-01 05:00:00' AS DATE) AND __time < TIMESTAMP '2026-01-02 00:00:00'",
    dayInNewYork,
    newYork,
  ],
  [
    "__time >= TIME_PARSE('2026-01-01T00:00:00') AND __time < TIME_PARSE('2026-01-02')",
    dayInNewYork,
    newYork,
  ],
  [
    "__time >= TIME_PARSE('2026-01-01', NULL, 'UTC') AND __time < TIME_PARSE('2026-01-02', NULL, 'Asia/Kolkata')",
    '2026-01-01/2026-01-01T18:30',
  ],
  ["__time >= TIME_PARSE('01.01.2026', 'dd.MM.yyyy') AND __time < '2026-01-02'", 'too_many_buckets'],
])

check('operators, on either side', [
  ["'2026-01-01' <= __time AND '2026-01-02' > __time", day],
  ["__time > '2026-01-01' AND __time <= '2026-01-02'", '2026-01-01T00:00:00.001/2026-01-02T00:00:00.001'],
  ["__time = '2026-01-01'", '2026-01-01/2026-01-01T00:00:00.001'],
  ["__time BETWEEN '2026-01-01' AND '2026-01-02'", '2026-01-01/2026-01-02T00:00:00.001'],
  [
    "__time BETWEEN ASYMMETRIC '2026-01-01' AND '2026-01-02' AND page = 'A'",
    '2026-01-01/2026-01-02T00:00:00.001',
  ],
  ["__time BETWEEN SYMMETRIC '2026-01-02' AND '2026-01-01'", 'too_many_buckets'],
  ["wiki.__time >= '2026-01-01' AND wiki.\"__time\" < '2026-01-02'", day],
  ["other.__time >= '2026-01-01' AND __time < '2026-01-02'", 'too_many_buckets'],
  ["__TIME >= '2026-01-01' AND __time < '2026-01-02'", 'too_many_buckets'],
  ["CAST(__time AS TIMESTAMP) >= '2026-01-01' AND (__time) < ('2026-01-02')", day],
  [
    '__time >= MILLIS_TO_TIMESTAMP(1767225600000) AND __time < MILLIS_TO_TIMESTAMP(1767312000000)',
    day,
    newYork,
  ],
  ['TIMESTAMP_TO_MILLIS(__time) >= 1767225600000 AND 1767312000000 > CAST(__time AS BIGINT)', day, newYork],
  ['TIMESTAMP_TO_MILLIS(__time) BETWEEN 1767225600000 AND 1767311999999', day],
  ['__time >= 1767225600000 AND __time < 1767312000000', 'too_many_buckets'],
  [
    '__time >= MILLIS_TO_TIMESTAMP(1767225600000.5) AND __time < MILLIS_TO_TIMESTAMP(1767312000000)',
    'too_many_buckets',
  ],
])

check('intervals', [
  ["TIME_IN_INTERVAL(__time, '2026-01-01/2026-01-02')", dayInNewYork, newYork],
  ["TIME_IN_INTERVAL(__time, '2026-01-01/P1D')", dayInNewYork, newYork],
  ["TIME_IN_INTERVAL(__time, 'P1D/2026-03-09T00:00:00')", '2026-03-08T05:00/2026-03-09T04:00', newYork],
  [
    "TIME_IN_INTERVAL(__time, 'PT36H/2026-03-09T00:00:00.5')",
    '2026-03-07T16:00:00.500/2026-03-09T04:00:00.500',
    newYork,
  ],
  [
    "TIME_IN_INTERVAL(__time, '2026-01-01T00:00:00Z/2026-01-02T00:00:00+02:00')",
    '2026-01-01/2026-01-01T22:00',
    newYork,
  ],
  ["TIME_IN_INTERVAL(__time, '2026-11-30T01:30:00/P3M')", '2026-11-30T06:30/2027-02-28T06:30', newYork],
  ["TIME_IN_INTERVAL(__time, '2026-01-02/2026-01-01')", 'too_many_buckets'],
  ["TIME_IN_INTERVAL(__time, '2026-01-01/2026-01-01')", 'invalid_parameter'],
  ["TIME_IN_INTERVAL(__time, '2026-01-01')", 'too_many_buckets'],
])

check('the clock', [
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '1' DAY AND __time < CURRENT_TIMESTAMP",
    '2026-03-07T15:30:00.123/2026-03-08T15:30:00.123',
    sunday,
  ],
  ['__time >= CURRENT_DATE AND __time <= LOCALTIMESTAMP', '2026-03-08T05:00/2026-03-08T15:30:00.124', sunday],
  [
    "__time >= CURRENT_DATE - INTERVAL '1' DAY AND __time < CURRENT_DATE + INTERVAL '1' MONTH",
    '2026-03-08T04:00/2026-04-09T04:00',
    monday,
  ],
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '1' MONTH AND __time < INTERVAL '1' HOUR + CURRENT_TIMESTAMP",
    '2026-02-08T16:30:00.123/2026-03-08T16:30:00.123',
    sunday,
  ],
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '1' YEAR AND __time < CURRENT_TIMESTAMP",
    '2025-03-08T16:30:00.123/2026-03-08T15:30:00.123',
    sunday,
  ],
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '100' DAY AND __time < CURRENT_TIMESTAMP",
    '2025-11-28T15:30:00.123/2026-03-08T15:30:00.123',
    sunday,
  ],
  [
    "__time >= TIME_SHIFT(CURRENT_TIMESTAMP, 'P1D', -1) AND __time < CURRENT_TIMESTAMP",
    '2026-03-07T16:30:00.123/2026-03-08T15:30:00.123',
    sunday,
  ],
  [
    "__time >= TIME_SHIFT(CURRENT_TIMESTAMP, 'PT24H', -1) AND __time < CURRENT_TIMESTAMP",
    '2026-03-07T15:30:00.123/2026-03-08T15:30:00.123',
    sunday,
  ],
  [
    "__time >= TIME_SHIFT(CURRENT_TIMESTAMP, 'P1D', -1, 'UTC') AND __time < TIME_SHIFT(CURRENT_TIMESTAMP, 'P1M', 1)",
    '2026-03-07T15:30:00.123/2026-04-08T15:30:00.123',
    sunday,
  ],
  [
    "__time >= TIME_SHIFT(CURRENT_TIMESTAMP, 'P1DT12H', -2) AND __time < TIME_SHIFT(CURRENT_TIMESTAMP, 'P1Y', 1)",
    '2026-03-06T16:30:00.123/2027-03-09T16:30:00.123',
    monday,
  ],
  [
    '__time >= TIMESTAMPADD(DAY, -1, CURRENT_TIMESTAMP) AND __time < TIMESTAMPADD(SECOND, 30, CURRENT_TIMESTAMP)',
    '2026-03-07T15:30:00.123/2026-03-08T15:30:30.123',
    sunday,
  ],
  [
    '__time >= TIMESTAMPADD(week, -1, CURRENT_TIMESTAMP) AND __time < CURRENT_TIMESTAMP',
    '2026-03-01T15:30:00.123/2026-03-08T15:30:00.123',
    sunday,
  ],
  [
    '__time >= TIMESTAMPADD(SQL_TSI_QUARTER, -1, CURRENT_TIMESTAMP) AND __time < CURRENT_TIMESTAMP',
    '2025-12-08T16:30:00.123/2026-03-08T15:30:00.123',
    sunday,
  ],
  [
    '__time >= FLOOR(CURRENT_TIMESTAMP TO DAY) AND __time < CEIL(CURRENT_TIMESTAMP TO DAY)',
    '2026-03-08T05:00/2026-03-09T04:00',
    sunday,
  ],
  [
    "__time >= DATE_TRUNC('hour', CURRENT_TIMESTAMP) AND __time < TIME_CEIL(CURRENT_TIMESTAMP, 'PT1H')",
    '2026-03-08T15:00/2026-03-08T16:00',
    sunday,
  ],
  [
    "__time >= TIME_FLOOR(CURRENT_TIMESTAMP, 'P1W') AND __time < TIME_FLOOR(CURRENT_TIMESTAMP, 'P1D', NULL, 'UTC')",
    '2026-03-02T05:00/2026-03-08',
    sunday,
  ],
  [
    '__time >= CAST(CURRENT_TIMESTAMP AS DATE) AND __time < CURRENT_TIMESTAMP',
    '2026-03-08T05:00/2026-03-08T15:30:00.123',
    sunday,
  ],
  // Druid 33 takes these for an hour and for a month.
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '1' WEEK AND __time < CURRENT_TIMESTAMP",
    'unsafe_function',
    sunday,
  ],
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '1' QUARTER AND __time < CURRENT_TIMESTAMP",
    'unsafe_function',
    sunday,
  ],
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '1' DAY * 2 AND __time < CURRENT_TIMESTAMP",
    'unsafe_function',
    sunday,
  ],
  ['__time >= CURRENT_TIMESTAMP(0) AND __time < CURRENT_TIMESTAMP', 'unsafe_function', sunday],
  ["__time >= '2026-01-01' AND __time < '2026-01-02' AND page = CURRENT_USER", 'unsafe_function'],
  // The second time that clocks show 01:30, Druid's clock has lost an hour.
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '1' DAY AND __time < CURRENT_TIMESTAMP",
    'invalid_parameter',
    { ...newYork, now: '2026-11-01T06:30:00Z' },
  ],
  [
    "__time >= CURRENT_TIMESTAMP - INTERVAL '1' HOUR AND __time < CURRENT_TIMESTAMP",
    '2026-11-01T04:30/2026-11-01T05:30',
    { ...newYork, now: '2026-11-01T05:30:00Z' },
  ],
])

check('computed from literals', [
  [
    "__time >= TIMESTAMP '2026-03-08 12:00:00' - INTERVAL '1' DAY AND __time < TIMESTAMP '2026-03-09 00:00:00'",
    '2026-03-07T16:00/2026-03-09T04:00',
    newYork,
  ],
  [
    "__time >= TIMESTAMP '2026-01-31 00:00:00' + INTERVAL '1' MONTH AND __time < DATE '2026-03-09' - INTERVAL '1' DAY",
    '2026-02-28T05:00/2026-03-08T04:00',
    newYork,
  ],
  [
    "__time >= TIMESTAMP '2026-11-01 03:00:00' - INTERVAL '90' MINUTE + INTERVAL '30' MINUTE AND __time < TIMESTAMP '2026-11-01 05:00:00'",
    '2026-11-01T07:00/2026-11-01T10:00',
    newYork,
  ],
  // A computed value becomes a local time, and this one comes twice.
  [
    "__time >= TIMESTAMP '2026-11-01 03:00:00' - INTERVAL '90' MINUTE AND __time < TIMESTAMP '2026-11-01 05:00:00'",
    'too_many_buckets',
    newYork,
  ],
  [
    '__time >= MILLIS_TO_TIMESTAMP(1793512800000) AND __time < MILLIS_TO_TIMESTAMP(1793530800000)',
    'too_many_buckets',
    newYork,
  ],
  ["__time >= TIME_SHIFT('2026-01-01', 'P1D', 1) AND __time < '2026-02-01'", 'too_many_buckets'],
  [
    "__time >= TIME_FLOOR(TIMESTAMP '2026-01-01 10:30:00', 'PT6H') AND __time < '2026-01-02T10:00:00Z'",
    '2026-01-01T11:00/2026-01-02T10:00',
    newYork,
  ],
])

check('parameters', [
  [
    '__time >= ? AND __time < ?',
    dayInNewYork,
    {
      ...newYork,
      parameters: [
        { type: 'TIMESTAMP', value: 1767225600000 },
        { type: 'TIMESTAMP', value: '2026-01-02T00:00:00Z' },
      ],
    },
  ],
  [
    '__time >= ? AND __time < ?',
    '2026-01-01T05:00/2026-01-02',
    {
      ...newYork,
      parameters: [
        { type: 'VARCHAR', value: '2026-01-01' },
        { type: 'VARCHAR', value: '2026-01-02T00:00:00Z' },
      ],
    },
  ],
  [
    '__time >= ? AND __time < ?',
    day,
    {
      parameters: [
        { type: 'TIMESTAMP', value: '2026-01-01 00:00:00' },
        { type: 'TIMESTAMP', value: '2026-01-02' },
      ],
    },
  ],
  [
    '__time >= ? AND __time < ?',
    'too_many_buckets',
    {
      parameters: [
        { type: 'TIMESTAMP', value: '2026-01-01 00:00:00.000' },
        { type: 'TIMESTAMP', value: '2026-01-02' },
      ],
    },
  ],
  [
    '__time >= MILLIS_TO_TIMESTAMP(?) AND __time < TIME_PARSE(?)',
    day,
    {
      parameters: [
        { type: 'BIGINT', value: 1767225600000 },
        { type: 'VARCHAR', value: '2026-01-02' },
      ],
    },
  ],
  ['TIME_IN_INTERVAL(__time, ?)', day, { parameters: [{ type: 'VARCHAR', value: '2026-01-01/P1D' }] }],
  [
    '__time >= ? AND __time < ?',
    'invalid_parameter',
    { parameters: [{ type: 'VARCHAR', value: '2026-01-01' }] },
  ],
  [
    '__time >= ? AND __time < ?',
    'too_many_buckets',
    { parameters: [null, { type: 'VARCHAR', value: '2026-01-01' }] },
  ],
])

check('conditions that are connected', [
  ["(__time >= '2026-01-01' AND (__time < '2026-01-02' AND page = 'A'))", day],
  [
    "__time >= '2026-01-01' AND __time < '2026-01-05' AND (__time < '2026-01-02' OR __time >= '2026-01-04')",
    '2026-01-01/2026-01-02,2026-01-04/2026-01-05',
  ],
  [
    "TIME_IN_INTERVAL(__time, '2026-01-01/P1D') OR TIME_IN_INTERVAL(__time, '2026-01-02/P1D') OR TIME_IN_INTERVAL(__time, '2026-01-10/P1D')",
    '2026-01-01/2026-01-03,2026-01-10/2026-01-11',
  ],
  [
    "(TIME_IN_INTERVAL(__time, '2026-01-01/P1D') AND page = 'A') OR TIME_IN_INTERVAL(__time, '2026-01-02/P1D')",
    'too_many_buckets',
  ],
  // Rows are filtered by these, each by itself.
  ["TIME_IN_INTERVAL(__time, '2026-01-01/P1D') AND (__time < '2026-01-01T05:00:00' OR page = 'A')", day],
  ["TIME_IN_INTERVAL(__time, '2026-01-01/P1D') AND NOT (__time < '2026-01-01T05:00:00')", day],
  [
    "TIME_IN_INTERVAL(__time, '2026-01-01/P1D') AND __time <> '2026-01-01T05:00:00' AND __time IN ('2026-01-01')",
    day,
  ],
  ["TIME_IN_INTERVAL(__time, '2026-01-01/P1D') AND __time NOT BETWEEN '2026-01-01' AND '2026-01-05'", day],
  ["TIME_IN_INTERVAL(__time, '2026-01-01/P1D') AND __time >= '2026-01-01T05:00:00' IS TRUE", day],
  ["TIME_IN_INTERVAL(__time, '2026-01-01/P1D') AND FLOOR(__time TO HOUR) > '2026-01-01T05:00:00'", day],
  [
    "TIME_IN_INTERVAL(__time, '2026-01-01/P1D') AND CASE WHEN __time > '2026-01-01' AND TRUE THEN 1 ELSE 0 END = 1",
    day,
  ],
  ["__time >= '2026-01-02' AND __time < '2026-01-01'", 'invalid_parameter'],
  ["__time < '2026-01-02'", 'too_many_buckets'],
  ["page = 'A'", 'too_many_buckets'],
])

test('an order of ANDs and brackets does not matter', () => {
  const bounds = [
    "__time >= '2026-01-01'",
    "__time < '2026-01-02'",
    "page = 'A'",
    "country LIKE 'D%'",
    '(1 = 1)',
  ]
  fc.assert(
    fc.property(fc.shuffledSubarray(bounds, { minLength: 5 }), fc.nat(4), fc.nat(4), (parts, a, b) => {
      const [first, last] = [Math.min(a, b), Math.max(a, b)]
      const where = parts
        .map((part, i) => `${i === first ? '(' : ''}${part}${i === last ? ')' : ''}`)
        .join(' AND ')
      assert.equal(boundsOf(where, {}), day)
    }),
  )
})

check('digits of a fraction below the millisecond are dropped', [
  [`"__time" >= '2026-01-01 00:00:00.000000' AND "__time" < '2026-01-02 00:00:00.000000'`, day],
  [
    `"__time" >= '2026-01-01 00:00:00.000000' AND "__time" < '2026-01-02 00:00:00.000000'`,
    dayInNewYork,
    newYork,
  ],
  [
    "__time > '2026-01-01 00:00:00.123999' AND __time <= '2026-01-02 00:00:00.999999'",
    '2026-01-01T00:00:00.124/2026-01-02T00:00:01',
  ],
  [
    "__time >= '2026-01-01T00:00:00.123456789Z' AND __time < TIME_PARSE('2026-01-02 00:00:00.9999')",
    '2026-01-01T00:00:00.123/2026-01-02T00:00:00.999',
  ],
  [
    "__time >= '1969-01-01 00:00:00.9999' AND __time < CAST('1969-01-02 00:00:00.000001+01:00' AS TIMESTAMP)",
    '1969-01-01T00:00:00.999/1969-01-01T23:00',
  ],
  // Ten digits, two spaces, a space at the end, a zone's name: Druid refuses them.
  ["__time >= '2026-01-01 00:00:00.1234567890'", 'too_many_buckets'],
  ["__time >= '2026-01-01  00:00:00'", 'too_many_buckets'],
  ["__time >= '2026-01-01 00:00:00 '", 'too_many_buckets'],
  ["__time >= '2026-01-01 00:00:00.000 UTC'", 'too_many_buckets'],
  ["__time >= '2026-01-01 00:00:00.'", 'too_many_buckets'],
])
