/** Clients that take nothing: an answer whose bytes wait in the socket without getting fewer is given up. */
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../core/clock.ts'
import { type RuntimeSwitches, writeQueueOf } from '../../core/runtime.ts'
import type { Reply } from './exchange.ts'

export interface Patience {
  readonly clock: Clock
  /** A client that takes nothing for this long is cut off. */
  readonly writeTimeoutMs: number
  readonly runtime: RuntimeSwitches
}

export class StallWatch {
  readonly #reply: Reply
  readonly #patience: Patience
  #timer: Timer | undefined
  #isWatched = false

  constructor(reply: Reply, patience: Patience) {
    this.#reply = reply
    this.#patience = patience
  }

  /** Only where bytes are waiting: an answer that fits into the socket's buffer needs no timer. */
  watch(): void {
    const socket = this.#reply.socket
    if (this.#timer !== undefined || socket === null || socket.writableLength === 0) return
    if (!this.#isWatched) this.#reply.once('close', () => this.#timer?.cancel())
    this.#isWatched = true
    const { clock, writeTimeoutMs, runtime } = this.#patience
    const taken = progressOf(socket, runtime)
    this.#timer = clock.after(writeTimeoutMs, () => {
      this.#timer = undefined
      if (socket.destroyed || socket.writableLength === 0) return
      if (progressOf(socket, runtime) === taken) this.#reply.destroy()
      else this.watch()
    })
  }
}

/**
 * Changes whenever a client takes something. Node counts only completed writes, and many megabytes can be one write: how
 * much of it is left is known to the socket's write queue alone.
 */
function progressOf(socket: Socket, { writeQueue }: RuntimeSwitches): string {
  return `${socket.bytesWritten - socket.writableLength} ${writeQueue ? writeQueueOf(socket) : ''}`
}
