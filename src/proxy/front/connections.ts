/**
 * The connections of one listener. Clients that do not send their request, and connections that nobody uses, are found by
 * looking at all of them now and then: a timer per request, as node:http has it, costs more than a small answer.
 */
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Asked, Reply } from './exchange.ts'
import type { Shortcut } from './shortcut.ts'

export interface Patience {
  /** For a request to arrive in full, from its first byte or from the opening of the connection. */
  readonly requestMs: number
  /** For the next request. */
  readonly idleMs: number
}

interface Connection {
  readonly shortcut: Pick<Shortcut, 'isReceiving' | 'adopts'>
  /** The last request that began; answers leave in order, so that its answer is the last one too. */
  request: Pick<Asked, 'complete'> | undefined
  response: Ending | undefined
  requests: number
  /** What it was seen doing at the last look, since when, and what it had sent by then. */
  doing: Doing
  since: number
  seenRequests: number
  seenBytes: number
}

/** When an answer is over. */
export type Ending = Pick<Reply, 'closed' | 'once'>

/** A connection that node:http alone reads: the beginning of a request is not seen then. */
export const noShortcut: Connection['shortcut'] = { isReceiving: false, adopts: () => false }

type Doing = 'sending' | 'waiting' | 'idle'

export class Connections {
  readonly #clock: Clock
  readonly #patience: Patience
  readonly #all = new Map<Socket, Connection>()
  #timer: Timer | undefined

  constructor(clock: Clock, patience: Patience) {
    this.#clock = clock
    this.#patience = patience
  }

  add(socket: Socket, shortcut: Connection['shortcut']): void {
    this.#all.set(socket, {
      shortcut,
      request: undefined,
      response: undefined,
      requests: 0,
      doing: 'sending',
      since: this.#clock.elapsed(),
      seenRequests: 0,
      seenBytes: socket.bytesRead,
    })
    socket.once('close', () => this.#remove(socket))
    this.#timer ??= this.#lookAgain()
  }

  /** Called for every request. */
  began(socket: Socket, request: Pick<Asked, 'complete'>, response: Ending): void {
    const connection = this.#all.get(socket)
    if (connection === undefined) return
    connection.request = request
    connection.response = response
    connection.requests++
  }

  /** Answers that are not over. */
  *answering(): Iterable<Ending> {
    for (const { response } of this.#all.values()) if (response?.closed === false) yield response
  }

  shortcutOf(socket: Socket): Connection['shortcut'] | undefined {
    return this.#all.get(socket)?.shortcut
  }

  /** Closes those that never sent a request, and those between two. */
  closeIdle(): void {
    for (const [socket, { request, response, shortcut }] of this.#all) {
      const isIdle = request === undefined || (request.complete && response?.closed && !shortcut.isReceiving)
      if (isIdle) socket.destroy()
    }
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #remove(socket: Socket): void {
    this.#all.delete(socket)
    if (this.#all.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #lookAgain(): Timer {
    const { requestMs, idleMs } = this.#patience
    return this.#clock.after(Math.max(1, Math.min(requestMs, idleMs) / 20), () => {
      for (const [socket, connection] of this.#all) this.#look(socket, connection)
      this.#timer = this.#all.size === 0 ? undefined : this.#lookAgain()
    })
  }

  #look(socket: Socket, connection: Connection): void {
    const now = this.#clock.elapsed()
    const doing = doingOf(socket, connection)
    if (doing !== connection.doing || connection.requests !== connection.seenRequests) connection.since = now
    connection.doing = doing
    connection.seenRequests = connection.requests
    connection.seenBytes = socket.bytesRead
    const forMs = now - connection.since
    if (doing === 'sending' && forMs >= this.#patience.requestMs) refuse(socket, connection)
    if (doing === 'idle' && forMs >= this.#patience.idleMs) socket.destroy()
  }
}

function doingOf(socket: Socket, connection: Connection): Doing {
  const { shortcut, request, response, doing, requests, seenRequests, seenBytes } = connection
  if (request === undefined || !request.complete) return 'sending'
  if (response?.closed === false) return 'waiting'
  if (requests !== seenRequests || doing === 'waiting') return 'idle'
  // Bytes that did not become a request since the last look are the beginning of one; so is what came with the last one.
  const isSending = doing === 'sending' || socket.bytesRead > seenBytes || shortcut.isReceiving
  return isSending ? 'sending' : 'idle'
}

function refuse(socket: Socket, { response }: Connection): void {
  if (response === undefined || response.closed) {
    socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  }
  socket.destroy()
}
