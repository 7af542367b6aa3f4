/**
 * The only path to a far store: every operation of its panes and cells is limited in time, measured, counted and
 * reported to the store's breaker here. While the breaker is open an operation fails at once and no request waits. Writes of
 * panes may take longer.
 */
import type { Clock } from '../core/clock.ts'
import { inTime } from '../core/deadline.ts'
import { andThen, type MaybePromise, orElse } from '../core/maybe.ts'
import { withoutSecrets } from '../core/secrets.ts'
import { Breaker } from './breaker.ts'
import type { Cells } from './cells.ts'
import { cellsThrough } from './cells-through.ts'
import type { StoreCondition, StoreOperation } from './figures.ts'

export interface StoreGuardOptions {
  readonly clock: Clock
  /** The latency budget: the longest that a request waits for one operation; later responses count as failures. */
  readonly timeoutMs: number
  /** Called with the duration of an operation, also where it failed; not where the breaker was open. */
  readonly onOperation?: ((operation: StoreOperation, ms: number) => void) | undefined
  /** Called when the breaker leaves the closed state, and with nothing when it closes again. */
  readonly onTrouble?: ((trouble: StoreCondition | undefined) => void) | undefined
}

/** Times the budget of other operations: no request waits for a write of panes, and a slow disk is still read quickly. */
const writePatience = 10

export class StoreGuard {
  readonly breaker: Breaker
  /** Operations that failed or exceeded the budget. */
  failures = 0
  readonly #options: StoreGuardOptions
  #lastFailure = ''
  #isClosed = true

  constructor(options: StoreGuardOptions) {
    this.#options = options
    this.breaker = new Breaker(options.clock)
  }

  /** Undefined while operations go out. */
  get trouble(): StoreCondition | undefined {
    const { breaker } = this
    if (breaker.state === 'closed') return undefined
    const next =
      breaker.state === 'open' ? `in ${(breaker.opensForMs / 1000).toFixed(1)} s` : 'with the next operation'
    const detail = `The store ${this.#lastFailure}. Requests go on without it; it is tried again ${next}.`
    return { state: 'open', trouble: 'failing', detail }
  }

  /** Waits for something that is no operation of its own no longer than for one; `otherwise` where it fails or is late. */
  wait<T>(pending: Promise<T>, otherwise: T, kind: StoreOperation = 'read'): Promise<T> {
    return inTime(pending, this.#options.clock, this.#limitOf(kind)).catch(() => otherwise)
  }

  /** Throws or rejects where the operation fails, is late, or must not go out now. */
  run<T>(
    kind: StoreOperation,
    operation: () => MaybePromise<T>,
    timeoutMs = this.#limitOf(kind),
  ): MaybePromise<T> {
    const admission = this.breaker.admit()
    if (admission === undefined) throw new Error('the breaker of the store is open')
    const { clock, onOperation } = this.#options
    const began = clock.elapsed()
    const settle = (isOk: boolean): void => {
      admission.settle(isOk)
      this.#reportTrouble()
      onOperation?.(kind, clock.elapsed() - began)
    }
    const succeeded = (value: T): T => {
      settle(true)
      return value
    }
    const failed = (error: unknown): never => {
      this.#note(error, timeoutMs)
      settle(false)
      throw error
    }
    const inBudget = orElse(() => inTime(operation(), clock, timeoutMs), failed)
    return andThen(inBudget, succeeded)
  }

  #limitOf(kind: StoreOperation): number {
    return this.#options.timeoutMs * (kind === 'write' ? writePatience : 1)
  }

  #reportTrouble(): void {
    const isClosed = this.breaker.state === 'closed'
    if (isClosed === this.#isClosed) return
    this.#isClosed = isClosed
    this.#options.onTrouble?.(this.trouble)
  }

  #note(error: unknown, timeoutMs: number): void {
    this.failures++
    const message = withoutSecrets(String(error instanceof Error ? error.message : error)).slice(0, 200)
    this.#lastFailure = `failed or took longer than ${timeoutMs} ms (${message})`
  }
}

/** Cells whose operations go through the guard. Background callers may have more time than requests. */
export function guardedCells(cells: Cells, guard: StoreGuard, timeoutMs?: number): Cells {
  const { isAlone } = cells
  return {
    ...cellsThrough(cells, async (operation) => guard.run('cell', operation, timeoutMs)),
    ...(isAlone && { isAlone: () => isAlone.call(cells) }),
  }
}
