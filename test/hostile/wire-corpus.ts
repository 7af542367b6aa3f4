/** Requests that no good client sends, as bytes, and the statuses with which a listener answers them. */
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { rangePath } from '../proxy/matrix.ts'
import { bounded } from '../wait.ts'

export interface HostileRequest {
  readonly name: string
  readonly bytes: string | Buffer
  /** Of the responses, in order; none where the connection is only closed. */
  readonly statuses: readonly number[]
  /** The client half-closes the connection. */
  readonly ends?: boolean
}

const start = Date.UTC(2026, 0, 1)
export const goodPath = rangePath({ start, end: start + 1_800_000 })

const get = (path: string, ...headers: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: h', ...headers, '', ''].join('\r\n')

const post = (body: string, ...headers: readonly string[]): string =>
  [
    'POST /api/v1/query_range HTTP/1.1',
    'Host: h',
    'Content-Type: application/x-www-form-urlencoded',
    ...headers,
    '',
    body,
  ].join('\r\n')

const form = goodPath.slice(goodPath.indexOf('?') + 1)
const chunked = `${form.length.toString(16)}\r\n${form}\r\n0\r\n\r\n`
const good = get(goodPath)

export const hostileRequests: readonly HostileRequest[] = [
  { name: 'not HTTP', bytes: '\u0016\u0003\u0001 hello\r\n\r\n', statuses: [400] },
  { name: 'HTTP/0.9', bytes: 'GET /\r\n\r\n', statuses: [200] },
  { name: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', statuses: [400] },
  { name: 'no host', bytes: 'GET / HTTP/1.1\r\n\r\n', statuses: [400] },
  {
    name: 'a length and chunks',
    bytes: post(chunked, `Content-Length: ${chunked.length}`, 'Transfer-Encoding: chunked'),
    statuses: [400],
  },
  { name: 'two lengths', bytes: post(form, 'Content-Length: 3', 'Content-Length: 4'), statuses: [400] },
  { name: 'a negative length', bytes: post(form, 'Content-Length: -1'), statuses: [400] },
  { name: 'a length with a sign', bytes: post(form, `Content-Length: +${form.length}`), statuses: [400] },
  {
    name: 'chunks inside another coding',
    bytes: post(chunked, 'Transfer-Encoding: chunked, gzip'),
    statuses: [400],
  },
  {
    name: 'a chunk without end',
    bytes: post('ffffffffffffffffff\r\nabc', 'Transfer-Encoding: chunked'),
    statuses: [400],
  },
  { name: 'a line ending in LF alone', bytes: 'GET / HTTP/1.1\nHost: h\n\n', statuses: [400] },
  { name: 'a folded header', bytes: get('/', 'X-A: b\r\n c'), statuses: [400] },
  { name: 'a space before the colon', bytes: get('/', 'X-A : b'), statuses: [400] },
  { name: 'a NUL in a header', bytes: get('/', 'X-A: a\u0000b'), statuses: [400] },
  { name: 'a head of 2 MiB', bytes: get('/', `X-A: ${'a'.repeat(2 ** 21)}`), statuses: [431] },
  { name: 'a tunnel', bytes: 'CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n', statuses: [] },
  { name: 'half a head', bytes: good.slice(0, 40), statuses: [400], ends: true },
  {
    name: 'half a body',
    bytes: post(form.slice(0, 5), `Content-Length: ${form.length}`),
    statuses: [400],
    ends: true,
  },
  { name: 'empty lines first', bytes: `\r\n\r\n${good}`, statuses: [200] },
  { name: 'twenty at once', bytes: good.repeat(20), statuses: Array(20).fill(200) },
  { name: 'rubbish behind a good one', bytes: `${good}rubbish\r\n\r\n`, statuses: [200, 400] },
]

/** The address of a listener, and its certificate authority. */
export interface Target {
  readonly url: string
  readonly ca?: Buffer
}

export async function connectTo({ url, ca }: Target): Promise<Socket> {
  const { port } = new URL(url)
  const place = { port: Number(port), host: '127.0.0.1' }
  const socket = ca === undefined ? connectPlain(place) : connectSecurely({ ...place, ca })
  await new Promise<void>((resolve, reject) => {
    socket.once(ca === undefined ? 'connect' : 'secureConnect', () => resolve())
    socket.once('error', reject)
  })
  return socket.on('error', () => {})
}

/** Returns the received bytes until there were as many responses as expected, or the other side closed. */
export async function exchange(target: Target, request: Omit<HostileRequest, 'name'>): Promise<string> {
  const { bytes, statuses, ends = false } = request
  const socket = await connectTo(target)
  let received = ''
  const over = new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1')
      if (statuses.length > 0 && statusesIn(received).length >= statuses.length) resolve()
    })
  })
  if (ends) socket.end(bytes)
  else socket.write(bytes)
  await bounded(over, () => `${statuses.length} responses in ${received}`)
  socket.destroy()
  return received
}

/** Everything that comes as the answer to a good request. */
export async function askGood(target: Target): Promise<string> {
  const socket = await connectTo(target)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(`GET ${goodPath} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
  await bounded(closed, () => `the end of ${Buffer.concat(chunks)}`)
  return Buffer.concat(chunks).toString()
}

export const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
