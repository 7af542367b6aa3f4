/**
 * The findings of shadow mode: counts per database, the verdict, and the last mismatches with their bodies. Bounded in
 * number and, by the memory budget, in bytes; explained mismatches are evicted before unexplained ones.
 */
import { type Budget, Reservation } from '../../core/budget.ts'
import type { Clock, EpochMs } from '../../core/clock.ts'
import { type Cause, causes } from './causes.ts'
import type { BucketDifference } from './compare.ts'
import { type ShadowVerdict, verdictOf } from './verdict.ts'

/** Why nothing could be compared. */
export const skipReasons = {
  client_gone: 'the client closed the connection',
  database_failed: 'the database did not answer, or broke off',
  error_answer: 'the database answered with an error or a redirect',
  unusable_answer: 'the answer cannot be cut into buckets',
  too_large: 'the answer exceeds the size that is compared',
  memory: 'the memory budget has no room for the comparison',
  busy: 'too many comparisons were waiting',
  store_failed: 'the store failed',
  internal: 'a fault in Windowpane itself',
  only_if_cached: 'the client accepts only a stored answer, and it is not stored as a whole',
  not_verbatim:
    'the client wants less than the buckets hold, or another order: the answer cannot be cut into them',
} as const
export type SkipReason = keyof typeof skipReasons

export const verifyResults = ['equal', 'explained', 'unexplained', 'skipped'] as const
export type VerifyResult = (typeof verifyResults)[number]

export interface Mismatch {
  readonly id: string
  readonly at: EpochMs
  readonly backend: string
  /** The query. */
  readonly text: string
  /** Half-open, in milliseconds, like the step; a step of days or months of a calendar is in words. */
  readonly window: { readonly from: EpochMs; readonly to: EpochMs; readonly step: number | string }
  readonly cause: Cause
  readonly isExplained: boolean
  readonly sentence: string
  readonly buckets: readonly BucketDifference[]
  readonly cachedBytes: number
  readonly directBytes: number
  /** Undefined where they were too long to keep, or had to make room. */
  readonly cached: Buffer | undefined
  readonly direct: Buffer | undefined
}

export type WouldBe = 'hit' | 'partial' | 'miss'

export interface Figures {
  since: EpochMs
  comparisons: number
  equal: number
  explained: number
  unexplained: number
  readonly skipped: Partial<Record<SkipReason, number>>
  readonly wouldBe: Record<WouldBe, number>
  readonly causes: Partial<Record<Cause, number>>
}

export interface ShadowReport extends Readonly<Figures>, ShadowVerdict {
  readonly backend: string
  /** The newest first. */
  readonly mismatches: readonly Mismatch[]
}

export interface ShadowLogOptions {
  readonly clock: Clock
  readonly budget: Budget
  /** Hears of every result. Must not throw. */
  readonly onResult?: (backend: string, result: VerifyResult) => void
}

const maxMismatches = 50
const maxBytes = 16 * 1024 * 1024
const maxBodyBytes = 1024 * 1024
const maxTextChars = 4096

export class ShadowLog {
  readonly #options: ShadowLogOptions
  readonly #figures = new Map<string, Figures>()
  /** Oldest first. */
  #mismatches: Mismatch[] = []
  readonly #reservation: Reservation
  #ids = 0

  constructor(options: ShadowLogOptions) {
    this.#options = options
    this.#reservation = new Reservation(options.budget)
  }

  /** Bytes of bodies that are kept. */
  get held(): number {
    return this.#reservation.bytes
  }

  /** An answer was compared, and nothing differed. */
  equal(backend: string, wouldBe: WouldBe): void {
    this.#count(backend, wouldBe).equal++
    this.#options.onResult?.(backend, 'equal')
  }

  skip(backend: string, reason: SkipReason): void {
    const { skipped } = this.#figuresOf(backend)
    skipped[reason] = (skipped[reason] ?? 0) + 1
    this.#options.onResult?.(backend, 'skipped')
  }

