/**
 * How much of one turn of the event loop the answers of databases may take, and what of it comes first: bytes that a client
 * waits for are passed on before what has arrived is split. What comes later in a turn waits for the next ones, in order: a
 * hit then waits for a few pieces of large answers, not for all that have arrived.
 */

import { scheduler } from 'node:timers/promises'

export interface Paced {
  /** Its turn has come: it may read on. */
  proceed(): void
  /** Whether it holds pieces that are to be split. */
  readonly isHolding: boolean
  /** Splits the first of them, and returns how many milliseconds that took. */
  splitNext(): number
}

/** Passing on is counted in bytes: most of its time goes by in the kernel, before and after what is seen here. */
const passBytes = 256 * 1024
/** Every turn costs an answer some time: one that comes alone is passed on in fewer. */
const passBytesAlone = 1024 * 1024
/** Splitting is counted in time. A piece is 64 KiB at most, and takes an eighth of a millisecond or so. */
const splitMs = 0.5
/** What has arrived and is not split yet, of all answers: it is in no budget. */
const mostHeld = 8 * 1024 * 1024

export class Pace {
  readonly #nextTurn: (action: () => void) => void
  /** Those who may not read on. */
  readonly #waiting = new Set<Paced>()
  /** Those who hold pieces that can wait, and those whose pieces are split in the next turns. */
  readonly #arriving = new Set<Paced>()
  readonly #due = new Set<Paced>()
  #passedBytes = 0
  /** Who was told something in this turn, if nobody else was. */
  #only: Paced | undefined
  #heldBytes = 0
  #isTurning = false

  constructor(nextTurn: (action: () => void) => void = turnOver) {
    this.#nextTurn = nextTurn
  }

  /** Returns whether who was told so much has to wait now, until it is told to proceed. */
  pass(bytes: number, reader: Paced): boolean {
    if (this.#passedBytes === 0) this.#only = reader
    else if (this.#only !== reader) this.#only = undefined
    this.#passedBytes += bytes
    this.#turnLater()
    if (this.#mayPass) return false
    this.#waiting.add(reader)
    return true
  }

  /** A reader holds so much more, until it is due or there is no room for what waits. */
  hold(bytes: number, reader: Paced): void {
    this.#heldBytes += bytes
    if (!this.#due.has(reader)) this.#arriving.add(reader)
    if (this.#isFull) this.#turnLater()
  }

  due(reader: Paced): void {
    if (!this.#arriving.delete(reader)) return
    this.#due.add(reader)
    this.#turnLater()
  }

  /** A reader holds so much less. */
  release(bytes: number, reader: Paced): void {
    this.#heldBytes -= bytes
    if (reader.isHolding) return
    this.#arriving.delete(reader)
    this.#due.delete(reader)
  }

  /** Splits all that has arrived, however long it takes. */
  finish(): void {
    for (const reader of [...this.#due, ...this.#arriving]) while (reader.isHolding) reader.splitNext()
  }

  get #mayPass(): boolean {
    const isAlone = this.#only !== undefined && this.#waiting.size === 0
    return this.#passedBytes < (isAlone ? passBytesAlone : passBytes) && !this.#isFull
  }

  get #isFull(): boolean {
    return this.#heldBytes >= mostHeld
  }

  #turnLater(): void {
    if (this.#isTurning) return
    this.#isTurning = true
    this.#nextTurn(() => this.#turn())
  }

  #turn(): void {
    this.#isTurning = false
    this.#passedBytes = 0
    this.#only = undefined
    for (const reader of [...this.#waiting]) {
      if (!this.#mayPass) break
      this.#waiting.delete(reader)
      reader.proceed()
    }
    this.#split()
    if (this.#waiting.size > 0 || this.#due.size > 0 || this.#isFull) this.#turnLater()
  }

  /** The oldest answer first: who waits for it does not wait for the others. */
  #split(): void {
    for (let spentMs = 0; spentMs < splitMs; ) {
      const [reader] = this.#due.size === 0 && this.#isFull ? this.#arriving : this.#due
      if (reader === undefined) return
      spentMs += reader.splitNext()
    }
  }
}

const turnOver = (action: () => void): void => void scheduler.yield().then(action)
