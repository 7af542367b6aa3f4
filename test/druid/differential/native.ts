/** Forms of native queries: an object without its intervals, written in one of the ways that mean the same. */
import type { Random } from '../../fidelity/random.ts'
import { type DataSet, eligibility, type Form, type Marks } from './form.ts'
import { spellIntervals } from './intervals.ts'

type Members = Readonly<Record<string, unknown>>

export interface NativeMarks extends Marks {
  readonly dataSet?: DataSet
  /** Where windows begin and end, if the query's own granularity does not define it. */
  readonly buckets?: unknown
  /** Instead of `intervals`, for forms whose point is how they are written. */
  readonly intervals?: unknown
}

export function native(query: Members, marks: NativeMarks = {}): Form {
  const { dataSet = 'wiki', buckets = query['granularity'], intervals, ...others } = marks
  const full = { dataSource: dataSet, ...query }
  return {
    name: JSON.stringify(intervals === undefined ? full : { ...full, intervals }),
    kind: 'native',
    dataSet,
    buckets,
    ...eligibility(others),
    ask: (spans, random) => ({
      path: random.chance(0.1) ? '/druid/v2/' : '/druid/v2',
      body: write({ ...full, intervals: intervals ?? spellIntervals(spans, random) }, random),
    }),
  }
}

/** Members in some order, with or without spaces, and with a context that changes nothing. */
function write(query: Members, random: Random): string {
  const context = random.chance(0.15)
    ? { ...(query['context'] as Members), ...incidental(random) }
    : query['context']
  const members = Object.entries({ ...query, ...(context === undefined ? {} : { context }) })
  const ordered = random.chance(0.2) ? random.shuffle(members) : members
  return JSON.stringify(Object.fromEntries(ordered), null, random.chance(0.1) ? 2 : 0)
}

const incidental = (random: Random): Members =>
  random.pick<Members>([
    { priority: random.int(0, 100) },
    { queryId: `viewer-${random.int(0, 1e9)}` },
    { useCache: false, populateCache: 'false' },
    { useFilterCNF: random.pick(['false', 'true', true]), timeout: 60_000 + random.int(0, 5) },
  ])

const aggregations = {
  n: { type: 'count', name: 'n' },
  added: { type: 'longSum', name: 'added', fieldName: 'added' },
  big: { type: 'longSum', name: 'big', fieldName: 'big' },
  delta: { type: 'doubleSum', name: 'delta', fieldName: 'delta' },
  rate: { type: 'doubleSum', name: 'rate', fieldName: 'rate' },
  score: { type: 'floatSum', name: 'score', fieldName: 'score' },
  sold: { type: 'longSum', name: 'sold', fieldName: 'sold' },
  price: { type: 'doubleSum', name: 'price', fieldName: 'price' },
  users: { type: 'hyperUnique', name: 'users', fieldName: 'users' },
} as const

/** The aggregators of these names, in this order. */
export const sums = (...names: (keyof typeof aggregations)[]) => names.map((name) => aggregations[name])

export const timeseries = (granularity: unknown, more: Members = {}): Members => ({
  queryType: 'timeseries',
  granularity,
  aggregations: sums('n', 'added', 'delta'),
  ...more,
})

export const groupBy = (
  granularity: unknown,
  dimensions: readonly unknown[],
  more: Members = {},
): Members => ({
  queryType: 'groupBy',
  granularity,
  dimensions,
  aggregations: sums('n', 'added', 'delta'),
  ...more,
})

export const topN = (granularity: unknown, dimension: unknown, more: Members = {}): Members => ({
  queryType: 'topN',
  granularity,
  dimension,
  metric: 'added',
  threshold: 5,
  aggregations: sums('n', 'added', 'delta'),
  ...more,
})

export const period = (text: string, timeZone?: string, origin?: string) => ({
  type: 'period',
  period: text,
  ...(timeZone !== undefined && { timeZone }),
  ...(origin !== undefined && { origin }),
})
