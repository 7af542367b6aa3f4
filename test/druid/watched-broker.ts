/** A Broker that records its queries, and restricts the access to its segments. */
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export class WatchedBroker {
  readonly #target: string
  readonly #server: Server
  /** The intervals of every native query, in the order they came. */
  readonly asked: (readonly string[])[] = []
  /** How often its segments were looked at. */
  looks = 0
  /** Whether looking at segments is refused. */
  isClosed = false

  private constructor(target: string) {
    this.#target = target
    this.#server = createServer((incoming, response) => {
      void text(incoming).then((body) => {
        if (incoming.url === '/druid/v2/sql') this.looks++
        if (incoming.url === '/druid/v2/sql' && this.isClosed) {
          response.writeHead(403, { 'content-type': 'application/json' })
          response.end('{"error":"druidException","errorMessage":"Unauthorized"}')
          return
        }
        if (incoming.url === '/druid/v2') this.asked.push((JSON.parse(body) as Asked).intervals)
        this.#pass(incoming, body).then(
          (answer) => {
            // The client may have disconnected by now.
            if (response.destroyed) answer.destroy()
            response.on('close', () => answer.destroy())
            response.writeHead(answer.statusCode!, answer.headers)
            answer.pipe(response)
          },
          () => response.destroy(),
        )
      })
    })
  }

  static async before(target: string): Promise<WatchedBroker> {
    const broker = new WatchedBroker(target)
    await new Promise<void>((resolve) => broker.#server.listen(0, '127.0.0.1', resolve))
    return broker
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #pass({ method, url, headers }: IncomingMessage, body: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const passed = request(`${this.#target}${url}`, { method, headers }, resolve)
      passed.on('error', reject)
      passed.end(body)
    })
  }
}

interface Asked {
  readonly intervals: readonly string[]
}
