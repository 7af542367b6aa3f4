/**
 * Bytes of responses that have arrived and are not split yet. Splitting would delay the clients of these bytes, so it
 * is deferred until they have been forwarded, and then done in short turns: a hit waits for one turn, not for all that
 * has arrived.
 */
import type { Clock } from '../core/clock.ts'
import { type AfterTurn, NextTurn } from '../core/next-turn.ts'

export interface Backlogged {
  /** Whether it holds pieces that are to be split. */
  readonly isHolding: boolean
  /** Splits the first of them. */
  splitNext(): void
  /** There is room again for more than it holds. */
  proceed(): void
}

/** How long one turn of the event loop is spent on splitting. A piece is 64 KiB at most and takes an eighth of a millisecond or so. */
const turnMs = 0.5
const unblockedPerTurn = 2
const defaultMaxBytes = 8 * 1024 * 1024

export interface BacklogOptions {
  /** Held by all responses together: these bytes are in no budget (docs/reference/limits.md names them). */
  readonly maxBytes?: number
  readonly afterTurn?: AfterTurn
}

export class Backlog {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #maxBytes: number
  readonly #nextTurn: NextTurn
  /** Those whose pieces can wait, and those whose pieces are split in the next turns, oldest first. */
  readonly #arriving = new Set<Backlogged>()
  readonly #due = new Set<Backlogged>()
  /** Holders that were paused. */
  readonly #blocked = new Set<Backlogged>()
  #heldBytes = 0

  constructor(clock: Pick<Clock, 'elapsed'>, { maxBytes = defaultMaxBytes, afterTurn }: BacklogOptions = {}) {
    this.#clock = clock
    this.#maxBytes = maxBytes
    this.#nextTurn = new NextTurn(() => this.#turn(), afterTurn)
  }

  /** Counts bytes that `from` holds. Returns false where there is no room for more: `proceed` is called when there is. */
  hold(bytes: number, from: Backlogged): boolean {
    this.#heldBytes += bytes
    if (!this.#due.has(from)) this.#arriving.add(from)
    if (!this.#isFull) return true
    this.#blocked.add(from)
    this.#nextTurn.want()
    return false
  }

  /** From now on the bytes of `from` are split in the next turns, and not only where there is no room for more. */
  due(from: Backlogged): void {
    if (!this.#arriving.delete(from)) return
    this.#due.add(from)
    this.#nextTurn.want()
  }

  /** `from` holds so many bytes less. */
  release(bytes: number, from: Backlogged): void {
    this.#heldBytes -= bytes
    if (from.isHolding) return
    this.#arriving.delete(from)
    this.#due.delete(from)
  }

  /** Splits all that has arrived, however long it takes. */
  finish(): void {
    for (const each of [...this.#due, ...this.#arriving]) while (each.isHolding) each.splitNext()
  }

  get #isFull(): boolean {
    return this.#heldBytes >= this.#maxBytes
  }

  #turn(): void {
    this.#split()
    if (!this.#isFull) this.#unblock()
    if (this.#due.size > 0 || this.#blocked.size > 0 || this.#isFull) this.#nextTurn.want()
  }

  /** The oldest response first: its clients do not wait for the others. */
  #split(): void {
    const began = this.#clock.elapsed()
    do {
      const [first] = this.#due.size === 0 && this.#isFull ? this.#arriving : this.#due
      if (first === undefined) return
      first.splitNext()
    } while (this.#clock.elapsed() - began < turnMs)
  }

  /** Few at a time: each reads a piece at once, and a hit would wait for all of these. */
  #unblock(): void {
    for (const each of [...this.#blocked].slice(0, unblockedPerTurn)) {
      this.#blocked.delete(each)
      each.proceed()
    }
  }
}
