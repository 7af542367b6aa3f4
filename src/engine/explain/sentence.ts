/** The one plain sentence at the end of an explanation. */
import type { Bypass } from '../../backends/backend.ts'
import type { BucketState } from '../../core/coverage-runs.ts'
import { planningReasons, type ReasonWords, servingReasons } from '../../core/decision.ts'
import type { MarkKind } from '../../core/mark.ts'
import type { Miss } from '../gaps.ts'
import type { ExplainedRun, Explanation } from './explain.ts'

type Runs = readonly ExplainedRun[]

const generalReasons: Readonly<Record<string, ReasonWords>> = { ...planningReasons, ...servingReasons }

/** `own`: the reasons that the database itself declares. */
export const bypassSentence = (
  { bypass, detail }: Bypass<string>,
  own: Readonly<Record<string, ReasonWords>> = {},
): string =>
  `Bypass: ${(generalReasons[bypass] ?? own[bypass])?.meaning ?? bypass}${detail === undefined ? '' : ` (${detail})`}; the request would be forwarded unchanged.`

export function hitSentence(runs: Runs): string {
  const left = Math.min(...runs.map((run) => run.ttlLeftMs?.min ?? Number.POSITIVE_INFINITY))
  return `Hit: ${all(countOf(runs))} fresh${vouchedFor(runs)}, and the first stops being so in ${duration(left)}; the database would not be queried.`
}

/** ` (300 of them past their TTLs, but unchanged since they were fetched)`. */
function vouchedFor(runs: Runs): string {
  const count = countOf(runs.filter(({ vouched }) => vouched === true))
  return count === 0 ? '' : ` (${count} of them past their TTLs, but unchanged since they were fetched)`
}

/** `parts`: buckets of which only a part is wanted. */
export function refusedSentence(runs: Runs, parts: number): string {
  const why =
    parts > 0
      ? 'a bucket of which only a part is wanted is not fresh in that part'
      : `only ${countOf(runs, 'fresh')} of ${buckets(countOf(runs))} are fresh`
  return `Refused: the client accepts only a stored answer, and ${why}.`
}

interface Filling extends Miss, Pick<Explanation, 'joined' | 'asked' | 'unstored'> {
  readonly runs: Runs
  /** Buckets of which only a part is wanted. */
  readonly parts: number
}

/** `Partial: 354 of 360 buckets are fresh; the last 6 expired 2 s ago and would be fetched.` */
export const fillSentence = (filling: Filling): string =>
  `${gapsSentence(filling)}${unstoredSentence(filling)}`

function unstoredSentence({ unstored }: Filling): string {
  if (unstored === undefined) return ''
  return ` The last answer was not stored: ${generalReasons[unstored.reason]!.meaning} (${unstored.detail}).`
}

function gapsSentence(filling: Filling): string {
  const { outcome, reason, runs, parts, joined = [], asked } = filling
  if (reason === 'edge') return partsSentence(filling)
  const [total, fresh] = [countOf(runs), countOf(runs, 'fresh')]
  const state = fresh === 0 ? `no bucket of ${total} is` : `${fresh} of ${buckets(total)} ${are(fresh)}`
  const stale = fresh === 0 ? 'they' : 'the others'
  const why = reason === 'revalidate' ? `${stale} are older than the client wants` : lacking(runs)
  const name = outcome === 'miss' ? 'Miss' : 'Partial'
  const how = asking(total - fresh + parts, joined.length, asked?.buckets)
  const also = parts > 0 ? `, with ${partsOf(parts)} of ${others(parts)}` : ''
  return `${name}: ${state} fresh${vouchedFor(runs)}; ${why}${how}${also}.`
}

/** Nothing but parts has to be fetched. */
function partsSentence({ runs, parts, joined = [], asked }: Filling): string {
  const whole = countOf(runs)
  const how = asking(parts, joined.length, asked?.buckets)
  if (whole === 0) {
    const they = parts === 1 ? 'it is' : 'they are'
    return `Miss: only ${partsOf(parts)} of ${buckets(parts)} ${are(parts)} wanted; ${they} not fresh${how}.`
  }
  const fresh = `${all(whole, 'whole ')} fresh${vouchedFor(runs)}`
  return `Partial: ${fresh}; ${others(parts)}, of which only ${partsOf(parts)} ${are(parts)} wanted, ${are(parts)} not${how}.`
}

const partsOf = (count: number): string => (count === 1 ? 'a part' : 'parts')

const others = (count: number): string => `${count} ${count === 1 ? 'other' : 'others'}`

function lacking(runs: Runs): string {
  const unmarked = runs.filter(({ mark }) => mark === undefined)
  const [stale, absent] = [countOf(unmarked, 'stale'), countOf(unmarked, 'absent')]
  const parts = [
    stale > 0 ? `${stale} expired ${longestAgo(unmarked)} ago` : '',
    absent > 0 ? `${absent} ${were(absent)} never fetched, evicted or purged,` : '',
    marked(runs, 'purge', 'purged'),
    marked(runs, 'stale', 'marked as changed'),
  ].filter((part) => part !== '')
  return parts.length === 1 && isAtEnd(runs) ? `the last ${parts[0]}` : parts.join(', ').replaceAll(',,', ',')
}

/** `6 were purged at 2026-01-01T00:00:00.000Z`. */
function marked(runs: Runs, kind: MarkKind, what: string): string {
  const own = runs.filter(({ mark }) => mark?.kind === kind)
  const count = countOf(own)
  const last = Math.max(...own.map(({ mark }) => mark!.at))
  return count === 0 ? '' : `${count} ${were(count)} ${what} at ${new Date(last).toISOString()}`
}

/** Whether fresh buckets come first and all others after them. */
function isAtEnd(runs: Runs): boolean {
  const first = runs.findIndex((run) => run.state !== 'fresh')
  return first > 0 && runs.slice(first).every((run) => run.state !== 'fresh')
}

const longestAgo = (runs: Runs): string =>
  duration(Math.max(...runs.map((run) => (run.state === 'stale' ? -(run.ttlLeftMs?.min ?? 0) : 0))))

function asking(needed: number, flights: number, asked: number | undefined): string {
  if (asked === undefined) return ' and would come with a query that is under way'
  if (flights > 0)
    return ` and would be waited for: ${asked} by a new query, the rest by one that is under way`
  return asked === needed ? ' and would be fetched' : ` and would be fetched in one piece of ${asked}`
}

const countOf = (runs: Runs, state?: BucketState): number =>
  runs.reduce((sum, run) => (state === undefined || run.state === state ? sum + run.buckets : sum), 0)

const buckets = (count: number): string => `${count} ${count === 1 ? 'bucket' : 'buckets'}`

const were = (count: number): string => (count === 1 ? 'was' : 'were')

const are = (count: number): string => (count === 1 ? 'is' : 'are')

const all = (count: number, what = ''): string =>
  count === 1 ? `the one ${what}bucket is` : `all ${count} ${what}buckets are`

/** `2 s`, `3 min`, `1.5 h`: two digits are enough to understand. */
export function duration(ms: number): string {
  const units = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1000, 's'],
  ] as const
  const [length, name] = units.find(([each]) => Math.abs(ms) >= each) ?? [1, 'ms']
  return `${Number((ms / length).toPrecision(2))} ${name}`
}
