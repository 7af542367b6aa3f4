/**
 * Decides whether operations are sent to a far store. Closed: every operation is sent. It opens after several failures
 * in a row, or when too many of the last operations failed; an operation that exceeds the latency budget of its store
 * counts as failed. Open: operations fail at once, so that no request waits. After a while one operation is admitted as
 * a probe (half-open): its success closes the breaker, its failure opens it again for longer. Pure: it sets no timers,
 * and time comes from the clock.
 */
import type { Clock } from '../core/clock.ts'

export const breakerStates = ['closed', 'open', 'half_open'] as const
export type BreakerState = (typeof breakerStates)[number]

/** Leave to run one operation. `settle` is called once with whether it succeeded; calling it again does nothing. */
export interface StoreAdmission {
  settle(isOk: boolean): void
}

const failuresInARow = 3
/** The sliding window: of so many operations, this many failures open the breaker, whatever their order. */
const windowLength = 20
const failuresInWindow = 10
const firstOpenMs = 1000
const maxOpenMs = 30_000
/** A breaker that opens again within this time after it closed stays open for longer than before: the store flaps. */
const steadyMs = 60_000
/** Nodes that lost a store at the same moment do not all probe it at the same moment. */
const jitter = 0.25

export class Breaker {
  /** How often each state was entered since the start; the first `closed` is not counted. */
  readonly transitions: Readonly<Record<BreakerState, number>> = { closed: 0, open: 0, half_open: 0 }
  readonly #clock: Pick<Clock, 'elapsed' | 'random'>
  #state: BreakerState = 'closed'
  #enteredAt: number
  #openMs = 0
  /** Number of the current state: the result of an operation that was admitted in an earlier state is ignored. */
  #period = 0
  #inARow = 0
  /** The last operations, oldest first; true is a failure. */
  #window: boolean[] = []
  #isProbing = false
  /** How often it opened without a steady time in between. */
  #level = 0

  constructor(clock: Pick<Clock, 'elapsed' | 'random'>) {
    this.#clock = clock
    this.#enteredAt = clock.elapsed()
  }

  get state(): BreakerState {
    if (this.#state === 'open' && this.opensForMs === 0) this.#enter('half_open')
    return this.#state
  }

  get isAdmitting(): boolean {
    return this.state === 'closed' || (this.#state === 'half_open' && !this.#isProbing)
  }

  /** Until the next probe; 0 where the breaker is not open. */
  get opensForMs(): number {
    if (this.#state !== 'open') return 0
    return Math.max(0, this.#openMs - (this.#clock.elapsed() - this.#enteredAt))
  }

  /** Undefined where no operation may be sent to the store now. */
  admit(): StoreAdmission | undefined {
    if (!this.isAdmitting) return undefined
    this.#isProbing = this.#state === 'half_open'
    const period = this.#period
    let isSettled = false
    return {
      settle: (isOk) => {
        if (isSettled || period !== this.#period) return
        isSettled = true
        this.#settle(isOk)
      },
    }
  }

  #settle(isOk: boolean): void {
    if (this.#state === 'half_open') {
      this.#enter(isOk ? 'closed' : 'open')
      return
    }
    this.#inARow = isOk ? 0 : this.#inARow + 1
    this.#window.push(!isOk)
    if (this.#window.length > windowLength) this.#window.shift()
    const failed = this.#window.filter((isFailure) => isFailure).length
    if (this.#inARow >= failuresInARow || failed >= failuresInWindow) this.#enter('open')
  }

  #enter(state: BreakerState): void {
    if (state === 'open') this.#openMs = this.#nextOpenMs() * (1 - jitter * this.#clock.random())
    this.#state = state
    this.#enteredAt = this.#clock.elapsed()
    this.#period++
    this.#inARow = 0
    this.#window = []
    this.#isProbing = false
    ;(this.transitions as Record<BreakerState, number>)[state]++
  }

  /** Doubles while the store keeps failing; begins again once it was well for a while. */
  #nextOpenMs(): number {
    const wasSteady = this.#state === 'closed' && this.#clock.elapsed() - this.#enteredAt >= steadyMs
    this.#level = wasSteady ? 0 : this.#level
    return Math.min(maxOpenMs, firstOpenMs * 2 ** this.#level++)
  }
}
