/**
 * Probes: buckets that were served to a client are fetched again right after the answer, in the background.
 *
 * A sample is one bucket, drawn uniformly from one age group of the answer, the groups in turn. It measures which share
 * of the served buckets is out of date. So that every answer is as likely to be sampled as any other, the times between
 * samples are random, and of the answers after such a time the second is taken: the first is more likely one after a
 * long pause.
 *
 * A sentinel is four settled neighbours, of one shape after the other. It finds corrections (corrections.ts).
 *
 * Nothing here can delay or change an answer, and an answer pays one comparison while no probe is due.
 */
import type { EpochMs } from '../../core/clock.ts'
import { endOf, firstYoungerThan, type Grid } from '../../core/grid.ts'
import { countOf, type Interval, type Intervals, intersectAll, subtractAll } from '../../core/interval.ts'
import type { Pane } from '../../core/pane.ts'
import { haveSameFrame } from '../../core/pane-join.ts'
import type { LearnedEvent, Refetch, StalenessSample } from '../../ttl/learned/learning.ts'
import { stalenessGroups } from '../../ttl/learned/staleness-meter.ts'
import type { FetchResult } from '../fetch.ts'
import type { GapFiller } from '../fill.ts'
import { partsOf } from '../stored.ts'
import { type IntervalCacheOptions, probeTrip, type Trip, usualProbes } from '../trip.ts'
import { type Corrections, settledAgeOf } from './corrections.ts'
import { noProbes, type ProbeCounts } from './counts.ts'
import { type ShownError, shownError } from './shown-error.ts'

/** An answer that a client was given. */
interface Shown {
  /** Of all buckets, in time order. */
  readonly panes: readonly Pane[]
  /** The buckets that were fetched for this answer. */
  readonly fetched: Intervals
}

const sentinelBuckets = 4
const maxEase = { sample: 3, sentinel: 1.5 }
/** Shapes that had their turn; beyond so many the turns begin again. */
const maxTurns = 1000

export class Prober {
  readonly samples: ProbeCounts = { ...noProbes }
  readonly sentinels: ProbeCounts = { ...noProbes }
  readonly #options: IntervalCacheOptions
  readonly #filler: Pick<GapFiller, 'inBackground'>
  readonly #corrections: Corrections | undefined
  #sampleAt = Number.POSITIVE_INFINITY
  #sentinelAt = Number.POSITIVE_INFINITY
  /** The earlier of both. */
  #dueAt = Number.POSITIVE_INFINITY
  /** The first answer after `#sampleAt` has been given. */
  #isArmed = false
  #group = 0
  readonly #hadTurn = new Set<string>()

  /** Without corrections there is no learning, and nothing is probed. */
  constructor(
    options: IntervalCacheOptions,
    filler: Pick<GapFiller, 'inBackground'>,
    corrections: Corrections | undefined,
  ) {
    this.#options = options
    this.#filler = filler
    this.#corrections = corrections
    if (corrections === undefined) return
    this.#planSample()
    if (options.mark !== undefined) this.#planSentinel()
  }

  /** Called for every answer: the panes of all its buckets, and which of them were fetched for it. */
  answered(trip: Trip, panes: readonly Pane[], fetched: Intervals): void {
    const now = this.#options.clock.now()
    if (now < this.#dueAt || trip.learning === undefined || trip.request.demands.onlyIfCached) return
    if (trip.decision.outcome === 'miss') return
    const shown = { panes, fetched }
    if (now >= this.#sampleAt) {
      if (this.#isArmed) this.#sample(trip, shown, now)
      else this.#isArmed = true
    }
    if (now >= this.#sentinelAt) this.#sentinel(trip, shown, now)
  }

  #planSample(ease = 1): void {
    this.#isArmed = false
    this.#sampleAt = this.#later(ease * (this.#options.probes ?? usualProbes).sampleEveryMs)
    this.#dueAt = Math.min(this.#sampleAt, this.#sentinelAt)
  }

  #planSentinel(ease = 1): void {
    this.#sentinelAt = this.#later(ease * (this.#options.probes ?? usualProbes).sentinelEveryMs)
    this.#dueAt = Math.min(this.#sampleAt, this.#sentinelAt)
  }

  /** Exponentially distributed: no rhythm of viewers can keep step with it. */
  #later(meanMs: number): EpochMs {
    const { clock } = this.#options
    return clock.now() - meanMs * Math.log(1 - clock.random())
  }

