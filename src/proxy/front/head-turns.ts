/**
 * Long heads are read in turns. Each piece of one, of up to 64 KiB, costs more than a hit, and hundreds of them can be there at once:
 * one is read in one turn of the event loop, so that others do not wait for all of them.
 */
import { type AfterTurn, NextTurn } from '../../core/next-turn.ts'

export class HeadTurns {
  readonly #nextTurn: NextTurn
  readonly #waiting: (() => void)[] = []

  constructor(afterTurn?: AfterTurn) {
    this.#nextTurn = new NextTurn(() => this.#turn(), afterTurn)
  }

  /** Calls back when it is the turn of this piece. */
  wait(read: () => void): void {
    this.#waiting.push(read)
    this.#nextTurn.want()
  }

  #turn(): void {
    this.#waiting.shift()!()
    if (this.#waiting.length > 0) this.#nextTurn.want()
  }
}
