/**
 * A database whose answers the test controls. It answers build info as Prometheus 3.5 does and, unless a test gives it
 * another script, range queries with a small matrix; every request is kept for the test to look at.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { freePort } from '../servers/ports.ts'
import { matrixFor } from './matrix.ts'

export interface Seen {
  readonly method: string
  /** The request target as it came. */
  readonly target: string
  /** Lower-case names; values of repeated headers apart. */
  readonly headers: readonly (readonly [string, string])[]
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Resolves when the exchange is over, however it ended; true where the answer was finished. */
  readonly finished: Promise<boolean>
}

export interface ScriptedUpstream {
  readonly url: string
  readonly port: number
  /** Requests other than build info, oldest first. */
  readonly seen: Seen[]
  readonly buildInfoRequests: Seen[]
  /** Answers requests other than build info. */
  script: RequestListener
  buildInfo: RequestListener
  /** Changes the values of the default answers: newer data. */
  generation: number
  /** The next request, build info excepted, that comes after this call. */
  next(): Promise<Seen>
  close(): Promise<void>
}

export const prometheusBuildInfo = {
  version: '3.5.0',
  revision: '8be3a9560fbdd18a94dedec4b747c35178177202',
  branch: 'HEAD',
  buildUser: 'root@4451b64cb451',
  buildDate: '20250714-16:15:23',
  goVersion: 'go1.24.5',
}

/** A listener that answers with JSON. */
export function json(status: number, value: unknown): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(value))
  }
}

export async function startScriptedUpstream(t: TestContext, port?: number): Promise<ScriptedUpstream> {
  const waiting: ((seen: Seen) => void)[] = []
  const server = createServer({ keepAliveTimeout: 60_000, maxHeaderSize: 2 ** 20 }, (request, response) => {
    const seen = observe(request, response)
    if (request.url?.endsWith('/api/v1/status/buildinfo')) {
      upstream.buildInfoRequests.push(seen)
      upstream.buildInfo(request, response)
      return
    }
    upstream.seen.push(seen)
    for (const resolve of waiting.splice(0)) resolve(seen)
    upstream.script(request, response)
  })
  // Where a test closes it, the port must refuse connections from then on.
  const bound = port ?? (await freePort())
  await new Promise<void>((resolve) => server.listen(bound, '127.0.0.1', resolve))
  const upstream: ScriptedUpstream = {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    seen: [],
    buildInfoRequests: [],
    generation: 1,
    script: (request, response) => void answerMatrix(request, response, upstream.generation),
    buildInfo: json(200, { status: 'success', data: prometheusBuildInfo }),
    next: () => new Promise((resolve) => waiting.push(resolve)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  t.after(() => upstream.close())
  return upstream
}

async function answerMatrix(request: IncomingMessage, response: ServerResponse, generation: number) {
  const form = (await bodyOf(request)).toString()
  const [path = '', search = ''] = request.url!.split('?')
  response.writeHead(200, { 'Content-Type': 'application/json', Vary: 'Accept-Encoding' })
  if (!path.endsWith('/query_range')) response.end('{"status":"success","data":[]}')
  else response.end(matrixFor(new URLSearchParams(`${form}&${search}`), generation))
}

/** The whole body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function observe(request: IncomingMessage, response: ServerResponse): Seen {
  const headers: [string, string][] = []
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    headers.push([request.rawHeaders[i]!.toLowerCase(), request.rawHeaders[i + 1]!])
  }
  const finished = new Promise<boolean>((resolve) => {
    response.once('close', () => resolve(response.writableFinished))
  })
  return { method: request.method!, target: request.url!, headers, request, response, finished }
}

/** Every value of a header that the upstream was sent. */
export const sent = (seen: Seen, name: string): string[] =>
  seen.headers.filter(([key]) => key === name).map(([, value]) => value)
