/**
 * Panes that several threads of one process read: their bytes are in shared memory, and a message carries a reference
 * to it. Only the small objects around the bytes are each thread's own.
 */
import type { Interval } from '../core/interval.ts'
import { type Pane, PaneBody } from '../core/pane.ts'

/** A pane on its way to another thread. */
export interface SharedPane extends Interval {
  readonly id: number
  readonly memory: SharedArrayBuffer
  /** Of the body; the memory may be longer. */
  readonly length: number
}

/** Memory that other threads can be shown. */
export const sharedMemory = (length: number): Buffer => Buffer.from(new SharedArrayBuffer(length))

/** A body outside shared memory is copied there; the copy has a number of its own. */
export function toShared({ body, from, to }: Pane): SharedPane {
  const { buffer, byteOffset, byteLength } = body.bytes
  if (buffer instanceof SharedArrayBuffer && byteOffset === 0) {
    return { id: body.id, memory: buffer, length: byteLength, from, to }
  }
  const copy = sharedMemory(byteLength)
  body.bytes.copy(copy)
  return toShared({ body: new PaneBody(copy), from, to })
}

/** `known` are bodies that this thread has already: values derived from one of them are found again. */
export function fromShared({ id, memory, length, from, to }: SharedPane, known: readonly Pane[]): Pane {
  const body =
    known.find((pane) => pane.body.id === id)?.body ?? new PaneBody(Buffer.from(memory, 0, length), id)
  return { body, from, to }
}
