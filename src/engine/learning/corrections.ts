/**
 * Corrections: a batch job or a backfill rewrites many settled buckets at once. That has nothing to do with their age,
 * so it must not teach the curve, which would give short TTLs until it has forgotten it. Instead all settled buckets of
 * the shape and of its data sources are marked as stale.
 *
 * A sentinel finds a correction where half of four neighbours have changed. Any other refetch finds one where a long
 * part of its settled buckets was rewritten and another was not: data that has begun to change faster changes
 * everywhere.
 *
 * Until a sentinel has found a correction, ordinary refetches bring some of its changes. So changes of settled buckets
 * teach only after a while, and not at all if their source or shape was marked by then.
 *
 * A sentinel cannot distinguish a correction from such data. The refetch that its mark causes can: it teaches where
 * hardly any part of it was unchanged. It also teaches where a sentinel finds changes again soon, because no correction
 * is repeated so often.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Key } from '../../core/key.ts'
import type { Mark } from '../../core/mark.ts'
import { countChanged, type LearnedEvent, type Learning, type Refetch } from '../../ttl/learned/learning.ts'
import type { IntervalCacheOptions, Trip } from '../trip.ts'

/** The question that an event is about. */
type Asked = Pick<Trip, 'key' | 'plan' | 'policy'>

/** Younger buckets change one by one. */
const minAgeMs = 10 * 60_000
/** A shape is not marked again before this. */
const pauseMs = 10 * 60_000
/** Changes found again within this time after a mark are no single correction: the data changes all the time. */
const regimeMs = 2 * 3_600_000
/** Changes of settled buckets teach after this time, in which a sentinel finds most corrections. */
const holdMs = 10 * 60_000
/** Refetches; each has less than `minBlocks` blocks. */
const maxHeld = 300
const maxShapes = 1000
const maxMarks = 100

/** Neighbours that are judged together, and how many of them have changed where they were rewritten, or were left alone. */
const block = { buckets: 24, rewritten: 10, calm: 1 }
/** Shorter corrections cost less to learn from than to distinguish from late data. */
const minRewritten = 3
const minCalm = 2
/** With fewer blocks it cannot be decided whether they changed everywhere. */
const minBlocks = 8
const maxCalmShare = 0.4

export class Corrections {
  readonly #options: Pick<IntervalCacheOptions, 'name' | 'mark'>
  readonly #learning: Pick<Learning, 'observe'>
  readonly #markedAt = new BoundedMap<Key, EpochMs>({ maxEntries: maxShapes })
  /** By the instant of a mark: whether its refetch teaches in any case. */
  readonly #teaching = new BoundedMap<EpochMs, boolean>({ maxEntries: maxMarks })
  /** Refetches that do not teach yet, in the order of their time. */
  #held: Refetch[] = []

  constructor(options: Pick<IntervalCacheOptions, 'name' | 'mark'>, learning: Pick<Learning, 'observe'>) {
    this.#options = options
    this.#learning = learning
  }

