/**
 * Sort functions over a range. They have no effect, because range answers are ordered by labels, but from 3.12 on Prometheus
 * warns of them unless the range is a single step. So a single step is never fetched alone: its answer would lack the
 * warning that the whole answer has.
 */
import type { EpochMs } from '../../core/clock.ts'
import { type Interval, lengthOf } from '../../core/interval.ts'
import { slice } from '../../core/pane.ts'
import type { Decomposed, Plan, ResponseEnds, Sink, Unusable } from '../backend.ts'

export interface MatrixPlan extends Plan {
  /** The outermost function sorts. */
  readonly isSorted?: boolean
}

/** The buckets to fetch in order to get the buckets of `interval`. */
export function askedInterval({ isSorted, window }: MatrixPlan, interval: Interval): Interval {
  if (isSorted !== true || lengthOf(interval) > 1) return interval
  const { from, to } = interval
  return from > window.from || window.to === to ? { from: from - 1, to } : { from, to: to + 1 }
}

/** A sink for the answer to the request for `askedInterval`, of which only `interval` is wanted. */
export class CuttingSink implements Sink {
  readonly #sink: Sink
  readonly #interval: Interval

  constructor(sink: Sink, interval: Interval) {
    this.#sink = sink
    this.#interval = interval
  }

  get held(): number {
    return this.#sink.held
  }

  write(chunk: Uint8Array): void {
    this.#sink.write(chunk)
  }

  end(fetchedAt: EpochMs, ends: ResponseEnds): Decomposed | Unusable {
    const decomposed = this.#sink.end(fetchedAt, ends)
    if ('unusable' in decomposed) return decomposed
    return { ...decomposed, panes: decomposed.panes.map((pane) => slice(pane, this.#interval)) }
  }
}