  #sample(trip: Trip, shown: Shown, now: EpochMs): void {
    this.#planSample(easeOf(trip, maxEase.sample))
    const { plan } = trip
    // Ages count from the newest data that a bucket is computed from.
    const readUntil = now - (plan.lookaheadMs ?? 0)
    const bucket = this.#drawn(this.#nextGroup(plan.whole, plan.grid, readUntil))
    if (bucket === undefined) return
    const interval = { from: bucket, to: bucket + 1 }
    const about = {
      kind: 'sample',
      at: now,
      ageMs: readUntil - endOf(plan.grid, bucket),
      ...budgetOf(trip),
    } as const
    const observe = (error: ShownError): void => trip.learning!.observe({ ...about, ...error }, trip)
    if (intersectAll([interval], shown.fetched).length > 0) {
      this.samples.same++
      observe({ isStale: false, error: 0 })
      return
    }
    const [pane] = partsOf(shown.panes, [interval])
    if (pane === undefined) return
    this.#afterwards(async () => {
      const result = await this.#filler.inBackground(probeTrip(trip, trip.learning), [interval])
      if (result.kind === 'abandoned') return
      const error = errorIn(pane, result)
      this.samples[error === undefined ? 'failed' : error.isStale ? 'changed' : 'same']++
      if (error !== undefined) observe(error)
    })
  }

  /** The buckets of the next age group that the answer has any of. */
  #nextGroup(whole: Intervals, grid: Grid, now: EpochMs): Intervals {
    for (let tried = 0; tried < stalenessGroups.length; tried++) {
      this.#group = (this.#group + 1) % stalenessGroups.length
      const [young, old] = [stalenessGroups[this.#group]!, stalenessGroups[this.#group + 1]]
      const from = old === undefined ? Number.NEGATIVE_INFINITY : firstYoungerThan(grid, old, now)
      const to =
        young === Number.NEGATIVE_INFINITY ? Number.POSITIVE_INFINITY : firstYoungerThan(grid, young, now)
      const runs = intersectAll(whole, [{ from, to }])
      if (runs.length > 0) return runs
    }
    return []
  }

  #drawn(runs: Intervals): number | undefined {
    let left = Math.floor(this.#options.clock.random() * countOf(runs))
    for (const { from, to } of runs) {
      if (left < to - from) return from + left
      left -= to - from
    }
    return undefined
  }

  #sentinel(trip: Trip, shown: Shown, now: EpochMs): void {
    if (!this.#isItsTurn(trip.key, now)) return
    const { plan } = trip
    const settledTo = firstYoungerThan(plan.grid, settledAgeOf(trip), now - (plan.lookaheadMs ?? 0))
    const settled = intersectAll(plan.whole, [{ from: Number.NEGATIVE_INFINITY, to: settledTo }])
    const starts = subtractAll(settled, shown.fetched)
      .map(({ from, to }) => ({ from, to: to - sentinelBuckets + 1 }))
      .filter(({ from, to }) => from < to)
    const from = this.#drawn(starts)
    if (from === undefined) return
    this.#planSentinel(easeOf(trip, maxEase.sentinel))
    this.#hadTurn.add(trip.key)
    this.#afterwards(() => this.#sendSentinel(trip, { from, to: from + sentinelBuckets }))
  }

  /** A shape that had its turn waits a little for one that had not. */
  #isItsTurn(key: string, now: EpochMs): boolean {
    if (this.#hadTurn.size >= maxTurns) this.#hadTurn.clear()
    if (!this.#hadTurn.has(key)) return true
    const { sentinelEveryMs } = this.#options.probes ?? usualProbes
    if (now < this.#sentinelAt + sentinelEveryMs / 8) return false
    this.#hadTurn.clear()
    return true
  }

  /** Its first bucket is fetched alone: where that has not changed, the others hardly ever have. */
  async #sendSentinel(trip: Trip, { from, to }: Interval): Promise<void> {
    const first = await this.#refetched(trip, { from, to: from + 1 })
    if (first === undefined) return
    const isChanged = first.changed.includes(1)
    this.sentinels[isChanged ? 'changed' : 'same']++
    const others = isChanged ? await this.#refetched(trip, { from: from + 1, to }) : undefined
    this.#corrections?.observeSentinel(others === undefined ? first : joined(first, others), trip)
  }

  async #refetched(trip: Trip, interval: Interval): Promise<Refetch | undefined> {
    let revealed: Refetch | undefined
    const observe = (event: LearnedEvent): void => {
      if (event.kind === 'refetch') revealed = event
    }
    const result = await this.#filler.inBackground(probeTrip(trip, { observe }), [interval])
    if (result.kind !== 'panes' && result.kind !== 'abandoned') this.sentinels.failed++
    return revealed
  }

  /** Not on the time of the answer. */
  #afterwards(action: () => Promise<void>): void {
    this.#options.clock.after(0, () => void action().catch(() => {}))
  }
}

/** Two refetches of neighbours as one, at the time of the later. */
const joined = (one: Refetch, other: Refetch): Refetch => ({
  ...other,
  oldAges: Float64Array.of(...one.oldAges, ...other.oldAges),
  newAges: Float64Array.of(...one.newAges, ...other.newAges),
  changed: Uint8Array.of(...one.changed, ...other.changed),
})

/**
 * How much rarer probes are than for a budget of 1 %: a larger share takes fewer samples to measure, and leaves more time
 * to find a correction.
 */
const easeOf = ({ policy: { learns } }: Trip, max: number): number =>
  Math.min(max, Math.max(1, (learns?.budget ?? 0) / 0.01))

const budgetOf = ({ policy: { learns } }: Trip): Pick<StalenessSample, 'budget'> =>
  learns === undefined ? {} : { budget: learns.budget }

/** Undefined where the answer cannot be compared. */
function errorIn(shown: Pane, result: FetchResult): ShownError | undefined {
  if (result.kind !== 'panes') return undefined
  const [fetched] = partsOf(result.panes, [shown])
  return fetched !== undefined && haveSameFrame(shown, fetched) ? shownError(shown, fetched) : undefined
}
