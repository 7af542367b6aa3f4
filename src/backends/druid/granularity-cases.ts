/**
 * Where buckets begin for Druid itself, from its own code (33.0.0): for tests. Omitted times are 0, and all are in UTC.
 */

export interface GranularityCase {
  readonly granularity: string | object
  /** Half-open. */
  readonly range: string
  /** The buckets that overlap the range, the first as if it were whole. */
  readonly starts: string
}

const table = `
second | 2026-01-01T00:00:00.500Z/2026-01-01T00:00:02Z | 2026-01-01 2026-01-01T00:00:01Z
minute | 1969-12-31T23:58:30Z/1970-01-01T00:01Z | 1969-12-31T23:58Z 1969-12-31T23:59Z 1970-01-01
Five_Minute | 2026-01-01T00:03Z/2026-01-01T00:11Z | 2026-01-01 2026-01-01T00:05Z 2026-01-01T00:10Z
ten_minute | 2026-01-01T00:03Z/2026-01-01T00:21Z | 2026-01-01 2026-01-01T00:10Z 2026-01-01T00:20Z
fifteen_minute | 2026-01-01T00:03Z/2026-01-01T00:31Z | 2026-01-01 2026-01-01T00:15Z 2026-01-01T00:30Z
THIRTY_MINUTE | 2026-01-01T00:03Z/2026-01-01T01:31Z | 2026-01-01 2026-01-01T00:30Z 2026-01-01T01:00Z 2026-01-01T01:30Z
hour | 2026-01-01T00:03Z/2026-01-01T02:31Z | 2026-01-01 2026-01-01T01:00Z 2026-01-01T02:00Z
six_hour | 2026-01-01T00:03Z/2026-01-01T12:31Z | 2026-01-01 2026-01-01T06:00Z 2026-01-01T12:00Z
eight_hour | 2026-01-01T00:03Z/2026-01-01T12:31Z | 2026-01-01 2026-01-01T08:00Z
day | 1969-12-30T05:00Z/1970-01-02 | 1969-12-30 1969-12-31 1970-01-01
week | 2026-01-01/2026-01-13 | 2025-12-29 2026-01-05 2026-01-12
month | 2026-01-15/2026-04-01 | 2026-01-01 2026-02-01 2026-03-01
quarter | 2025-12-15/2026-08-01 | 2025-10-01 2026-01-01 2026-04-01 2026-07-01
year | 2023-12-15/2026-08-01 | 2023-01-01 2024-01-01 2025-01-01 2026-01-01
{"type":"duration","duration":7200000} | 2025-12-31T23:00Z/2026-01-01T03:00Z | 2025-12-31T22:00Z 2026-01-01 2026-01-01T02:00Z
{"type":"duration","duration":"3600000","origin":"2020-01-01T00:10:00"} | 2026-01-01/2026-01-01T02:00Z | 2025-12-31T23:10Z 2026-01-01T00:10Z 2026-01-01T01:10Z
{"type":"duration","duration":3600000,"origin":1577837400000} | 2026-01-01/2026-01-01T02:00Z | 2025-12-31T23:10Z 2026-01-01T00:10Z 2026-01-01T01:10Z
{"type":"period","period":"PT1H","timeZone":"Asia/Kolkata"} | 2026-01-01/2026-01-01T03:00Z | 2025-12-31T23:30Z 2026-01-01T00:30Z 2026-01-01T01:30Z 2026-01-01T02:30Z
{"type":"period","period":"PT1H","timeZone":"Asia/Kathmandu"} | 2026-01-01/2026-01-01T03:00Z | 2025-12-31T23:15Z 2026-01-01T00:15Z 2026-01-01T01:15Z 2026-01-01T02:15Z
{"type":"period","period":"PT1H","timeZone":"America/New_York"} | 2026-11-01T04:30Z/2026-11-01T07:30Z | 2026-11-01T04:00Z 2026-11-01T05:00Z 2026-11-01T06:00Z 2026-11-01T07:00Z
{"type":"period","period":"PT30M","timeZone":"Australia/Lord_Howe"} | 2026-10-03T15:00Z/2026-10-03T16:30Z | 2026-10-03T15:00Z 2026-10-03T15:30Z 2026-10-03T16:00Z
{"type":"period","period":"PT1H","timeZone":"Australia/Lord_Howe"} | 2026-07-01/2026-07-01T03:00Z | 2026-06-30T23:30Z 2026-07-01T00:30Z 2026-07-01T01:30Z 2026-07-01T02:30Z
{"type":"period","period":"PT6H","timeZone":"America/New_York"} | 2026-03-08/2026-03-09 | 2026-03-07T23:00Z 2026-03-08T05:00Z 2026-03-08T11:00Z 2026-03-08T17:00Z 2026-03-08T23:00Z
{"type":"period","period":"PT6H","timeZone":"Asia/Kolkata"} | 2026-03-08/2026-03-09 | 2026-03-07T18:30Z 2026-03-08T00:30Z 2026-03-08T06:30Z 2026-03-08T12:30Z 2026-03-08T18:30Z
{"type":"period","period":"PT6H","timeZone":"Europe/Berlin"} | 2026-03-28T12:00Z/2026-03-29T12:00Z | 2026-03-28T11:00Z 2026-03-28T17:00Z 2026-03-28T23:00Z 2026-03-29T05:00Z 2026-03-29T11:00Z
{"type":"period","period":"PT15M","timeZone":"Asia/Kathmandu"} | 2026-03-08/2026-03-08T00:40Z | 2026-03-08 2026-03-08T00:15Z 2026-03-08T00:30Z
{"type":"period","period":"PT1H","origin":"2020-01-01T00:10:00+05:30"} | 2026-01-01/2026-01-01T02:00Z | 2025-12-31T23:40Z 2026-01-01T00:40Z 2026-01-01T01:40Z
{"type":"period","period":"PT2H","timeZone":"America/New_York","origin":"2020-01-01T00:10"} | 2026-01-01/2026-01-01T05:00Z | 2025-12-31T22:10Z 2026-01-01T00:10Z 2026-01-01T02:10Z 2026-01-01T04:10Z
{"type":"period","period":"P1D","timeZone":"America/New_York"} | 2026-03-07/2026-03-10 | 2026-03-06T05:00Z 2026-03-07T05:00Z 2026-03-08T05:00Z 2026-03-09T04:00Z
{"type":"period","period":"P1D","timeZone":"America/New_York"} | 2026-10-31/2026-11-03 | 2026-10-30T04:00Z 2026-10-31T04:00Z 2026-11-01T04:00Z 2026-11-02T05:00Z
{"type":"period","period":"P1D","timeZone":"Europe/Berlin"} | 2026-03-28/2026-03-31 | 2026-03-27T23:00Z 2026-03-28T23:00Z 2026-03-29T22:00Z 2026-03-30T22:00Z
{"type":"period","period":"P1D","timeZone":"+05:30"} | 2026-03-28/2026-03-30 | 2026-03-27T18:30Z 2026-03-28T18:30Z 2026-03-29T18:30Z
{"type":"period","period":"P1D","timeZone":"-0330"} | 1969-03-28/1969-03-30 | 1969-03-27T03:30Z 1969-03-28T03:30Z 1969-03-29T03:30Z
{"type":"period","period":"P1D","timeZone":"America/Sao_Paulo"} | 2018-12-01/2018-12-03 | 2018-11-30T02:00Z 2018-12-01T02:00Z 2018-12-02T02:00Z
{"type":"period","period":"P1D","timeZone":"America/New_York","origin":"2020-01-01T11:00:00Z"} | 2026-03-07/2026-03-10 | 2026-03-06T11:00Z 2026-03-07T11:00Z 2026-03-08T10:00Z 2026-03-09T10:00Z
{"type":"period","period":"P2D","timeZone":"Europe/Berlin"} | 2026-03-26/2026-04-01 | 2026-03-25T23:00Z 2026-03-27T23:00Z 2026-03-29T22:00Z 2026-03-31T22:00Z
{"type":"period","period":"P7D"} | 2026-01-01/2026-01-13 | 2026-01-01 2026-01-08
{"type":"period","period":"P1W","timeZone":"America/New_York"} | 2026-03-01/2026-03-17 | 2026-02-23T05:00Z 2026-03-02T05:00Z 2026-03-09T04:00Z 2026-03-16T04:00Z
{"type":"period","period":"P2W","timeZone":"Asia/Kolkata"} | 2026-03-01/2026-04-01 | 2026-02-25T18:30Z 2026-03-11T18:30Z 2026-03-25T18:30Z
{"type":"period","period":"P1M","timeZone":"Europe/Berlin"} | 2026-02-10/2026-05-01 | 2026-01-31T23:00Z 2026-02-28T23:00Z 2026-03-31T22:00Z 2026-04-30T22:00Z
{"type":"period","period":"P1M","origin":"2020-01-15"} | 2026-02-10/2026-05-01 | 2026-01-15 2026-02-15 2026-03-15 2026-04-15
{"type":"period","period":"P2M","timeZone":"America/New_York"} | 2026-02-10/2026-09-01 | 2026-01-01T05:00Z 2026-03-01T05:00Z 2026-05-01T04:00Z 2026-07-01T04:00Z
{"type":"period","period":"P3M","timeZone":"Pacific/Apia"} | 2011-11-01/2012-08-01 | 2011-10-01T10:00Z 2011-12-31T10:00Z 2012-03-31T10:00Z 2012-06-30T11:00Z
{"type":"period","period":"P1Y","timeZone":"Asia/Kolkata"} | 2024-11-01/2026-08-01 | 2023-12-31T18:30Z 2024-12-31T18:30Z 2025-12-31T18:30Z
{"type":"period","period":"P10Y"} | 1964-11-01/1986-08-01 | 1960-01-01 1970-01-01 1980-01-01
{"type":"period","period":"P1DT12H"} | 2026-01-01/2026-01-04 | 2026-01-01 2026-01-02T12:00Z
{"type":"period","period":"PT1H30M","timeZone":"-05:00"} | 2026-01-01/2026-01-01T04:00Z | 2025-12-31T23:00Z 2026-01-01T00:30Z 2026-01-01T02:00Z 2026-01-01T03:30Z
{"type":"period","period":"PT0.5S"} | 2026-01-01T00:00:00.100Z/2026-01-01T00:00:01.100Z | 2026-01-01 2026-01-01T00:00:00.500Z 2026-01-01T00:00:01Z
{"type":"period","period":"P0DT1H"} | 2026-01-01/2026-01-01T02:00Z | 2026-01-01 2026-01-01T01:00Z
`

export const granularityCases: readonly GranularityCase[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [granularity = '', range = '', starts = ''] = line.split(' | ')
    return { granularity: granularity.startsWith('{') ? JSON.parse(granularity) : granularity, range, starts }
  })
