/** Whether one of several equal databases is worth a request: out for a while after a failure, back after a trial. */
import type { Clock, EpochMs } from '../../core/clock.ts'

export interface HealthState {
  readonly healthy: boolean
  /** When the current state began. */
  readonly since: EpochMs
  /** Failed attempts since the last answer. */
  readonly failures: number
  /** The error of the last of them. */
  readonly lastError?: string
}

const firstBackoffMs = 1_000
const maxBackoffMs = 30_000

export class Health {
  readonly #clock: Clock
  #isHealthy = true
  #since: EpochMs
  #failures = 0
  #lastError: string | undefined
  #backoffMs = 0
  #trialAt = 0
  #isOnTrial = false
  #hasAnswered = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.now()
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** At any time. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  get state(): HealthState {
    const error = this.#lastError === undefined ? {} : { lastError: this.#lastError }
    return { healthy: this.#isHealthy, since: this.#since, failures: this.#failures, ...error }
  }

  /** True for one request at a time, once the backoff is over. */
  beginTrial(): boolean {
    if (this.#isHealthy || this.#isOnTrial || this.#clock.elapsed() < this.#trialAt) return false
    this.#isOnTrial = true
    return true
  }

  /** The request was given up before anything was learned. */
  endTrial(): void {
    this.#isOnTrial = false
  }

  answered(): void {
    this.#failures = 0
    this.#lastError = undefined
    this.#hasAnswered = true
    if (this.#isHealthy) return
    this.#isHealthy = true
    this.#since = this.#clock.now()
    this.#backoffMs = 0
  }

  /** Of many requests that fail together one counts: only a trial makes the backoff longer. */
  failed(isTrial: boolean, error: string): void {
    this.#failures++
    this.#lastError = error
    if (!this.#isHealthy && !isTrial) return
    if (this.#isHealthy) this.#since = this.#clock.now()
    this.#isHealthy = false
    this.#backoffMs = Math.min(maxBackoffMs, Math.max(firstBackoffMs, 2 * this.#backoffMs))
    this.#trialAt = this.#clock.elapsed() + this.#backoffMs
  }
}
