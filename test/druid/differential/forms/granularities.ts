/** Every kind of granularity, with every type of query, over the nights on which clocks change and over years. */
import type { Form } from '../form.ts'
import { groupBy, native, period, sums, timeseries, topN } from '../native.ts'

const newYork = 'America/New_York'
const berlin = 'Europe/Berlin'

const duration = (ms: number | string, origin?: string) => ({
  type: 'duration',
  duration: ms,
  ...(origin !== undefined && { origin }),
})

/** For edits of a wiki: ten days in two spans. */
const short: readonly unknown[] = [
  'second',
  'minute',
  'five_minute',
  'ten_minute',
  'FIFTEEN_MINUTE',
  'thirty_minute',
  'Hour',
  'six_hour',
  'eight_hour',
  'day',
  duration(45_000),
  duration('7200000'),
  duration(5_400_000, '2026-03-01T00:10:00Z'),
  duration(86_400_000, '2026-01-01T06:00:00.000Z'),
  duration('10800000', '2026-03-08'),
  period('PT10S'),
  period('PT1M', newYork),
  period('PT5M'),
  period('PT7M'),
  period('PT15M', berlin),
  period('PT30M', 'Asia/Kolkata'),
  period('PT45M', 'Asia/Kathmandu'),
  period('PT1H'),
  period('PT1H', newYork),
  period('PT1H', berlin),
  period('PT1H', 'Asia/Kolkata'),
  period('PT2H', newYork),
  period('PT3H', berlin),
  period('PT6H', newYork),
  period('PT6H', berlin),
  period('PT12H', newYork, '2026-03-01T05:00:00Z'),
  period('PT4H', berlin, '2026-01-01T00:00:00+01:00'),
  period('P1D'),
  period('P1D', newYork),
  period('P1D', berlin),
  period('P1D', 'America/Los_Angeles'),
  period('P1D', 'Asia/Kolkata'),
  period('P1D', 'Pacific/Auckland'),
  period('P1D', 'Australia/Lord_Howe'),
  period('P1D', '-08:00'),
  period('P1D', newYork, '2026-03-01T11:00:00Z'),
  period('P2D', newYork),
  period('P1DT12H'),
  period('PT1H30M'),
  period('PT1H30M', 'UTC', '2026-03-06T00:15:00Z'),
]

/** For three years of sales. */
const long: readonly unknown[] = [
  'day',
  'week',
  'MONTH',
  'quarter',
  'year',
  duration(604_800_000),
  period('P1D', newYork),
  period('P3D', berlin),
  period('P1W'),
  period('P1W', newYork),
  period('P1W', berlin),
  period('P1W', berlin, '2023-01-01T00:00:00+01:00'),
  period('P7D', newYork),
  period('P2W'),
  period('P1M', newYork),
  period('P1M', berlin),
  period('P1M', 'UTC', '2023-01-15T00:00:00Z'),
  period('P2M', berlin),
  period('P3M', newYork),
  period('P6M'),
  period('P1Y', berlin),
  period('P1Y', newYork, '2023-04-01T04:00:00Z'),
]

const years = { dataSet: 'years' } as const
const sales = { aggregations: sums('n', 'sold', 'price') }

/** One of the other types for each granularity, in turn. */
const others: readonly ((granularity: unknown) => Form)[] = [
  (granularity) => native(groupBy(granularity, ['country'])),
  (granularity) => native(topN(granularity, 'page')),
  (granularity) => native(groupBy(granularity, ['robot', 'country'], { context: { resultAsArray: true } })),
  (granularity) => native(topN(granularity, 'country', { threshold: 2 })),
]

const othersOfYears: readonly ((granularity: unknown) => Form)[] = [
  (granularity) => native(groupBy(granularity, ['shop'], sales), years),
  (granularity) => native(topN(granularity, 'kind', { ...sales, metric: 'sold', threshold: 2 }), years),
]

export const granularityForms: readonly Form[] = [
  ...short.map((granularity) => native(timeseries(granularity))),
  ...short.map((granularity, i) => others[i % others.length]!(granularity)),
  ...long.map((granularity) => native(timeseries(granularity, sales), years)),
  ...long.map((granularity, i) => othersOfYears[i % othersOfYears.length]!(granularity)),
  native(topN(period('P1D', newYork), 'tags')),
  native(groupBy(period('P1D', berlin), ['page'])),
  native(topN(period('P1M', berlin), 'shop', { ...sales, metric: 'sold' }), years),
]
