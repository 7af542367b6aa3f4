/**
 * Requests to one table. Requests that were throttled, met a transaction or got no response are sent again, within the
 * store's timeout. Problems with the table are reported to the operator from the outcomes.
 */
import { type Clock, type EpochMs, pause } from '../../core/clock.ts'
import type { StoreCondition } from '../figures.ts'
import { type ErrorMeaning, meaningOf, textOf } from './errors.ts'
import type { DynamoDbApi } from './library.ts'

export interface RequestOptions {
  readonly api: DynamoDbApi
  readonly table: string
  readonly clock: Clock
  /** No request is sent again that could not be answered within this time after the first. */
  readonly timeoutMs: number
}

/** Each pause is drawn from the upper half of twice the one before. */
const firstPauseMs = 25
const maxConflicts = 3

type DynamoDbTrouble = Exclude<ErrorMeaning, 'condition'>

const remedies: Readonly<Record<DynamoDbTrouble, string>> = {
  not_set_up: 'create the tables: windowpane store init',
  denied: 'check the credentials, and that their policy allows the actions in docs/guide/dynamodb.md',
  throttled: 'raise the maximum throughput of the table, or wait: on-demand tables grow by themselves',
  unreachable: 'check the network and the endpoint; the store is used again as soon as it answers',
  conflict: 'nothing has to be done: it passes',
  refused: 'report it, with this text: it is a defect',
}

const isFinal: ReadonlySet<ErrorMeaning> = new Set(['not_set_up', 'denied', 'refused'])

export class Requests {
  readonly table: string
  /** Responses that report throttling, partially processed batches included. */
  throttled = 0
  /** Answers that will be the same again: missing tables or rights, and requests that are wrong. */
  refused = 0
  readonly #options: RequestOptions
  #trouble: NotedTrouble | undefined
  /** When DynamoDB last carried out a request, on the scale of `elapsed`. */
  #succeededAt = Number.NEGATIVE_INFINITY

  constructor(options: RequestOptions) {
    this.table = options.table
    this.#options = options
  }

  /** A server that answered another table since can be reached. */
  conditionBeside(others: readonly Requests[]): StoreCondition {
    const trouble = this.#trouble
    const isOver = others.some((other) => other.#succeededAt > (trouble?.at ?? 0))
    if (trouble === undefined || (trouble.kind === 'unreachable' && isOver)) return { state: 'ok' }
    return { state: 'degraded', trouble: trouble.kind, since: trouble.since, detail: trouble.detail }
  }

  /**
   * Sends a request, and repeats it where that is useful. `once`: a request that may have been carried out is not
   * repeated, since its condition would then fail because of itself. Rejects with the last error; a failed condition is
   * one.
   */
  async send<T>(request: (api: DynamoDbApi) => Promise<T>, { once = false } = {}): Promise<T> {
    const { api, clock } = this.#options
    const began = clock.elapsed()
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await request(api)
        this.#succeeded()
        return answer
      } catch (error) {
        const meaning = meaningOf(error)
        if (meaning === 'throttled') this.throttled++
        // A connection that was idle may have been closed by the other side at this moment: that is worth one more attempt.
        if (meaning === 'unreachable' && attempt === 0 && !once && this.#hasTime(began)) continue
        const isWorthIt = meaning === 'throttled' || (meaning === 'conflict' && attempt < maxConflicts)
        if (!isWorthIt || !(await this.#pause(began, attempt))) throw this.#noted(error, meaning)
      }
    }
  }

  /** Waits before the next attempt; resolves to false at once where no time is left for one. */
  async #pause(began: number, attempt: number): Promise<boolean> {
    const { clock } = this.#options
    const pauseMs = firstPauseMs * 2 ** attempt * (0.5 + clock.random() / 2)
    if (!this.#hasTime(began, pauseMs)) return false
    await pause(clock, pauseMs)
    return true
  }

  #hasTime(began: number, pauseMs = 0): boolean {
    const { clock, timeoutMs } = this.#options
    return clock.elapsed() - began + pauseMs < timeoutMs
  }

  #succeeded(): void {
    this.#trouble = undefined
    this.#succeededAt = this.#options.clock.elapsed()
  }

  /** The error to throw. */
  #noted(error: unknown, kind: ErrorMeaning): unknown {
    if (kind === 'condition') {
      this.#succeeded()
      return error
    }
    if (isFinal.has(kind)) this.refused++
    const { clock } = this.#options
    const since = this.#trouble?.kind === kind ? this.#trouble.since : clock.now()
    const detail = `table ${this.table}: ${textOf(error)}; ${remedies[kind]}`
    this.#trouble = { kind, since, detail, at: clock.elapsed() }
    // The message includes the remedy, so that every log line shows it.
    return Object.assign(new Error(detail, { cause: error }), { name: (error as Error).name })
  }
}

interface NotedTrouble {
  readonly kind: DynamoDbTrouble
  readonly since: EpochMs
  readonly detail: string
  /** When it was last seen, on the scale of `elapsed`. */
  readonly at: number
}
