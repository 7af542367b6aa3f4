/**
 * The shortcut of a connection: plain requests are read and answered here without node:http, which costs twice as much
 * as the cache. It sits in front of node:http's own reader, on the same socket. Other requests go to node:http, and so
 * does everything after them, since only node:http knows then where a request ends.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import type { Arrival } from './arrivals.ts'
import type { ClientRequest, Reply } from './exchange.ts'
import type { HeadTurns } from './head-turns.ts'
import { PlainReply, type ReplyConnection } from './plain-reply.ts'
import { maxPartialBytes, readPlain } from './plain-request.ts'

export interface ShortcutOptions {
  readonly clock: Clock
  readonly maxHeaderBytes: number
  /** Takes a request that was read here; without it none is. */
  readonly begin: ((request: ClientRequest, reply: Reply) => void) | undefined
  /** Counts the received bytes of an incomplete request. */
  readonly arrival: Arrival
  readonly headTurns: HeadTurns
}

/** A head that comes in more pieces than this is left to node:http. */
export const maxPieces = 8
/** A client that sends more than this without having read the answer before is paused. */
const maxWaitingBytes = 64 * 1024

export class Shortcut implements ReplyConnection {
  readonly socket: Socket
  readonly clock: Clock
  readonly #options: ShortcutOptions
  readonly #toNode: (bytes: Buffer) => void
  /** Bytes that have arrived and are not parsed yet. */
  #waiting: Buffer | undefined
  #pieces = 0
  #current: PlainReply | undefined
  #currentBytes: Buffer | undefined
  /** The next request of node:http's is the current one. */
  #isAdopting = false
  #adopted: ServerResponse | undefined
  #isReading = false
  /** Node:http reads from here on. */
  #isLeft: boolean
  /** The last request that node:http has read. */
  #last: IncomingMessage | undefined
  #isNodeReceiving = false
  /** The bytes of an incomplete head that node:http has. */
  #nodeBytes = 0
  /** A piece of a long head that waits for its turn. */
  #late: Buffer | undefined

  /** `toNode` hands bytes to node:http's reader. */
  constructor(socket: Socket, options: ShortcutOptions, toNode: (bytes: Buffer) => void) {
    this.socket = socket
    this.clock = options.clock
    this.#options = options
    this.#toNode = toNode
    this.#isLeft = options.begin === undefined
  }

  /** Whether the next request has begun to arrive. */
  get isReceiving(): boolean {
    return this.#waiting !== undefined || this.#late !== undefined || this.#isNodeReceiving
  }

  receive(bytes: Buffer): void {
    if (this.#isLeft) {
      if (this.#nodeBytes > maxPartialBytes) this.#passInTurn(bytes)
      else this.#pass(bytes)
      return
    }
    this.#waiting = this.#waiting === undefined ? bytes : Buffer.concat([this.#waiting, bytes])
    if (this.#current === undefined) this.#read()
    else this.#queueBehind(this.#current)
  }

  /** Whether node:http's request is one that was read here before; its response is the requested one. */
  adopt(request: IncomingMessage, response: ServerResponse): boolean {
    this.#last = request
    if (!this.#isAdopting) return false
    this.#isAdopting = false
    this.#adopted = response
    return true
  }

  nodeResponse(): ServerResponse | undefined {
    this.#isAdopting = true
    this.#adopted = undefined
    this.#handOver(this.#currentBytes!)
    if (this.#adopted === undefined) {
      this.#isAdopting = false
      this.socket.destroy()
    }
    return this.#adopted
  }

  replyEnded(reply: PlainReply): void {
    if (this.#current !== reply) return
    this.#current = undefined
    this.#currentBytes = undefined
    this.#adopted = undefined
    if (this.#waiting === undefined) return
    this.socket.resume()
    this.#read()
  }

  /** The client sends no more. Half a head is for node:http to refuse. */
  ended(): void {
    if (this.#waiting !== undefined && this.#current === undefined) this.#leave(this.#waiting)
  }

  /** The socket is closed. */
  closed(): void {
    this.#waiting = undefined
    this.#options.arrival.end()
    this.#current?.gone()
  }

  #read(): void {
    if (this.#isReading) return
    // No answer is possible any more. Besides, the socket stays marked as full: node:http would stop at once, and treat
    // later bytes as an error.
    if (!this.socket.writable) this.#waiting = undefined
    this.#isReading = true
    while (this.#waiting !== undefined && this.#current === undefined) {
      const bytes: Buffer = this.#waiting
      const request = readPlain(bytes, this.#options.maxHeaderBytes)
      if (request === 'partial' && ++this.#pieces <= maxPieces) break
      this.#pieces = 0
      if (request === 'long') {
        this.#isLeft = true
        this.#waiting = undefined
        this.#passInTurn(bytes)
        break
      }
      if (typeof request === 'string') {
        this.#leave(bytes)
        break
      }
      const isAll = request.size === bytes.length
      this.#waiting = isAll ? undefined : bytes.subarray(request.size)
      this.#currentBytes = isAll ? bytes : bytes.subarray(0, request.size)
      this.#current = new PlainReply(this)
      this.#options.begin?.(request, this.#current)
      if (this.#waiting !== undefined && this.#current !== undefined) this.#queueBehind(this.#current)
    }
    this.#isReading = false
    this.#count()
  }

  /** Most connections never have anything to count. */
  #count(): void {
    const { arrival } = this.#options
    const bytes = (this.#waiting?.length ?? this.#nodeBytes) + (this.#late?.length ?? 0)
    if (bytes !== arrival.bytes && !arrival.resize(bytes)) arrival.giveUp()
  }

  /**
   * A pipelined request waits until the answer before it is sent; where that is still pending, node:http takes over.
   */
  #queueBehind(reply: PlainReply): void {
    const bytes = this.#waiting!
    if (!reply.isAnswered) {
      reply.useNodeHttp()
      this.#leave(bytes)
    } else if (bytes.length > maxWaitingBytes) this.socket.pause()
    this.#count()
  }

  #leave(bytes: Buffer): void {
    this.#isLeft = true
    this.#waiting = undefined
    this.#pass(bytes)
  }

  /** Bytes after a whole request that do not become one are the beginning of one; empty lines before it are nothing yet. */
  #pass(bytes: Buffer): void {
    const before = this.#last
    const wasComplete = before?.complete ?? true
    this.#handOver(bytes)
    const isBegun = this.#isNodeReceiving || !isBlank(bytes)
    this.#isNodeReceiving = isBegun && wasComplete && this.#last === before
    this.#nodeBytes = this.#isNodeReceiving ? this.#nodeBytes + bytes.length : 0
    this.#count()
  }

  /** A piece of a head that others should not wait for. Nothing more is read from the socket until then. */
  #passInTurn(bytes: Buffer): void {
    this.#late = bytes
    this.socket.pause()
    this.#count()
    this.#options.headTurns.wait(() => {
      this.#late = undefined
      if (this.socket.destroyed) return
      this.socket.resume()
      this.#pass(bytes)
    })
  }

  /** While it has stopped the socket, node:http takes bytes for a fault of its own, which would end the process. */
  #handOver(bytes: Buffer): void {
    if (this.socket.isPaused()) this.socket.destroy()
    else this.#toNode(bytes)
  }
}

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x0d || byte === 0x0a)
