/** One timer at a time: starting it while it runs has no effect. */
import type { Clock } from './clock.ts'

export class SingleTimer {
  readonly #clock: Clock
  readonly #run: () => void
  #isRunning = false

  constructor(clock: Clock, action: () => void) {
    this.#clock = clock
    this.#run = () => {
      this.#isRunning = false
      action()
    }
  }

  /** The action may start the timer again. */
  start(delayMs: number): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#clock.after(delayMs, this.#run)
  }
}
