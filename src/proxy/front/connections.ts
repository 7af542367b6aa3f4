/**
 * The connections of one listener. Clients that send their request too slowly or not at all, and idle connections, are
 * found by a scan of all connections every few seconds: a timer per request, as node:http has it, costs more than a
 * small answer.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../core/clock.ts'
import type { CutReason } from '../../core/decision.ts'
import type { Limits } from '../limits.ts'
import type { ClientRequest, Reply } from './exchange.ts'
import { writeRefusal } from './refusal.ts'
import type { Shortcut } from './shortcut.ts'

export interface ClientLimits
  extends Pick<Limits, 'requestTimeoutMs' | 'minRateBytes' | 'maxIncompletePerAddress'> {
  /** Called for every connection that is closed because of these limits. */
  readonly onCut?: ((reason: CutReason) => void) | undefined
}

/** For the next request. */
const idleMs = 120_000
/** A request may be slower than the minimum rate at its beginning. */
const rateGraceMs = 10_000

interface Connection {
  readonly shortcut: Pick<Shortcut, 'isReceiving' | 'adopt'>
  /** The last request that began; answers leave in order, so that its answer is the last one too. */
  request: Arriving | undefined
  response: EndingResponse | undefined
  requests: number
  /** Answers that node:http keeps until those before them are sent. */
  waiting: Set<ServerResponse> | undefined
  /** Its activity at the last scan, since when, and the bytes received by then. */
  doing: Doing
  since: number
  sinceBytes: number
  seenRequests: number
  seenBytes: number
}

/** Unread bytes that have arrived (`readableLength`) show that the client is not the slow one. */
type Arriving = Pick<ClientRequest, 'complete'> & { readonly readableLength?: number }

/** When an answer is over, and whether it has begun. */
export type EndingResponse = Pick<Reply, 'closed' | 'once'> & Partial<Pick<Reply, 'headersSent' | 'socket'>>

/** A connection that node:http alone reads: the beginning of a request is not seen then. */
export const noShortcut: Connection['shortcut'] = { isReceiving: false, adopt: () => false }

type Doing = 'sending' | 'waiting' | 'idle'
type Sender = readonly [Socket, Connection]

export class Connections {
  readonly #clock: Clock
  readonly #limits: ClientLimits
  readonly #all = new Map<Socket, Connection>()
  #timer: Timer | undefined

  constructor(clock: Clock, limits: ClientLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  add(socket: Socket, shortcut: Connection['shortcut']): void {
    this.#all.set(socket, {
      shortcut,
      request: undefined,
      response: undefined,
      requests: 0,
      waiting: undefined,
      doing: 'sending',
      since: this.#clock.elapsed(),
      sinceBytes: socket.bytesRead,
      seenRequests: 0,
      seenBytes: socket.bytesRead,
    })
    socket.once('close', () => this.#remove(socket))
    this.#timer ??= this.#lookAgain()
  }

  /** Called for every request. */
  began(socket: Socket, request: Arriving, response: EndingResponse): void {
    const connection = this.#all.get(socket)
    if (connection === undefined) return
    connection.request = request
    connection.response = response
    connection.requests++
  }

  /** An answer that waits behind others is closed with its connection, and one that broke off meanwhile closes it in its turn. */
  waits(socket: Socket, response: ServerResponse): void {
    const connection = this.#all.get(socket)
    if (connection === undefined) return
    connection.waiting ??= new Set()
    const { waiting } = connection
    waiting.add(response)
    response.once('close', () => waiting.delete(response))
    // Node:http closes no socket for a response that was destroyed before it had one.
    connection.response?.once('close', () => response.destroyed && response.socket?.destroy())
  }

