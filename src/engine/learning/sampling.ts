/**
 * Learning on demand: buckets of recently requested shapes are fetched twice, a given time apart. Differences are
 * observed as with every fetch that lands. A shape can be fetched only with the headers of a client that requested it,
 * so the last request of some shapes is kept for a while.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import { type Clock, pause } from '../../core/clock.ts'
import {
  countOf,
  hullOf,
  type Interval,
  type Intervals,
  intersectAll,
  nothing,
  subtractAll,
  uniteAll,
} from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { SingleTimer } from '../../core/single-timer.ts'
import { countChanged, type LearnedEvent, type Refetch } from '../../ttl/learned/learning.ts'
import type { GapFiller } from '../fill.ts'
import { backgroundTrip, type IntervalCacheOptions, probeTrip, type Trip } from '../trip.ts'

export interface SamplingOrder {
  readonly gapMs: number
  /** Buckets to fetch. */
  readonly samples: number
  /** Only of these shapes; of all that can be sampled without. */
  readonly keys?: readonly Key[]
}

export interface Sampled {
  readonly observations: number
  readonly changed: number
  readonly shapes: number
}

/** Why nothing was sampled: it is being done already, or no shape that learns was fetched lately. */
export type NotSampled = 'busy' | 'idle'

const maxShapes = 64
const keptMs = 10 * 60_000
/** A query for few buckets costs about as much as one for a single one. */
const bucketsPerQuery = 10

interface Recent {
  readonly trip: Trip
  /** By `clock.elapsed`. */
  readonly at: number
}

interface Choice {
  readonly trip: Trip
  readonly intervals: Intervals
}

export class Sampling {
  readonly #clock: Clock
  readonly #learning: IntervalCacheOptions['learning']
  readonly #hasSeveral: boolean
  readonly #filler: Pick<GapFiller, 'inBackground'>
  /** The headers of clients must not stay in memory where no further request comes. */
  readonly #dropTimer: SingleTimer
  /** Oldest first. */
  readonly #recent = new BoundedMap<Key, Recent>({ maxEntries: maxShapes })
  #isBusy = false

  constructor(options: IntervalCacheOptions, filler: Pick<GapFiller, 'inBackground'>) {
    const { clock, backend, learning } = options
    this.#clock = clock
    this.#learning = learning
    this.#hasSeveral = backend.capabilities.severalIntervals
    this.#filler = filler
    this.#dropTimer = new SingleTimer(clock, () => this.#dropOld())
  }

  /** A request is about to query the database. */
  note(trip: Trip): void {
    if (trip.learning === undefined) return
    this.#recent.set(trip.key, { trip: backgroundTrip(trip, trip.learning), at: this.#clock.elapsed() })
    this.#dropTimer.start(keptMs)
  }

  get keys(): readonly Key[] {
    return [...this.#recent.keys()]
  }

  async run({ gapMs, samples, keys = this.keys }: SamplingOrder): Promise<Sampled | NotSampled> {
    if (this.#isBusy) return 'busy'
    const trips = keys.flatMap((key) => this.#recent.get(key)?.trip ?? [])
    if (trips.length === 0) return 'idle'
    this.#isBusy = true
    try {
      const refetches: Refetch[] = []
      const choices = this.#choices(trips, samples)
      const began = this.#clock.elapsed()
      for (const choice of choices) await this.#fetch(choice, refetches)
      const restMs = Math.max(0, began + gapMs - this.#clock.elapsed())
      await pause(this.#clock, restMs)
      for (const choice of choices) await this.#fetch(choice, refetches)
      return sampledIn(refetches)
    } finally {
      this.#isBusy = false
    }
  }

  #dropOld(): void {
    const now = this.#clock.elapsed()
    for (const [key, { at }] of this.#recent) {
      const restMs = at + keptMs - now
      if (restMs <= 0) this.#recent.delete(key)
      else this.#dropTimer.start(restMs)
    }
  }

  /** In turn over the shapes, so that few samples are of many shapes. No bucket twice: copies of one instant do not differ. */
  #choices(trips: readonly Trip[], samples: number): Choice[] {
    const taken = new Map<Trip, Intervals>()
    const choices: Choice[] = []
    const mostTries = 4 * Math.ceil(samples / bucketsPerQuery)
    for (let tries = 0, left = samples; left > 0 && tries < mostTries; tries++) {
      const trip = trips[tries % trips.length]!
      const before = taken.get(trip) ?? nothing
      const free = subtractAll(this.#intervals(trip, Math.min(left, bucketsPerQuery)), before)
      const intervals = this.#hasSeveral ? free : free.slice(0, 1)
      if (intervals.length === 0) continue
      taken.set(trip, uniteAll(before, intervals))
      left -= countOf(intervals)
      choices.push({ trip, intervals })
    }
    return choices
  }

  #intervals({ plan: { whole } }: Trip, buckets: number): Intervals {
    const hull = hullOf(whole)
    if (!this.#hasSeveral) return intersectAll(whole, [this.#place(hull, buckets)])
    let chosen = nothing
    for (let i = 0; i < buckets; i++) chosen = uniteAll(chosen, [this.#place(hull, 1)])
    return intersectAll(whole, chosen)
  }

  /** Every order of magnitude of the age is as likely as the others: rates differ by age, and most buckets are old. */
  #place({ from, to }: Interval, buckets: number): Interval {
    const end = to - Math.floor((to - from) ** this.#clock.random()) + 1
    const start = Math.max(from, end - buckets)
    return { from: start, to: Math.min(to, start + buckets) }
  }

  async #fetch({ trip, intervals }: Choice, refetches: Refetch[]): Promise<void> {
    // They teach at once: whoever orders samples wants to see their effect, and they are too few to show a correction.
    const observe = (event: LearnedEvent): void => {
      if (event.kind === 'refetch') refetches.push(event)
      this.#learning?.observe(event)
    }
    await this.#filler.inBackground(probeTrip(trip, { observe }), intervals)
  }
}

const sampledIn = (refetches: readonly Refetch[]): Sampled => ({
  observations: refetches.reduce((sum, { changed }) => sum + changed.length, 0),
  changed: refetches.reduce((sum, refetch) => sum + countChanged(refetch), 0),
  shapes: new Set(refetches.map(({ shape }) => shape.key)).size,
})
