/**
 * One hash per stored bucket, from the database's response at that time. It shows whether a bucket that
 * differs now was changed by the database, by the store, or alternates between two versions. Bounded: the least
 * recently requested shapes are dropped, and for them only the age of a bucket is known.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import { type Budget, BudgetShare } from '../../core/budget.ts'
import type { EpochMs } from '../../core/clock.ts'
import { type Interval, lengthOf } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { clockOf, type Pane } from '../../core/pane.ts'

const maxBytes = 8 * 1024 * 1024
/** Windows further apart than this are not remembered together. */
const maxSpan = 20_000
/** Reading more than this for a hash per bucket would delay concurrent requests. */
const maxPaneBytes = 16 * 1024 * 1024
/** Clock, hash and course of a bucket. */
const bytesPerBucket = 13
const pageOverhead = 256

/**
 * `steady`: the database returned the same since; `changed`: it returns something else; `wavering`: it did, and then no
 * longer.
 */
const course = { steady: 0, changed: 1, wavering: 2 } as const

interface Page extends Interval {
  readonly clocks: Float64Array
  readonly hashes: Uint32Array
  readonly courses: Uint8Array
}

export class ShadowLedger {
  readonly #pages: BoundedMap<Key, Page>

  constructor(budget: Budget) {
    // Through a share, of which the budget evicts nothing for others.
    const share = new BudgetShare(budget, maxBytes)
    this.#pages = new BoundedMap({ maxWeight: maxBytes, weightOf: bytesOf, budget: share })
  }

  get bytes(): number {
    return this.#pages.weight
  }

  /** Records the panes being stored. */
  write(key: Key, pane: Pane): void {
    if (lengthOf(pane) > maxSpan || pane.body.bytes.length > maxPaneBytes) return
    const page = this.#pageFor(key, pane)
    if (page === undefined) return
    const hashes = hashesOf(pane, pane)
    for (let bucket = pane.from; bucket < pane.to; bucket++) {
      const place = bucket - page.from
      page.clocks[place] = clockOf(pane, bucket)
      page.hashes[place] = hashes[bucket - pane.from]!
      page.courses[place] = course.steady
    }
  }

  /** The hash of a bucket that was fetched at that instant; undefined where it is not recorded. */
  hashAt(key: Key, bucket: number, fetchedAt: EpochMs): number | undefined {
    const page = this.#pageOf(key, bucket, fetchedAt)
    return page?.hashes[bucket - page.from]
  }

  /** Whether the database has returned another version of a stored bucket, and after that the same again. */
  isWavering(key: Key, bucket: number, fetchedAt: EpochMs): boolean {
    const page = this.#pageOf(key, bucket, fetchedAt)
    return page?.courses[bucket - page.from] === course.wavering
  }

  /** Records the result of comparing stored panes: these buckets differ, all others do not. */
  note(key: Key, stored: readonly Pane[], differing: ReadonlySet<number>): void {
    for (const pane of stored) {
      for (let bucket = pane.from; bucket < pane.to; bucket++) {
        const page = this.#pageOf(key, bucket, clockOf(pane, bucket))
        if (page === undefined) continue
        const place = bucket - page.from
        const before = page.courses[place]
        if (!differing.has(bucket)) {
          if (before === course.changed) page.courses[place] = course.wavering
        } else if (before === course.steady) page.courses[place] = course.changed
      }
    }
  }

  /** The page of a bucket that was fetched at that instant. */
  #pageOf(key: Key, bucket: number, fetchedAt: EpochMs): Page | undefined {
    const page = this.#pages.get(key)
    return page?.clocks[bucket - page.from] === fetchedAt ? page : undefined
  }

  /** A page that has room for an interval, with its earlier content; undefined where there is no memory for it. */
  #pageFor(key: Key, interval: Interval): Page | undefined {
    const old = this.#pages.get(key)
    const isKept = old !== undefined && lengthOf(union(old, interval)) <= maxSpan
    const page = isKept ? grown(old, union(old, interval)) : newPage(interval)
    return this.#pages.set(key, page).get(key)
  }
}

const union = (a: Interval, b: Interval): Interval => ({
  from: Math.min(a.from, b.from),
  to: Math.max(a.to, b.to),
})

const bytesOf = (page: Page): number => pageOverhead + bytesPerBucket * lengthOf(page)

function newPage({ from, to }: Interval): Page {
  const clocks = new Float64Array(to - from).fill(Number.NaN)
  return { from, to, clocks, hashes: new Uint32Array(to - from), courses: new Uint8Array(to - from) }
}

function grown(old: Page, interval: Interval): Page {
  if (lengthOf(old) === lengthOf(interval)) return old
  const page = newPage(interval)
  const shift = old.from - interval.from
  page.clocks.set(old.clocks, shift)
  page.hashes.set(old.hashes, shift)
  page.courses.set(old.courses, shift)
  return page
}

const prime = 0x01000193
const basis = 0x811c9dc5

/** One hash (FNV-1a) per bucket of an interval, over the bytes of all columns. */
export function hashesOf(pane: Pane, interval: Interval): Uint32Array {
  const { body } = pane
  const hashes = new Uint32Array(lengthOf(interval)).fill(basis)
  for (let column = 0; column < body.columns; column++) {
    const rank = hashed(basis, body.bytes, { from: body.rankStart(column), to: body.rankEnd(column) })
    for (let lane = 0; lane < body.lanes; lane++) {
      let start = body.offsetOf(column, lane, interval.from)
      for (let i = 0; i < hashes.length; i++) {
        const end = body.offsetOf(column, lane, interval.from + i + 1)
        if (end > start) {
          const seed = Math.imul(hashes[i]! ^ rank ^ lane, prime)
          hashes[i] = hashed(seed, body.bytes, { from: body.slabAt + start, to: body.slabAt + end })
        }
        start = end
      }
    }
  }
  return hashes
}

function hashed(seed: number, bytes: Uint8Array, { from, to }: Interval): number {
  let hash = seed
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, prime)
  return hash
}
