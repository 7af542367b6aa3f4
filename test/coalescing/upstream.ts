/** A database whose answers, and their time, the test controls. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { freePort } from '../servers/ports.ts'
import { buildInfo, matrixOf, type Range } from './matrix.ts'

export interface Asked {
  readonly range: Range
  readonly parameters: URLSearchParams
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly isCancelled: boolean
  /** Resolves when the client disconnected before the answer was complete. */
  readonly cancelled: Promise<void>
  /** The true answer. */
  answer(): void
  reply(status: number, body: string): void
}

export type Script = (asked: Asked) => void

export const truthful: Script = (asked) => asked.answer()
/** Nothing, until the test answers. */
export const silent: Script = () => {}

export class ScriptedUpstream {
  readonly url: string
  /** Range queries, in the order they came. */
  readonly asked: Asked[] = []
  script: Script = truthful
  readonly #server: Server
  #waiting: (() => void)[] = []

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => this.#serve(request, response))
  }

  static async start(): Promise<ScriptedUpstream> {
    const server = createServer()
    const port = await freePort()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return new ScriptedUpstream(server)
  }

  /** The n-th query (from 1), once it is there. */
  async untilAsked(count: number): Promise<Asked> {
    while (this.asked.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.asked[count - 1]!
  }

  /** Connections are refused, open ones are closed. */
  goDown(): Promise<void> {
    return this.close()
  }

  async comeBack(): Promise<void> {
    const port = Number(new URL(this.url).port)
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url!, this.url)
    if (url.pathname === '/api/v1/status/buildinfo') response.end(buildInfo)
    else if (url.pathname === '/api/v1/query_range') this.#query(request, response, url.searchParams)
    else response.end('something else')
  }

  #query(request: IncomingMessage, response: ServerResponse, parameters: URLSearchParams): void {
    const asked = new ScriptedQuery(request, response, parameters)
    this.asked.push(asked)
    this.script(asked)
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

class ScriptedQuery implements Asked {
  readonly range: Range
  readonly parameters: URLSearchParams
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly cancelled: Promise<void>
  isCancelled = false

  constructor(request: IncomingMessage, response: ServerResponse, parameters: URLSearchParams) {
    this.request = request
    this.response = response
    this.parameters = parameters
    this.range = rangeOf(parameters)
    this.cancelled = new Promise((resolve) => {
      response.once('close', () => {
        if (response.writableFinished) return
        this.isCancelled = true
        resolve()
      })
    })
  }

  answer(): void {
    this.reply(200, matrixOf(this.range))
  }

  reply(status: number, body: string): void {
    this.response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }
}

function rangeOf(parameters: URLSearchParams): Range {
  const ms = (name: string) => Math.round(Number(parameters.get(name)) * 1000)
  return { start: ms('start'), end: ms('end'), step: ms('step') }
}
