/**
 * Plain requests: GET and POST of HTTP/1.1 without unusual headers or connection options. Reading them here costs a
 * fraction of node:http's time. A request that is not plain in every byte is `other`, and left to node:http: the result
 * here must equal the result of node:http, and the test of this file compares both.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { HeaderList } from '../../backends/backend.ts'
import { Memo } from '../../core/memo.ts'
import { requestHeaders } from '../../engine/http/headers.ts'
import type { Body, BodyLimits } from './body.ts'
import type { ClientRequest } from './exchange.ts'

/** The lines after the first one. Clients send the same ones again and again: they are read once, shared, and so frozen. */
interface PlainHead {
  readonly rawHeaders: HeaderList
  readonly headers: IncomingHttpHeaders
  readonly endToEnd: HeaderList
  /** The value of Content-Length, where there is one. */
  readonly length: number | undefined
}

interface RequestLine {
  readonly method: 'GET' | 'POST'
  readonly url: string
}

interface BodyBytes {
  readonly body: Buffer
  /** Where the request ends in the bytes that it was read from. */
  readonly end: number
}

/** `partial`: the beginning of a head that may be plain. `long`: of one that is longer than heads are read here. */
export type PlainRead = PlainRequest | 'partial' | 'long' | 'other'

export class PlainRequest implements ClientRequest {
  readonly method: 'GET' | 'POST'
  url: string
  readonly rawHeaders: HeaderList
  readonly headers: IncomingHttpHeaders
  readonly endToEnd: HeaderList
  readonly complete = true
  readonly unread: Uint8Array
  /** How many bytes it took. */
  readonly size: number
  readonly #body: Buffer

  constructor({ method, url }: RequestLine, { rawHeaders, headers, endToEnd }: PlainHead, bytes: BodyBytes) {
    this.method = method
    this.url = url
    this.rawHeaders = rawHeaders
    this.headers = headers
    this.endToEnd = endToEnd
    this.#body = bytes.body
    this.unread = bytes.body
    this.size = bytes.end
  }

  gather({ maxBytes, hold }: BodyLimits, onBody: (body: Body) => void): void {
    if (this.#body.length > maxBytes) onBody('too long')
    else onBody(hold(this.#body.length) ? this.#body : 'no room')
  }
}

const maxHeaders = 100

/** The beginning of a longer head is left to node:http: reading all of it again with each piece takes too long. */
export const maxPartialBytes = 16 * 1024

export function readPlain(bytes: Buffer, maxHeaderBytes: number): PlainRead {
  const text = bytes.toString('latin1', 0, Math.min(bytes.length, maxHeaderBytes))
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) {
    if (bytes.length > maxPartialBytes) return 'long'
    return bytes.length < maxHeaderBytes && isBeginning(text) ? 'partial' : 'other'
  }
  const lineEnd = text.indexOf('\r\n')
  const line = lineEnd === headEnd ? undefined : readLine(text, lineEnd)
  if (line === undefined) return 'other'
  const head = heads.get(text.slice(lineEnd + 2, headEnd))
  if (head === 'other' || (line.method === 'POST') !== (head.length !== undefined)) return 'other'
  const start = headEnd + 4
  const end = start + (head.length ?? 0)
  // Its body has not arrived yet: that takes memory, which is reserved elsewhere.
  if (bytes.length < end) return 'other'
  return new PlainRequest(line, head, { body: bytes.subarray(start, end), end })
}

const version = ' HTTP/1.1'
/** Visible ASCII, without the fragment that a target never has. */
const plainTarget = /^\/[!"$-~]*$/

function readLine(text: string, end: number): RequestLine | undefined {
  const method = text.startsWith('GET ') ? 'GET' : text.startsWith('POST ') ? 'POST' : undefined
  if (method === undefined || !text.endsWith(version, end)) return undefined
  const url = text.slice(method.length + 1, end - version.length)
  return plainTarget.test(url) ? { method, url } : undefined
}

/** They are about how the message or the connection goes on, or no names for an object. */
const unusual = new Set([
  '__proto__',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const plainValue = /^[\t -~]*$/
const plainLength = /^(?:0|[1-9]\d{0,8})$/

const heads = new Memo({ maxTexts: 1_000, maxCharacters: 512 * 1024 }, readHead)

function readHead(text: string): PlainHead | 'other' {
  const lines = text.split('\r\n')
  if (lines.length > maxHeaders) return 'other'
  const rawHeaders: string[] = []
  const headers: IncomingHttpHeaders = Object.create(null)
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon))
    const value = withoutSpaceAround(line, colon + 1)
    const lowerCase = name.toLowerCase()
    const isPlain = token.test(name) && plainValue.test(value) && !unusual.has(lowerCase)
    // The meaning of several lines of one name is left to node:http.
    if (!isPlain || headers[lowerCase] !== undefined) return 'other'
    rawHeaders.push(name, value)
    headers[lowerCase] = value
  }
  const { host, connection = 'keep-alive', 'content-length': length } = headers
  if (host === undefined || connection.toLowerCase() !== 'keep-alive') return 'other'
  if (length !== undefined && !plainLength.test(length)) return 'other'
  return {
    rawHeaders: Object.freeze(rawHeaders),
    headers: Object.freeze(headers),
    endToEnd: Object.freeze(requestHeaders(rawHeaders)),
    length: length === undefined ? undefined : Number(length),
  }
}

/** The text from `from` on. Not by a regular expression: for many spaces inside a value it takes quadratic time. */
function withoutSpaceAround(line: string, from: number): string {
  let start = from
  let end = line.length
  while (start < end && isSpace(line.charCodeAt(start))) start++
  while (end > start && isSpace(line.charCodeAt(end - 1))) end--
  return line.slice(start, end)
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09

/** Whether a head may continue like this. A head that node:http would reject at once is not waited for. */
function isBeginning(text: string): boolean {
  const [get, post] = ['GET /', 'POST /']
  if (text.length < post.length) return get.startsWith(text) || post.startsWith(text) || text.startsWith(get)
  return (text.startsWith(get) || text.startsWith(post)) && /^(?:[\t -~]|\r\n)*\r?$/.test(text)
}
