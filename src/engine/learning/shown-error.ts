/** How far a served bucket deviates from the database's current value. */
import type { Pane } from '../../core/pane.ts'
import { PanePair } from '../shadow/cells.ts'

export interface ShownError {
  readonly isStale: boolean
  /** The mean over the columns of the bucket: 0 where a column is right, 1 where it is missing or another kind of value. */
  readonly error: number
}

/** `fetched` covers the one bucket of `shown`; their frames are equal. */
export function shownError(shown: Pane, fetched: Pane): ShownError {
  const pair = new PanePair(shown, fetched)
  const isStale = pair.differing().length > 0
  if (!isStale) return { isStale, error: 0 }
  const cells = pair.cellsAt(shown.from)
  const wrong = cells.reduce((sum, cell) => sum + cellError(cell.stored, cell.fetched), 0)
  return { isStale, error: wrong / Math.max(cells.length, pair.columnsAt(shown.from)) }
}

const number = /[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g

/** The numbers that differ, each against the true one. Equal numbers, such as timestamps, do not count. */
function cellError(shown: string, truth: string): number {
  const [before, after] = [shown.match(number) ?? [], truth.match(number) ?? []]
  if (before.length !== after.length) return 1
  let [sum, count] = [0, 0]
  for (let i = 0; i < after.length; i++) {
    if (before[i] === after[i]) continue
    sum += relativeError(Number(before[i]), Number(after[i]))
    count++
  }
  // Unequal bytes with equal numbers: words such as NaN.
  return count === 0 ? 1 : sum / count
}

const relativeError = (shown: number, truth: number): number =>
  shown === truth ? 0 : Math.min(1, Math.abs(shown - truth) / Math.abs(truth))
