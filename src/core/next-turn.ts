/** Work for the next turn of the event loop. */
import { scheduler } from 'node:timers/promises'

/** Runs an action after the events that arrived in this turn of the event loop are handled. */
export type AfterTurn = (action: () => void) => void

const afterTurn: AfterTurn = (action) => void scheduler.yield().then(action)

/** An action that runs in the next turn, once, however often it is wanted in this one. */
export class NextTurn {
  readonly #run: () => void
  readonly #after: AfterTurn
  #isWaiting = false

  constructor(action: () => void, after = afterTurn) {
    this.#after = after
    this.#run = () => {
      this.#isWaiting = false
      action()
    }
  }

  want(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#after(this.#run)
  }
}