  /** An answer would have differed. Its bodies are copied, where they are kept. */
  mismatch(
    wouldBe: WouldBe,
    found: Omit<Mismatch, 'id' | 'at' | 'sentence' | 'cachedBytes' | 'directBytes'>,
  ): void {
    const { backend, cause, isExplained, cached, direct } = found
    const figures = this.#count(backend, wouldBe)
    const result = isExplained ? 'explained' : 'unexplained'
    figures[result]++
    figures.causes[cause] = (figures.causes[cause] ?? 0) + 1
    const mismatch: Mismatch = {
      ...found,
      id: `${++this.#ids}`,
      at: this.#options.clock.now(),
      text: found.text.slice(0, maxTextChars),
      sentence: causes[cause].sentence,
      cachedBytes: cached?.length ?? 0,
      directBytes: direct?.length ?? 0,
      cached: undefined,
      direct: undefined,
    }
    this.#mismatches.push(mismatch)
    if (this.#mismatches.length > maxMismatches) this.#drop(this.#victim())
    if (this.#mismatches.includes(mismatch)) this.#keepBodies(mismatch, { cached, direct })
    this.#options.onResult?.(backend, result)
  }

  report(backend: string): ShadowReport {
    const figures = this.#figuresOf(backend)
    const mismatches = this.#mismatches.filter((each) => each.backend === backend).reverse()
    return { ...figures, ...verdictOf(figures), backend, mismatches }
  }

  find(id: string): Mismatch | undefined {
    return this.#mismatches.find((mismatch) => mismatch.id === id)
  }

  /** Starts anew: findings under other settings do not apply to these. */
  clear(backend: string): void {
    this.#figures.delete(backend)
    for (const mismatch of this.#mismatches.filter((each) => each.backend === backend)) this.#drop(mismatch)
  }

  #count(backend: string, wouldBe: WouldBe): Figures {
    const figures = this.#figuresOf(backend)
    figures.comparisons++
    figures.wouldBe[wouldBe]++
    return figures
  }

  #figuresOf(backend: string): Figures {
    const known = this.#figures.get(backend)
    if (known !== undefined) return known
    const figures = newFigures(this.#options.clock.now())
    this.#figures.set(backend, figures)
    return figures
  }

  #keepBodies(mismatch: Mismatch, bodies: Pick<Mismatch, 'cached' | 'direct'>): void {
    const cached = short(bodies.cached)
    const direct = short(bodies.direct)
    const bytes = (cached?.length ?? 0) + (direct?.length ?? 0)
    this.#makeRoom(bytes)
    if (bytes === 0 || this.held + bytes > maxBytes || !this.#reservation.grow(bytes)) return
    const kept = {
      ...mismatch,
      cached: cached && Buffer.from(cached),
      direct: direct && Buffer.from(direct),
    }
    this.#replace(mismatch, kept)
  }

  #makeRoom(bytes: number): void {
    while (this.held + bytes > maxBytes) {
      const victim = this.#victim(hasBodies)
      if (victim === undefined) return
      this.#release(victim)
      this.#replace(victim, { ...victim, cached: undefined, direct: undefined })
    }
  }

  /** Explained mismatches are evicted first, the oldest of them before the others. */
  #victim(wanted: (mismatch: Mismatch) => boolean = () => true): Mismatch | undefined {
    const all = this.#mismatches.filter(wanted)
    return all.find(({ isExplained }) => isExplained) ?? all[0]
  }

  #drop(mismatch: Mismatch | undefined): void {
    if (mismatch === undefined) return
    this.#release(mismatch)
    this.#mismatches = this.#mismatches.filter((each) => each !== mismatch)
  }

  #release({ cached, direct }: Mismatch): void {
    const bytes = (cached?.length ?? 0) + (direct?.length ?? 0)
    this.#reservation.grow(-bytes)
  }

  #replace(old: Mismatch, mismatch: Mismatch): void {
    this.#mismatches[this.#mismatches.indexOf(old)] = mismatch
  }
}

const hasBodies = ({ cached, direct }: Mismatch): boolean => cached !== undefined || direct !== undefined

const short = (body: Buffer | undefined): Buffer | undefined =>
  body !== undefined && body.length <= maxBodyBytes ? body : undefined

export const newFigures = (since: EpochMs): Figures => ({
  ...{ since, comparisons: 0, equal: 0, explained: 0, unexplained: 0 },
  ...{ skipped: {}, wouldBe: { hit: 0, partial: 0, miss: 0 }, causes: {} },
})
