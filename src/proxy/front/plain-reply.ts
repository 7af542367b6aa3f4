/**
 * The reply to a plain request. An answer that is there as a whole is written to the socket with its head, as
 * node:http would have written it; for any other node:http's own response is made when it is first needed.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import { STATUS_CODES } from '../../core/node-http.ts'
import type { Reply, SentHeaders, WholeBody } from './exchange.ts'
import { sendShort, shortOf } from './send-buffer.ts'

/** The connection, as far as a reply needs it. */
export interface ReplyConnection {
  readonly socket: Socket
  readonly clock: Clock
  /** Has node:http read the request, and returns its response; undefined where the connection came to its end by that. */
  nodeResponse(): ServerResponse | undefined
  /** The reply is over: everything was handed to the system, or the client has disconnected. */
  replyEnded(reply: PlainReply): void
}

export class PlainReply implements Reply {
  statusCode = 200
  readonly #connection: ReplyConnection
  #response: ServerResponse | undefined
  #isSent = false
  #isFlushed = false
  #isOver = false
  #whenClosed: (() => void)[] = []

  constructor(connection: ReplyConnection) {
    this.#connection = connection
  }

  get socket(): Socket {
    return this.#connection.socket
  }

  get headersSent(): boolean {
    return this.#response?.headersSent ?? this.#isSent
  }

  get writableLength(): number {
    return this.#response?.writableLength ?? this.socket.writableLength
  }

  get writableFinished(): boolean {
    return this.#response?.writableFinished ?? this.#isFlushed
  }

  get destroyed(): boolean {
    return this.#isOver || (this.#response?.destroyed ?? (this.socket.destroyed || this.socket.writableEnded))
  }

  get closed(): boolean {
    return this.#isOver
  }

  get shouldKeepAlive(): boolean {
    return this.#response?.shouldKeepAlive ?? true
  }

  set shouldKeepAlive(isKept: boolean) {
    const response = this.#nodeResponse()
    if (response !== undefined) response.shouldKeepAlive = isKept
  }

  sendWhole(status: number, headers: SentHeaders, body: WholeBody): boolean {
    if (this.#response !== undefined || withoutBody.has(status)) return false
    const head = headText(status, headers, this.#connection.clock)
    if (head === undefined) return false
    this.statusCode = status
    this.#isSent = true
    const short = 'write' in body ? body : shortOf(body)
    if (short !== undefined) sendShort(this.socket, { head, body: short }, this.#flushed)
    else if (!('write' in body)) this.#sendPieces(head, body)
    return true
  }

  #sendPieces(head: string, body: readonly Uint8Array[]): void {
    const { socket } = this
    const last = body.length - 1
    const isFirstShort = last > 0 && isShort(body[0]!)
    // One system call for all of it.
    socket.cork()
    socket.write(isFirstShort ? head + textOf(body[0]!) : head, 'latin1')
    for (let i = isFirstShort ? 1 : 0; i < last; i++) socket.write(body[i]!)
    socket.write(body[last]!, this.#flushed)
    socket.uncork()
  }

  writeHead(status: number, headers: string[]): void {
    this.statusCode = status
    this.#nodeResponse()?.writeHead(status, headers)
  }

  write(chunk: Uint8Array | string, encoding?: 'latin1'): boolean {
    const response = this.#nodeResponse()
    if (response === undefined) return true
    return encoding === undefined ? response.write(chunk) : response.write(chunk, encoding)
  }

  end(chunk?: Uint8Array): void {
    this.#nodeResponse()?.end(chunk)
  }

  /** A reply that is over has no connection any more: its socket serves others. */
  destroy(): void {
    if (this.#isOver) return
    if (this.#response === undefined) this.socket.destroy()
    else this.#response.destroy()
  }

  once(event: 'close' | 'drain', listener: () => void): void {
    if (event === 'close') this.#whenClosed.push(listener)
    else this.#nodeResponse()?.once('drain', listener)
  }

  /** Whether all of the answer was written, though perhaps not yet sent. */
  get isAnswered(): boolean {
    return this.#response?.writableEnded ?? this.#isSent
  }

  /** Others come behind it: node:http keeps them in order. */
  useNodeHttp(): void {
    this.#nodeResponse()
  }

  /** The socket is closed. */
  gone(): void {
    this.#finish()
  }

  readonly #flushed = (error?: Error | null): void => {
    this.#isFlushed = error === undefined || error === null
    this.#finish()
  }

  #nodeResponse(): ServerResponse | undefined {
    if (this.#response === undefined && !this.#isOver) {
      this.#response = this.#connection.nodeResponse()
      this.#response?.once('close', () => this.#finish())
    }
    return this.#response
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    const listeners = this.#whenClosed
    // The connection keeps its last reply: that must not keep the listeners alive.
    this.#whenClosed = []
    for (const listener of listeners) listener()
    this.#connection.replyEnded(this)
  }
}

const withoutBody: ReadonlySet<number> = new Set([204, 304])

/** So few bytes go into the head as text, without a write of their own. */
export const isShort = (bytes: Uint8Array): boolean => bytes.length <= 16

/** Byte by byte: a spread takes longer than all of the head. */
export function textOf(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i]!)
  return text
}

/** The characters for which node:http throws. */
const unfit = /[^\t -~\x80-\xff]/

/** Undefined where a value cannot be sent: node:http has the best error message. */
function headText(status: number, { given, own }: SentHeaders, clock: Clock): string | undefined {
  let text = status === 200 ? ok : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
  let hasDate = false
  for (let i = 0; i < given.length; i += 2) {
    const name = given[i]!
    const value = given[i + 1]!
    if (unfit.test(value)) return undefined
    if (name.length === 4 && name.toLowerCase() === 'date') hasDate = true
    text += `${name}: ${value}\r\n`
  }
  for (let i = 0; i < own.length; i += 2) text += `${own[i]}: ${own[i + 1]}\r\n`
  if (!hasDate) text += `Date: ${dateText(clock.now())}\r\n`
  return `${text}Connection: keep-alive\r\n\r\n`
}

const ok = 'HTTP/1.1 200 OK\r\n'

let shownSecond = Number.NaN
let shownDate = ''

/** The same for all within a second. */
function dateText(now: number): string {
  const second = Math.floor(now / 1000)
  if (second !== shownSecond) {
    shownSecond = second
    shownDate = new Date(second * 1000).toUTCString()
  }
  return shownDate
}
