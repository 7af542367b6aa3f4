/** Panes of answers that are rows: one column and one lane. */
import { noBytes } from './bytes.ts'
import type { Pane } from './pane.ts'

/** The encoded rows of a pane where they lie, none where it has no rows. */
export function rowBytes({ body, from, to }: Pane): Buffer {
  if (body.columns === 0) return noBytes
  return body.bytes.subarray(body.slabAt + body.offsetOf(0, 0, from), body.slabAt + body.offsetOf(0, 0, to))
}
