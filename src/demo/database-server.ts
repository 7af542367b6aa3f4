/** The demo database behind a socket: answers as late as evaluating would take, and remembers who caused which fetch. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BoundedMap } from '../core/bounded-map.ts'
import type { Clock } from '../core/clock.ts'
import { bodyOf } from '../proxy/front/body.ts'
import { readTarget } from '../proxy/request/incoming.ts'
import type { DemoDatabase, DemoQuery } from './database.ts'

/** Viewers of the demo number their requests, so that the view can show which part of each was fetched. */
export const requestIdHeader = 'x-demo-request'

export interface DemoServer {
  readonly url: string
  /** The query to the database on behalf of a request. Reading it removes it. */
  fetchFor(requestId: string): DemoQuery | undefined
}

const maxRequestBytes = 1 << 20

export async function serveDemoDatabase(database: DemoDatabase): Promise<DemoServer> {
  const fetches = new BoundedMap<string, DemoQuery>({ maxEntries: 1000 })
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const target = readTarget(request)
    const body = await bodyOf(request, maxRequestBytes)
    if (target === undefined || typeof body === 'string') return void response.destroy()
    const answer = database.answer({ ...target, body })
    const id = request.headers[requestIdHeader]
    if (typeof id === 'string' && answer.question !== undefined) fetches.set(id, answer.question)
    if (answer.costMs > 0) await pause(database.clock, answer.costMs)
    response.writeHead(answer.status, {
      'Content-Type': answer.status === 404 ? 'text/plain; charset=utf-8' : 'application/json',
      Vary: 'Accept-Encoding, Origin',
    })
    response.end(answer.body)
  }
  const server = createServer((request, response) => void respond(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fetchFor(requestId) {
      const question = fetches.get(requestId)
      fetches.delete(requestId)
      return question
    },
  }
}

const pause = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve))
