/**
 * A body's bytes in a form that compresses well, and back. Offsets grow from bucket to bucket; the lengths between them
 * compress well, because most are equal. Both directions work in pieces: for a long body, one piece per turn of the
 * event loop.
 */
import { bodyMemory, isAdoptable, type Origin, PaneBody } from './pane.ts'

/** Ends a piece with every `yield`. */
export type Work<T> = Generator<void, T>

export function atOnce<T>(work: Work<T>): T {
  for (let step = work.next(); ; step = work.next()) if (step.done === true) return step.value
}

/** Waits for `turn` between two pieces. */
export async function inTurns<T>(work: Work<T>, turn: () => Promise<void>): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
    await turn()
  }
}

const pieceBytes = 1024 * 1024
const pieceWords = pieceBytes / 4

/** A copy for a compressor; `body` stays as it is. */
export function* compressible(body: PaneBody): Work<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(body.bytes.length)
  yield* copied(body.bytes, bytes)
  const words = new Uint32Array(bytes.buffer, 0, bytes.length >>> 2)
  const first = body.tablesAt + 1
  for (let end = endOfTables(body); end > first; end -= pieceWords) {
    for (let i = end - 1, least = Math.max(first, end - pieceWords); i >= least; i--)
      words[i] = words[i]! - words[i - 1]!
    if (end - pieceWords > first) yield
  }
  return bytes
}

/** The body again, from the output of `compressible`; `bytes` may become its memory. */
export function* bodyOfCompressible(
  bytes: Buffer,
  { id, origins }: { readonly id: number; readonly origins: readonly Origin[] },
): Work<PaneBody> {
  const own = isAdoptable(bytes) ? bytes : yield* copied(bytes, bodyMemory(bytes.length))
  const body = new PaneBody(own, id)
  body.origins = origins
  const { u32 } = body
  const end = endOfTables(body)
  for (let first = body.tablesAt + 1; first < end; first += pieceWords) {
    for (let i = first, most = Math.min(end, first + pieceWords); i < most; i++)
      u32[i] = u32[i]! + u32[i - 1]!
    if (first + pieceWords < end) yield
  }
  return body
}

function* copied(from: Buffer, to: Buffer): Work<Buffer> {
  for (let at = 0; at < from.length; at += pieceBytes) {
    if (at > 0) yield
    from.copy(to, at, at, at + pieceBytes)
  }
  return to
}

/** Behind the tables come the notes' index or the ranks. */
const endOfTables = (body: PaneBody): number => (body.noteIndexAt > 0 ? body.noteIndexAt : body.ranksAt >>> 2)
