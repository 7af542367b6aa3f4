/**
 * Sort functions over a range. They have no effect, because range answers are ordered by labels, but from 3.12 on Prometheus
 * warns of them unless the range is a single step. So a single step is never fetched alone: its answer would lack the
 * warning that the whole answer has.
 */
import { type Interval, lengthOf } from '../../core/interval.ts'
import { slice } from '../../core/pane.ts'
import type { Plan, Sink } from '../backend.ts'

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
export const cuttingSink = (sink: Sink, interval: Interval): Sink => ({
  get held() {
    return sink.held
  },
  write: (chunk) => sink.write(chunk),
  end(fetchedAt, ends) {
    const decomposed = sink.end(fetchedAt, ends)
    if ('unusable' in decomposed) return decomposed
    return { ...decomposed, panes: decomposed.panes.map((pane) => slice(pane, interval)) }
  },
})
