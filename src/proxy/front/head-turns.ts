/**
 * Long heads are read in turns. Each piece of one, of up to 64 KiB, costs more than a hit, and hundreds of them can be there at once:
 * one is read in one turn of the event loop, so that others do not wait for all of them.
 */
import { scheduler } from 'node:timers/promises'

export class HeadTurns {
  readonly #nextTurn: (action: () => void) => void
  readonly #waiting: (() => void)[] = []

  constructor(nextTurn: (action: () => void) => void = turnOver) {
    this.#nextTurn = nextTurn
  }

  /** Calls back when it is the turn of this piece. */
  wait(read: () => void): void {
    this.#waiting.push(read)
    if (this.#waiting.length === 1) this.#nextTurn(() => this.#turn())
  }

  #turn(): void {
    // Before it is removed, so that one that waits again does not begin a second turn.
    this.#waiting[0]!()
    this.#waiting.shift()
    if (this.#waiting.length > 0) this.#nextTurn(() => this.#turn())
  }
}

const turnOver = (action: () => void): void => void scheduler.yield().then(action)
