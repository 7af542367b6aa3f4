/** A database for the cell backend, on a fake clock: it knows what it was asked, can be slow, and can fail. */
import type { HeaderList, WireRequest } from '../backends/backend.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import type { Broken, Exchange, ResponseHandler, Upstream } from '../engine/ports.ts'

export interface AskedQuery {
  readonly at: EpochMs
  readonly from: EpochMs
  readonly to: EpochMs
  readonly cells: number
}

export interface FakeDatabaseOptions {
  readonly clock: Clock
  /** The value of the cell that begins at an instant; undefined where it has no data. Whoever asks, whenever. */
  valueAt(start: EpochMs): number | undefined
}

export type Failure = Broken | { readonly status: number; readonly body: string }

export class FakeDatabase implements Upstream {
  readonly preferredEncoding = 'identity'
  /** From a query to its answer. */
  lagMs = 0
  /** What every query gets instead of an answer. */
  failure: Failure | undefined
  headers: HeaderList = ['Content-Type', 'application/json']
  readonly asked: AskedQuery[] = []
  cancelled = 0
  readonly #options: FakeDatabaseOptions
  readonly #rows = new Map<EpochMs, string>()

  constructor(options: FakeDatabaseOptions) {
    this.#options = options
  }

  send(request: WireRequest, _accept: string, handler: ResponseHandler): Exchange {
    const parameters = new URLSearchParams(request.search)
    const [from, to, step] = ['from', 'to', 'step'].map((name) => Number(parameters.get(name)))
    this.asked.push({ at: this.#options.clock.now(), from: from!, to: to!, cells: (to! - from!) / step! })
    const timer = this.#later(() => this.#reply(handler, this.truth(from!, to!, step!)))
    const cancel = () => {
      this.cancelled++
      timer.cancel()
    }
    return { cancel, pause() {}, resume() {}, stopDecoding() {} }
  }

  /** The answer to a query about [from, to), read at this moment. */
  truth(from: EpochMs, to: EpochMs, step: number): string {
    const rows: string[] = []
    for (let start = from; start < to; start += step) {
      const row = this.#row(start)
      if (row !== '') rows.push(row)
    }
    return `{"rows":[${rows.join(',')}]}`
  }

  #row(start: EpochMs): string {
    const known = this.#rows.get(start)
    if (known !== undefined) return known
    const value = this.#options.valueAt(start)
    const row = value === undefined ? '' : `[${start},${value}]`
    // Late data may still arrive where there is none.
    if (row !== '') this.#rows.set(start, row)
    return row
  }

  /** Without a lag the answer comes as soon as the one who asked lets go, at the same instant. */
  #later(action: () => void): { cancel(): void } {
    if (this.lagMs > 0) return this.#options.clock.after(this.lagMs, action)
    let isCancelled = false
    queueMicrotask(() => {
      if (!isCancelled) action()
    })
    return {
      cancel() {
        isCancelled = true
      },
    }
  }

  #reply(handler: ResponseHandler, answer: string): void {
    const { failure } = this
    if (failure !== undefined && 'reason' in failure) {
      handler.failed(failure)
      return
    }
    handler.head(failure?.status ?? 200, this.headers)
    const body = Buffer.from(failure?.body ?? answer)
    handler.raw?.(body)
    handler.data(body)
    handler.end([])
  }
}
