/** The one plain sentence at the end of an explanation. */
import type { BucketState } from '../core/coverage.ts'
import { type BypassReason, bypassReasons } from '../core/decision.ts'
import type { MarkKind } from '../core/mark.ts'
import type { ExplainedRun, Explanation } from './explain.ts'
import type { Miss } from './miss.ts'

type Runs = readonly ExplainedRun[]

export const bypassSentence = (reason: BypassReason, detail: string | undefined): string =>
  `Bypass: ${bypassReasons[reason]}${detail === undefined ? '' : ` (${detail})`}; the database would be asked as it came.`

export function hitSentence(runs: Runs): string {
  const left = Math.min(...runs.map((run) => run.ttlLeftMs?.min ?? Number.POSITIVE_INFINITY))
  return `Hit: ${all(countOf(runs))} fresh, and the first stops being so in ${duration(left)}; the database would not be asked.`
}

export const refusedSentence = (runs: Runs): string =>
  `Refused: the client accepts only a stored answer, and only ${countOf(runs, 'fresh')} of ${buckets(countOf(runs))} are fresh.`

interface Filling extends Miss, Pick<Explanation, 'joined' | 'asked'> {
  readonly runs: Runs
}

/** `Partial: 354 of 360 buckets are fresh; the last 6 expired 2 s ago and would be asked for.` */
export function fillSentence({ outcome, reason, runs, joined = [], asked }: Filling): string {
  const [total, fresh] = [countOf(runs), countOf(runs, 'fresh')]
  const state = fresh === 0 ? `no bucket of ${total} is` : `${fresh} of ${buckets(total)} ${are(fresh)}`
  const others = fresh === 0 ? 'they' : 'the others'
  const why = reason === 'revalidate' ? `${others} are older than the client wants` : lacking(runs)
  const name = outcome === 'miss' ? 'Miss' : 'Partial'
  return `${name}: ${state} fresh; ${why}${asking(total - fresh, joined.length, asked?.buckets)}.`
}

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
  return asked === needed ? ' and would be asked for' : ` and would be asked for in one piece of ${asked}`
}

const countOf = (runs: Runs, state?: BucketState): number =>
  runs.reduce((sum, run) => (state === undefined || run.state === state ? sum + run.buckets : sum), 0)

const buckets = (count: number): string => `${count} ${count === 1 ? 'bucket' : 'buckets'}`

const were = (count: number): string => (count === 1 ? 'was' : 'were')

const are = (count: number): string => (count === 1 ? 'is' : 'are')

const all = (count: number): string => (count === 1 ? 'the one bucket is' : `all ${count} buckets are`)

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
