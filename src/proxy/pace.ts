/**
 * How much of one turn of the event loop the answers of databases may take. What comes later in a turn waits for the next
 * ones, in order: a hit then waits for a few pieces of large answers, not for all that have arrived.
 */

import { scheduler } from 'node:timers/promises'

export interface Paced {
  /** Its turn has come. */
  proceed(): void
}

const turnMs = 1
/** A piece is 64 KiB at most, and takes an eighth of a millisecond or so. */
const perTurn = 8

export class Pace {
  readonly #nextTurn: (action: () => void) => void
  readonly #waiting = new Set<Paced>()
  #spentMs = 0
  #isTurning = false

  constructor(nextTurn: (action: () => void) => void = turnOver) {
    this.#nextTurn = nextTurn
  }

  /** Returns whether who took this long has to wait now, until it is told to proceed. */
  spend(ms: number, reader: Paced): boolean {
    this.#spentMs += ms
    this.#turnLater()
    if (this.#spentMs < turnMs) return false
    this.#waiting.add(reader)
    return true
  }

  #turnLater(): void {
    if (this.#isTurning) return
    this.#isTurning = true
    this.#nextTurn(() => this.#turn())
  }

  #turn(): void {
    this.#isTurning = false
    this.#spentMs = 0
    const next = [...this.#waiting].slice(0, perTurn)
    for (const reader of next) this.#waiting.delete(reader)
    if (this.#waiting.size > 0) this.#turnLater()
    for (const reader of next) reader.proceed()
  }
}

const turnOver = (action: () => void): void => void scheduler.yield().then(action)
