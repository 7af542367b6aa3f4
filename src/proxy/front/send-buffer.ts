/**
 * Where a short answer is put together with its head, so that both leave with one plain write: handing the stream two pieces
 * costs more than copying one of them. Bytes that the system has taken at once, which are nearly all, leave their room to the
 * next answer; others keep it for as long as they wait.
 */
import type { Socket } from 'node:net'

/** Bytes that can be written wherever they are wanted. */
export interface ShortBody {
  readonly length: number
  write(target: Uint8Array): void
}

/** Longer ones are sent from where they lie: from here on a copy costs more than a second piece (measured: 8 to 12 KiB). */
export const maxShortBytes = 8 * 1024

/** Pieces that are short together, as one body; undefined where they are not. */
export function shortOf(pieces: readonly Uint8Array[]): ShortBody | undefined {
  let length = 0
  for (let i = 0; i < pieces.length; i++) length += pieces[i]!.length
  if (length > maxShortBytes) return undefined
  const write = (target: Uint8Array) => {
    let at = 0
    for (const piece of pieces) {
      target.set(piece, at)
      at += piece.length
    }
  }
  return { length, write }
}

/** Small, because one answer that a client does not take keeps all of it. */
const bufferBytes = 16 * 1024

let buffer = Buffer.allocUnsafeSlow(bufferBytes)
let used = 0

/** Writes both to the socket. `flushed` is called when the system has taken them, or with an error. */
export function sendShort(
  socket: Socket,
  { head, body }: { readonly head: string; readonly body: ShortBody },
  flushed: (error?: Error | null) => void,
): void {
  const length = head.length + body.length
  if (length > bufferBytes - used) {
    buffer = Buffer.allocUnsafeSlow(Math.max(bufferBytes, length))
    used = 0
  }
  const bytes = buffer.subarray(used, used + length)
  bytes.write(head, 0, 'latin1')
  body.write(bytes.subarray(head.length))
  socket.write(bytes, flushed)
  if (socket.writableLength > 0) used += length
}
