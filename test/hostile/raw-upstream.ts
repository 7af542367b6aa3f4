/**
 * A Prometheus of raw bytes: a test writes the header lines of its answers itself, as no HTTP library would. Every
 * answer contains the query that it answers, so that a mix-up is noticed.
 */
import { createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { matrixFor } from '../proxy/matrix.ts'
import { prometheusBuildInfo } from '../proxy/scripted-upstream.ts'

export interface RawQuery {
  /** From 1, in the order they came: the value of every point of its answer. */
  readonly number: number
  readonly parameters: URLSearchParams
  /** The body that answers it. */
  readonly body: string
  /** Sends bytes as they are. */
  write(bytes: string | Uint8Array): void
  close(): void
  /** Answers with these header lines besides the necessary ones. */
  answer(...lines: string[]): void
}

export interface RawUpstream {
  readonly url: string
  readonly queries: RawQuery[]
  script: (query: RawQuery) => void
  /** The n-th query, from 1, once it is there. */
  untilAsked(count: number): Promise<RawQuery>
  close(): Promise<void>
}

const buildInfo = JSON.stringify({ status: 'success', data: prometheusBuildInfo })

const messageOf = (body: string | Uint8Array, ...lines: string[]): string =>
  [
    'HTTP/1.1 200 OK',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...lines,
    '',
    body,
  ].join('\r\n')

export async function startRawUpstream(t: TestContext): Promise<RawUpstream> {
  const sockets = new Set<Socket>()
  let waiting: (() => void)[] = []
  const take = (socket: Socket, target: string) => {
    if (target.startsWith('/api/v1/status/buildinfo')) {
      socket.write(messageOf(buildInfo))
      return
    }
    const parameters = new URL(target, 'http://x').searchParams
    const number = upstream.queries.length + 1
    const body = matrixFor(parameters, number)
    const query: RawQuery = {
      ...{ number, parameters, body },
      write: (bytes) => void socket.write(bytes),
      close: () => void socket.end(),
      answer: (...lines) => void socket.write(messageOf(body, ...lines)),
    }
    upstream.queries.push(query)
    for (const resolve of waiting.splice(0)) resolve()
    upstream.script(query)
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const [, target = ''] = text.split(' ', 2)
        text = text.slice(end + 4)
        take(socket, target)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const upstream: RawUpstream = {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    queries: [],
    script: (query) => query.answer(),
    async untilAsked(count) {
      while (upstream.queries.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
      return upstream.queries[count - 1]!
    },
    close: () =>
      new Promise((resolve) => {
        waiting = []
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  t.after(() => upstream.close())
  return upstream
}
