/** A database for the cell backend, on a fake clock: it records its queries, can be slow, and can fail. */
import type { HeaderList, WireRequest } from '../backends/backend.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import { gridThrough } from '../core/grid.ts'
import type { Broken, ResponseHandler, Upstream, UpstreamCall } from '../engine/ports.ts'
import { afterLag } from './after-lag.ts'
import type { Span } from './backend-runs.ts'
import { printSpans, readSpans, rowsIn, touchedBy } from './cell-ranges.ts'

export interface AskedQuery {
  readonly at: EpochMs
  readonly from: EpochMs
  readonly to: EpochMs
  /** Partially requested cells included. */
  readonly cells: number
  /** Where the query had ranges. */
  readonly ranges?: string
}

export interface FakeDatabaseOptions {
  readonly clock: Clock
  /** The value of the cell that begins at an instant; undefined where it has no data. The same at every query. */
  valueAt(start: EpochMs): number | undefined
  /** The value of a cell may be another one at the next query; false by default. */
  readonly isChanging?: boolean
}

export type Failure = Broken | { readonly status: number; readonly body: string }

export class FakeDatabase implements Upstream {
  readonly preferredEncoding = 'identity'
  /** From a query to its answer. */
  lagMs = 0
  /** The failure of every query, where set. */
  failure: Failure | undefined
  headers: HeaderList = ['Content-Type', 'application/json']
  readonly asked: AskedQuery[] = []
  cancelled = 0
  readonly #options: FakeDatabaseOptions
  readonly #rows = new Map<EpochMs, string>()

  constructor(options: FakeDatabaseOptions) {
    this.#options = options
  }

  send(request: WireRequest, _accept: string, handler: ResponseHandler): UpstreamCall {
    const parameters = new URLSearchParams(request.search)
    const [from, to, step, limit] = ['from', 'to', 'step', 'limit'].map((name) =>
      Number(parameters.get(name)),
    )
    const spans = readSpans(parameters.get('ranges'))
    const at = this.#options.clock.now()
    if (spans === undefined) this.asked.push({ at, from: from!, to: to!, cells: (to! - from!) / step! })
    else this.#askedRanges(spans, step!)
    const timer = afterLag(this.#options.clock, this.lagMs, () => {
      const truth =
        spans === undefined
          ? this.truth(from!, to!, step!)
          : this.truthOf(spans, { step: step!, ...(limit && { limit }) })
      this.#reply(handler, truth)
    })
    const cancel = () => {
      this.cancelled++
      timer.cancel()
    }
    return { cancel, pause() {}, resume() {} }
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

  /** The answer to a query about ranges, read at this moment. */
  truthOf(spans: readonly Span[], { step, limit }: { step: number; limit?: number }): string {
    const rows = rowsIn(spans, gridThrough('cell', step, 0), this.#options.valueAt)
    return `{"rows":[${rows.slice(0, limit).join(',')}]}`
  }

  #askedRanges(spans: readonly Span[], step: number): void {
    const [from, to] = [spans[0]!.from, spans.at(-1)!.to]
    const cells = touchedBy(spans, gridThrough('cell', step, 0)).length
    this.asked.push({ at: this.#options.clock.now(), from, to, cells, ranges: printSpans(spans) })
  }

  #row(start: EpochMs): string {
    const known = this.#rows.get(start)
    if (known !== undefined && this.#options.isChanging !== true) return known
    const value = this.#options.valueAt(start)
    const row = value === undefined ? '' : `[${start},${value}]`
    // Late data may still arrive where there is none.
    if (row !== '') this.#rows.set(start, row)
    return row
  }

  #reply(handler: ResponseHandler, answer: string): void {
    const { failure } = this
    if (failure !== undefined && 'reason' in failure) {
      handler.failed(failure)
      return
    }
    handler.head(failure?.status ?? 200, this.headers)
    handler.data(Buffer.from(failure?.body ?? answer))
    handler.end([])
  }
}
