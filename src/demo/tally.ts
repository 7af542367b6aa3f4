/**
 * Counts the answers of the viewers and the queries to the database; gives them as one picture that can be drawn or
 * printed.
 */
import type { Clock, EpochMs } from '../core/clock.ts'
import { type Outcome, outcomes } from '../core/decision.ts'
import type { AuditResult } from './audit.ts'
import type { Visit } from './crowd.ts'
import type { DemoQuery, Load } from './database.ts'
import { stepsOf } from './evaluate.ts'

export interface Spread {
  /** 0 where there is nothing yet. */
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface Shares {
  /** Queries of which any part came from the cache, of all queries. */
  readonly anyHit: number
  /** Buckets that were not fetched, of all buckets in answers. */
  readonly fromCache: number
  /** Bucket-seconds that were not fetched, of all that would have been fetched without a cache. */
  readonly loadAvoided: number
}

export interface OutcomeRow extends Spread {
  readonly outcome: Outcome
  readonly count: number
}

export interface RecentRequest {
  readonly outcome: Outcome
  readonly question: DemoQuery
  readonly fetched?: { readonly start: EpochMs; readonly end: EpochMs }
  readonly tookMs: number
}

export interface Staleness extends Spread {
  readonly answers: number
  readonly points: number
  readonly outdated: number
  readonly maxMs: number
  /** Points served longer than their TTL allows. Not one, ever. */
  readonly violations: number
}

export interface Picture {
  readonly elapsedMs: number
  readonly queries: number
  readonly failures: number
  readonly queriesPerSecond: number
  readonly total: Shares
  readonly lastMinute: Shares
  readonly bucketSeconds: { readonly asked: number; readonly withoutCache: number }
  readonly outcomes: readonly OutcomeRow[]
  /** How long the database takes for whole questions. */
  readonly direct: Spread
  readonly staleness: Staleness
  /** Newest first. */
  readonly recent: readonly RecentRequest[]
}

const zero = { at: 0, queries: 0, anyHit: 0, buckets: 0, askedBuckets: 0, withoutCache: 0, asked: 0 }
type Totals = Readonly<typeof zero>

const keptRecent = 40
const minuteMs = 60_000
const betweenMarksMs = 1000

export class Tally {
  readonly #clock: Clock
  readonly #load: Load
  readonly #startedAt: number
  readonly #latencies = new Map<Outcome, Samples>()
  readonly #direct = new Samples()
  readonly #ages = new Samples()
  readonly #recent: RecentRequest[] = []
  /** Totals of the last minute, one a second. */
  readonly #marks: Totals[]
  readonly #counted = { ...zero }
  #failures = 0
  #staleness = { answers: 0, points: 0, outdated: 0, maxMs: 0, violations: 0 }

  constructor(clock: Clock, load: Load) {
    this.#clock = clock
    this.#load = load
    this.#startedAt = clock.elapsed()
    this.#marks = [this.#totals()]
  }

  visited(visit: Visit, fetched: DemoQuery | undefined): void {
    const { outcome, asked } = readStatus(visit.cacheStatus)
    const { question, tookMs } = visit
    const steps = stepsOf(question)
    this.#mark()
    if (visit.status !== 200) this.#failures++
    const latencies = this.#latencies.get(outcome) ?? new Samples()
    this.#latencies.set(outcome, latencies)
    latencies.add(tookMs)
    this.#counted.queries++
    if (outcome === 'hit' || outcome === 'partial' || outcome === 'stale') this.#counted.anyHit++
    this.#counted.buckets += steps
    this.#counted.askedBuckets += Math.min(steps, asked ?? steps)
    this.#counted.withoutCache += (steps * question.stepMs) / 1000
    this.#recent.unshift({ outcome, question, tookMs, ...(fetched !== undefined && { fetched }) })
    this.#recent.length = Math.min(this.#recent.length, keptRecent)
  }

  /** The database itself answered a whole question in so long. */
  askedDirectly(tookMs: number): void {
    this.#direct.add(tookMs)
  }

  audited({ points, outdated, violations }: AuditResult): void {
    const staleness = this.#staleness
    staleness.answers++
    staleness.points += points
    staleness.violations += violations.length
    for (const bucket of outdated) {
      staleness.outdated += bucket.points
      staleness.maxMs = Math.max(staleness.maxMs, bucket.ageMs)
      this.#ages.add(bucket.ageMs)
    }
  }

  picture(): Picture {
    this.#mark()
    const totals = this.#totals()
    const minuteAgo = this.#marks[0]!
    const seconds = Math.max(1, (totals.at - minuteAgo.at) / 1000)
    return {
      elapsedMs: totals.at,
      queries: totals.queries,
      failures: this.#failures,
      queriesPerSecond: (totals.queries - minuteAgo.queries) / seconds,
      total: sharesBetween(zero, totals),
      lastMinute: sharesBetween(minuteAgo, totals),
      bucketSeconds: { asked: totals.asked, withoutCache: totals.withoutCache },
      outcomes: outcomes.flatMap((outcome) => this.#row(outcome)),
      direct: this.#direct.spread(),
      staleness: { ...this.#staleness, ...this.#ages.spread() },
      recent: this.#recent,
    }
  }

  #row(outcome: Outcome): OutcomeRow[] {
    const latencies = this.#latencies.get(outcome)
    return latencies === undefined ? [] : [{ outcome, count: latencies.count, ...latencies.spread() }]
  }

  #totals(): Totals {
    const at = this.#clock.elapsed() - this.#startedAt
    return { ...this.#counted, at, asked: this.#load.bucketSeconds }
  }

  #mark(): void {
    const totals = this.#totals()
    if (totals.at - this.#marks.at(-1)!.at < betweenMarksMs) return
    this.#marks.push(totals)
    while (this.#marks.length > 1 && totals.at - this.#marks[1]!.at >= minuteMs) this.#marks.shift()
  }
}

/** The last numbers of a kind, and how they spread. */
class Samples {
  /** Of all that were added. */
  count = 0
  readonly #ring = new Float64Array(300)

  add(value: number): void {
    this.#ring[this.count++ % this.#ring.length] = value
  }

  spread(): Spread {
    const sorted = this.#ring.slice(0, Math.min(this.count, this.#ring.length)).sort()
    return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) }
  }
}

const quantile = (sorted: Float64Array, q: number): number =>
  sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!

const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0)

function sharesBetween(before: Totals, after: Totals): Shares {
  const grown = (name: keyof Totals): number => after[name] - before[name]
  return {
    anyHit: share(grown('anyHit'), grown('queries')),
    fromCache: share(grown('buckets') - grown('askedBuckets'), grown('buckets')),
    // A fetch under way is counted at the database before its answer is counted here.
    loadAvoided: Math.max(0, share(grown('withoutCache') - grown('asked'), grown('withoutCache'))),
  }
}

const known: ReadonlySet<string> = new Set(outcomes)

/** `windowpane; fwd=partial; stored; detail="partial/absent asked=4 buckets=241"`. */
function readStatus(text: string): { outcome: Outcome; asked: number | undefined } {
  const detail = /detail="(\w+)[^"]*?(?: asked=(\d+))?(?: [^"]*)?"/.exec(text)
  const outcome = detail !== null && known.has(detail[1]!) ? (detail[1] as Outcome) : 'error'
  const asked = detail?.[2] === undefined ? (outcome === 'hit' ? 0 : undefined) : Number(detail[2])
  return { outcome, asked }
}