  /** Answers that are not over. */
  *answering(): Iterable<EndingResponse> {
    for (const { response } of this.#all.values()) if (response?.closed === false) yield response
  }

  /** The answer to the last request of a connection. */
  lastOn(socket: Socket): EndingResponse | undefined {
    return this.#all.get(socket)?.response
  }

  shortcutOf(socket: Socket): Connection['shortcut'] | undefined {
    return this.#all.get(socket)?.shortcut
  }

  /** Closes connections that never sent a request, and connections between two requests. */
  closeIdle(): void {
    for (const [socket, { request, response, shortcut }] of this.#all) {
      const isIdle = request === undefined || (request.complete && response?.closed && !shortcut.isReceiving)
      if (isIdle) socket.destroy()
    }
  }

  /** Closes a connection whose request is not complete, with an answer where one can be given. */
  cut(socket: Socket, reason: CutReason): void {
    if (socket.destroyed) return
    this.#limits.onCut?.(reason)
    const response = this.#all.get(socket)?.response
    const isSilent = response === undefined || response.closed
    // The answer to a body that does not come, unless others go before it on this connection.
    const isInTurn = response?.headersSent === false && response.socket !== null
    if (isSilent || isInTurn) writeRefusal(socket, reason)
    socket.destroy()
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #remove(socket: Socket): void {
    for (const response of this.#all.get(socket)?.waiting ?? []) closeWaiting(response)
    this.#all.delete(socket)
    if (this.#all.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #lookAgain(): Timer {
    const { requestTimeoutMs } = this.#limits
    return this.#clock.after(Math.max(1, Math.min(requestTimeoutMs, idleMs) / 20), () => {
      const senders: Sender[] = []
      for (const [socket, connection] of this.#all) {
        if (this.#look(socket, connection)) senders.push([socket, connection])
      }
      if (senders.length > this.#limits.maxIncompletePerAddress) this.#cutSurplus(senders)
      this.#timer = this.#all.size === 0 ? undefined : this.#lookAgain()
    })
  }

  /** Returns whether it goes on sending a request. */
  #look(socket: Socket, connection: Connection): boolean {
    const now = this.#clock.elapsed()
    const doing = doingOf(socket, connection)
    if (doing !== connection.doing || connection.requests !== connection.seenRequests) {
      connection.since = now
      connection.sinceBytes = connection.seenBytes
    }
    connection.doing = doing
    connection.seenRequests = connection.requests
    connection.seenBytes = socket.bytesRead
    const forMs = now - connection.since
    if (doing === 'idle' && forMs >= idleMs) socket.destroy()
    if (doing !== 'sending') return false
    const reason = this.#faultOf(socket, connection, forMs)
    if (reason !== undefined) this.cut(socket, reason)
    return reason === undefined && hasBegun(socket, connection)
  }

  #faultOf(socket: Socket, connection: Connection, forMs: number): CutReason | undefined {
    const { requestTimeoutMs, minRateBytes } = this.#limits
    if (forMs >= requestTimeoutMs) return 'request_timeout'
    if (forMs < rateGraceMs || !hasBegun(socket, connection)) return undefined
    const isUnread = (connection.request?.readableLength ?? 0) > 0
    const isSlow = (socket.bytesRead - connection.sinceBytes) * 1000 < minRateBytes * forMs
    return isSlow && !isUnread ? 'slow_sender' : undefined
  }

  /** Of each address, the requests that have been arriving longest. */
  #cutSurplus(senders: readonly Sender[]): void {
    const { maxIncompletePerAddress: most } = this.#limits
    for (const ofOne of Map.groupBy(senders, ([socket]) => socket.remoteAddress).values()) {
      if (ofOne.length <= most) continue
      const oldestFirst = ofOne.toSorted(([, a], [, b]) => a.since - b.since)
      for (const [socket] of oldestFirst.slice(0, -most)) this.cut(socket, 'incomplete_per_address')
    }
  }
}

function doingOf(socket: Socket, connection: Connection): Doing {
  const { shortcut, request, response, doing, requests, seenRequests, seenBytes } = connection
  if (request === undefined || !request.complete) return 'sending'
  if (response?.closed === false) return 'waiting'
  if (requests !== seenRequests || doing === 'waiting') return 'idle'
  // Bytes since the last scan that did not become a request are the beginning of one; so are bytes that came with the
  // last request.
  const isSending = doing === 'sending' || socket.bytesRead > seenBytes || shortcut.isReceiving
  return isSending ? 'sending' : 'idle'
}

/** A connection that was only opened has nothing to send yet. */
const hasBegun = (socket: Socket, { request, sinceBytes, shortcut }: Connection): boolean =>
  request?.complete === false || socket.bytesRead > sinceBytes || shortcut.isReceiving

/** Its connection is gone before its turn came. Node 24 closes it in the next tick, Node 22 leaves it open. */
function closeWaiting(response: ServerResponse): void {
  response.destroy()
  process.nextTick(() => {
    if (response.closed) return
    Object.defineProperty(response, 'closed', { value: true })
    response.emit('close')
  })
}
