/** The answer's own bytes in a pane, where they lie. */
import { noBytes } from './bytes.ts'
import type { Pane } from './pane.ts'

/** Of answers that are rows, with one column and one lane: the encoded rows, none where there are none. */
export const rowBytes = (pane: Pane): Buffer => (pane.body.columns === 0 ? noBytes : columnBytes(pane, 0, 0))

/** The encoded buckets of a column in a lane, one behind the other; none where it has none in this pane. */
export function columnBytes({ body, from, to }: Pane, column: number, lane: number): Buffer {
  const [start, end] = [body.offsetOf(column, lane, from), body.offsetOf(column, lane, to)]
  return body.bytes.subarray(body.slabAt + start, body.slabAt + end)
}

/** The encoded head of a column, such as the labels of a series. */
export function headBytes({ body }: Pane, column: number): Buffer {
  const record = body.columnsAt + column * body.stride
  return body.bytes.subarray(body.slabAt + body.u32[record]!, body.slabAt + body.u32[record + 1]!)
}