  /**
   * Processes an observation: it teaches, unless it is a correction. `markedAt`: refetched because of one of these
   * marks.
   */
  observe(event: LearnedEvent, asked: Asked, markedAt?: EpochMs): void {
    this.#release(event.at - holdMs)
    if (event.kind === 'refetch') {
      if (this.#isCorrected(event, asked, markedAt)) return
      if (markedAt === undefined && this.#hold(event, asked)) return
    }
    this.#learning.observe(event)
  }

  observeSentinel(refetch: Refetch, asked: Asked): void {
    const changed = countChanged(refetch)
    const isFound = changed >= Math.max(2, refetch.changed.length / 2)
    const since = this.#sinceMark(refetch, asked)
    if (isFound && since >= pauseMs) this.#mark(refetch, asked, since < regimeMs)
    if (!isFound || since < regimeMs) this.#learning.observe(refetch)
  }

  /** Whether refetches because of a mark that was made then are to be observed. */
  hasMarked(at: EpochMs): boolean {
    return this.#teaching.has(at)
  }

  #isCorrected(refetch: Refetch, asked: Asked, markedAt: EpochMs | undefined): boolean {
    const blocks = blocksOf(refetch, settledAgeOf(asked))
    if (markedAt !== undefined) {
      const isEverywhere = blocks.count >= minBlocks && blocks.calm <= maxCalmShare * blocks.count
      return this.#teaching.get(markedAt) !== true && !isEverywhere
    }
    const isFound = blocks.rewritten >= minRewritten && blocks.calm >= minCalm
    if (!isFound || this.#sinceMark(refetch, asked) < regimeMs) return false
    this.#mark(refetch, asked, false)
    return true
  }

  /** Holds a refetch that shows changes of settled buckets, and has too few of them to be judged by itself; true if it did. */
  #hold(refetch: Refetch, asked: Asked): boolean {
    if (refetch.changed.length >= minBlocks * block.buckets) return false
    if (this.#sinceMark(refetch, asked) < regimeMs || !hasSettledChange(refetch, settledAgeOf(asked)))
      return false
    if (this.#held.length >= maxHeld) this.#learning.observe(this.#held.shift()!)
    this.#held.push(refetch)
    return true
  }

  /** Refetches from before then teach. */
  #release(before: EpochMs): void {
    while (this.#held.length > 0 && this.#held[0]!.at < before) this.#learning.observe(this.#held.shift()!)
  }

  /** 0 where nothing can be marked, infinite where nothing was. */
  #sinceMark({ at }: Refetch, { key }: Asked): number {
    if (this.#options.mark === undefined) return 0
    return at - (this.#markedAt.get(key) ?? Number.NEGATIVE_INFINITY)
  }

  /** Marks are dated before the refetch, so that the buckets it brought stay fresh. */
  #mark(refetch: Refetch, asked: Asked, isTeaching: boolean): void {
    const { name, mark } = this.#options
    const { key, plan } = asked
    const at = refetch.at - 1
    this.#markedAt.set(key, refetch.at)
    this.#teaching.set(at, isTeaching)
    const times = { from: Number.NEGATIVE_INFINITY, to: refetch.at - settledAgeOf(asked), at }
    const about = { kind: 'stale', backend: name, ...times } as const
    const isKnown = plan.knowsAllSources && plan.sources.length > 0
    const isMarked = ({ shape }: Refetch): boolean =>
      shape.key === key || (isKnown && shape.sources.some((source) => plan.sources.includes(source)))
    this.#held = this.#held.filter((held) => isTeaching || !isMarked(held))
    const marks: readonly Mark[] = isKnown
      ? plan.sources.map((source) => ({ ...about, source }))
      : [{ ...about, shape: key }]
    for (const each of marks) void Promise.resolve(mark?.(each)).catch(() => {})
  }
}

const hasSettledChange = ({ oldAges, changed }: Refetch, settledAgeMs: number): boolean =>
  changed.some((isChanged, i) => isChanged === 1 && oldAges[i]! >= settledAgeMs)

/** From this age on data can be part of a correction. */
export const settledAgeOf = ({ policy, plan }: Pick<Trip, 'policy' | 'plan'>): number =>
  Math.max(minAgeMs, policy.settledAgeMs - (plan.lookaheadMs ?? 0))

/** Blocks of settled neighbours: how many there are, were rewritten, and were left alone. */
interface Blocks {
  readonly count: number
  readonly rewritten: number
  readonly calm: number
}

/** Buckets of a refetch are in time order, so that settled ones come first. */
function blocksOf(refetch: Refetch, settledAgeMs: number): Blocks {
  const { oldAges, changed } = refetch
  const blocks = { count: 0, rewritten: 0, calm: 0 }
  for (let from = 0; from + block.buckets <= changed.length; from += block.buckets) {
    const to = from + block.buckets
    if (oldAges[to - 1]! < settledAgeMs) break
    const count = countChanged(refetch, from, to)
    blocks.count++
    if (count >= block.rewritten) blocks.rewritten++
    else if (count <= block.calm) blocks.calm++
  }
  return blocks
}
