/** Counts the buckets that a purge touches, shape by shape, and removes them from a store afterwards. */
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { clockOf, type Pane } from '../../core/pane.ts'
import type { Store } from '../../stores/store.ts'

export interface PurgeCount {
  readonly at: EpochMs
  /** Shapes with at least one such bucket. */
  readonly shapes: number
  /** Buckets that could have been used, each once, in whatever tiers they are stored. */
  readonly buckets: number
  /** The shapes with the most buckets. */
  readonly examples: readonly PurgedShape[]
}

export interface PurgedShape {
  readonly key: Key
  readonly text: string
  readonly backend: string
  readonly buckets: number
}

/** Buckets of a key that a mark touches. */
export interface Removal {
  readonly store: Store
  readonly key: Key
  readonly interval: Interval
}

const maxExamples = 10

export class Tally {
  readonly removals: Removal[] = []
  readonly #at: EpochMs
  #shapes = 0
  #buckets = 0
  #examples: PurgedShape[] = []

  constructor(at: EpochMs) {
    this.#at = at
  }

  get count(): PurgeCount {
    return { at: this.#at, shapes: this.#shapes, buckets: this.#buckets, examples: this.#examples }
  }

  add(shape: PurgedShape): void {
    if (shape.buckets === 0) return
    this.#shapes++
    this.#buckets += shape.buckets
    const isLarge =
      this.#examples.length < maxExamples || shape.buckets > this.#examples[maxExamples - 1]!.buckets
    if (isLarge)
      this.#examples = [...this.#examples, shape].sort((a, b) => b.buckets - a.buckets).slice(0, maxExamples)
  }
}

export function countWhere(
  panes: readonly Pane[],
  isCounted: (bucket: number, clock: EpochMs) => boolean,
): number {
  let count = 0
  for (const pane of panes) {
    for (let bucket = pane.from; bucket < pane.to; bucket++)
      if (isCounted(bucket, clockOf(pane, bucket))) count++
  }
  return count
}

const [first, last] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]

/** Stores take bucket numbers, not infinity. */
export const bounded = ({ from, to }: Interval): Interval => ({
  from: Math.max(first, from),
  to: Math.min(last, to),
})

/** Removes buckets fetched at or before an instant; later ones stay. */
export async function removeOld({ store, key, interval }: Removal, at: EpochMs): Promise<void> {
  const isAll = interval.from === first && interval.to === last
  await store.remove(key, isAll ? undefined : interval, at)
}
