/** A database for the cell backend, on a fake clock: it records its queries, can be slow, and can fail. */
import type { HeaderList, WireRequest } from '../../src/backends/backend.ts'
import type { Clock, EpochMs } from '../../src/core/clock.ts'
import { gridThrough } from '../../src/core/grid.ts'
import type { ResponseHandler, Upstream, UpstreamCall } from '../../src/engine/ports.ts'
import type { Span } from '../../src/testing/backend-runs.ts'
import { printSpans, readSpans, rowsIn, touchedBy } from '../../src/testing/cell-ranges.ts'
import { type Reply, replyAfter } from './fake-reply.ts'

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
  /** The value of the cell that begins at an instant; undefined where it has no data. Called at every query. */
  readonly valueAt?: ((start: EpochMs) => number | undefined) | undefined
}

/** Neighbours have different values. */
const usualValue = (start: EpochMs): number => (start / 1000) % 9973

export class FakeDatabase implements Upstream {
  readonly preferredEncoding = 'identity'
  /** From a query to its answer. */
  lagMs = 0
  /** The failure of every query, where set. */
  failure: Reply | undefined
  headers: HeaderList = ['Content-Type', 'application/json']
  readonly asked: AskedQuery[] = []
  cancelled = 0
  readonly #clock: Clock
  readonly #valueAt: (start: EpochMs) => number | undefined

  constructor({ clock, valueAt = usualValue }: FakeDatabaseOptions) {
    this.#clock = clock
    this.#valueAt = valueAt
  }

  send({ search }: WireRequest, _accept: string, handler: ResponseHandler): UpstreamCall {
    const clock = this.#clock
    const parameters = new URLSearchParams(search)
    const [from, to, step, limit] = ['from', 'to', 'step', 'limit'].map((name) =>
      Number(parameters.get(name)),
    )
    const ranges = readSpans(parameters.get('ranges'))
    this.asked.push({
      at: clock.now(),
      ...(ranges === undefined
        ? { from: from!, to: to!, cells: (to! - from!) / step! }
        : askedRanges(ranges, step!)),
    })
    const call = replyAfter({ clock, lagMs: this.lagMs }, handler, () => {
      const { failure, headers } = this
      if (failure !== undefined) return 'reason' in failure ? failure : { ...failure, headers }
      const body =
        ranges === undefined
          ? this.truth(from!, to!, step!)
          : this.truthOf(ranges, { step: step!, ...(limit && { limit }) })
      return { status: 200, body, headers }
    })
    const cancel = () => {
      this.cancelled++
      call.cancel()
    }
    return { ...call, cancel }
  }

  /** The answer to a query about [from, to), read at this moment. */
  truth(from: EpochMs, to: EpochMs, step: number): string {
    return answerOf(rowsIn([{ from, to }], gridThrough('cell', step, from), this.#valueAt))
  }

  /** The answer to a query about ranges, read at this moment. */
  truthOf(spans: readonly Span[], { step, limit }: { step: number; limit?: number }): string {
    return answerOf(rowsIn(spans, gridThrough('cell', step, 0), this.#valueAt).slice(0, limit))
  }
}

const askedRanges = (spans: readonly Span[], step: number): Omit<AskedQuery, 'at'> => ({
  ...{ from: spans[0]!.from, to: spans.at(-1)!.to, ranges: printSpans(spans) },
  cells: touchedBy(spans, gridThrough('cell', step, 0)).length,
})

const answerOf = (rows: readonly string[]): string => `{"rows":[${rows.join(',')}]}`
