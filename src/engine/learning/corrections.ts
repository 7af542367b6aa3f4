/**
 * Corrections: a batch job or a backfill rewrites many settled buckets at once. That has nothing to do with their age, so it
 * must not teach the curve, which would ask for short TTLs until it has forgotten it. Instead all settled buckets of the
 * shape and of its data sources are marked as stale.
 *
 * A sentinel finds a correction where half of its four neighbours have changed. Any other refetch finds one where a long
 * part of its settled buckets was rewritten and another was not: data that has begun to change faster changes everywhere.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Key } from '../../core/key.ts'
import type { Mark } from '../../core/mark.ts'
import type { LearnedEvent, Learning, Refetch } from '../../ttl/learned/learning.ts'
import type { IntervalCacheOptions, Trip } from '../trip.ts'

/** The question that an event is about. */
type Asked = Pick<Trip, 'key' | 'plan' | 'policy'>

/** Younger buckets change one by one. */
const minAgeMs = 10 * 60_000
/**
 * What goes on changing this soon after it was marked was no single correction: it changes all the time, and that is for the
 * curve to learn.
 */
const pauseMs = 10 * 60_000
const maxShapes = 1000

/** Neighbours that are judged together, and how many of them have changed where they were rewritten, or were left alone. */
const block = { buckets: 24, rewritten: 10, calm: 1 }
/** Shorter corrections cost less to learn from than to tell from late data. */
const minRewritten = 3
const minCalm = 2

export class Corrections {
  readonly #options: Pick<IntervalCacheOptions, 'name' | 'mark'>
  readonly #learning: Pick<Learning, 'observe'>
  readonly #markedAt = new BoundedMap<Key, EpochMs>({ maxEntries: maxShapes })

  constructor(options: Pick<IntervalCacheOptions, 'name' | 'mark'>, learning: Pick<Learning, 'observe'>) {
    this.#options = options
    this.#learning = learning
  }

  /** Takes in what was seen: it teaches, unless it is a correction. */
  observe(event: LearnedEvent, asked: Asked): void {
    const isFound = event.kind === 'refetch' && isPartlyRewritten(event, settledAgeOf(asked))
    if (!isFound || !this.#mark(event, asked)) this.#learning.observe(event)
  }

  /** Takes in what a sentinel revealed. */
  observeSentinel(refetch: Refetch, asked: Asked): void {
    const changed = changedIn(refetch.changed, 0, refetch.changed.length)
    const isFound = changed >= Math.max(2, refetch.changed.length / 2)
    if (!isFound || !this.#mark(refetch, asked)) this.#learning.observe(refetch)
  }

  /** What the refetch itself brought is newer than the marks. False where it is too soon after others. */
  #mark({ at }: Refetch, asked: Asked): boolean {
    const { name, mark } = this.#options
    const { key, plan } = asked
    if (mark === undefined || at < (this.#markedAt.get(key) ?? Number.NEGATIVE_INFINITY) + pauseMs)
      return false
    this.#markedAt.set(key, at)
    const times = { from: Number.NEGATIVE_INFINITY, to: at - settledAgeOf(asked), at: at - 1 }
    const about = { kind: 'stale', backend: name, ...times } as const
    const isKnown = plan.knowsAllSources && plan.sources.length > 0
    const marks: readonly Mark[] = isKnown
      ? plan.sources.map((source) => ({ ...about, source }))
      : [{ ...about, shape: key }]
    for (const each of marks) void Promise.resolve(mark(each)).catch(() => {})
    return true
  }
}

/** From this age on a bucket can be part of a correction. */
export const settledAgeOf = ({ policy }: Pick<Trip, 'policy'>): number =>
  Math.max(minAgeMs, policy.settledAgeMs)

/** Buckets of a refetch are in time order, so that settled ones come first. */
function isPartlyRewritten({ oldAges, changed }: Refetch, settledAgeMs: number): boolean {
  let [rewritten, calm] = [0, 0]
  for (let from = 0; from + block.buckets <= changed.length; from += block.buckets) {
    const to = from + block.buckets
    if (oldAges[to - 1]! < settledAgeMs) break
    const count = changedIn(changed, from, to)
    if (count >= block.rewritten) rewritten++
    else if (count <= block.calm) calm++
  }
  return rewritten >= minRewritten && calm >= minCalm
}

function changedIn(changed: Uint8Array, from: number, to: number): number {
  let count = 0
  for (let i = from; i < to; i++) count += changed[i]!
  return count
}
