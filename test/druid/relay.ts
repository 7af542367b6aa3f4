/** A relay between Windowpane and Druid: records queries and their results, and can change answers. */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Cleanup } from '../cli/child.ts'

/** An answer of Druid, changed or not. */
export interface RelayedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string
  readonly trailers: Readonly<Record<string, string>>
  /** The connection ends in the middle of the body. */
  readonly breaksOff?: boolean
}

export interface Relayed {
  readonly method: string
  readonly path: string
  readonly body: string
  /** Druid's answer, also where the client did not wait for it; undefined where it was truncated. */
  readonly answer: Promise<RelayedAnswer | undefined>
}

export interface Relay {
  readonly url: string
  /** Everything but questions after Druid's status, oldest first. */
  readonly seen: Relayed[]
  /** Changes each answer. */
  spoil: (answer: RelayedAnswer) => RelayedAnswer
  /** The next request that comes after this call. */
  next(): Promise<Relayed>
}

export async function startRelay(t: Cleanup, upstream: string): Promise<Relay> {
  const waiting: ((relayed: Relayed) => void)[] = []
  const agent = new Agent({ keepAlive: true })
  const server = createServer(async (incoming, outgoing) => {
    const body = await text(incoming)
    const answer = forward(new URL(incoming.url!, upstream), { agent, incoming, body })
    const relayed = { method: incoming.method!, path: incoming.url!, body, answer }
    if (relayed.path !== '/status') {
      relay.seen.push(relayed)
      for (const resolve of waiting.splice(0)) resolve(relayed)
    }
    const got = await answer
    if (got === undefined) outgoing.destroy()
    else write(outgoing, relayed.path === '/status' ? got : relay.spoil(got))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
    agent.destroy()
  })
  const relay: Relay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    spoil: (answer) => answer,
    next: () => new Promise((resolve) => waiting.push(resolve)),
  }
  return relay
}

interface Passage {
  readonly agent: Agent
  readonly incoming: IncomingMessage
  readonly body: string
}

const perConnection = /^(?:connection|keep-alive|transfer-encoding|content-length|host|te|accept-encoding)$/

function forward(url: URL, { agent, incoming, body }: Passage): Promise<RelayedAnswer | undefined> {
  const headers = Object.entries(incoming.headers).filter(([name]) => !perConnection.test(name))
  return new Promise((resolve) => {
    const asked = request(url, {
      agent,
      method: incoming.method!,
      headers: Object.fromEntries(headers) as never,
    })
    asked.once('error', () => resolve(undefined))
    asked.once('response', async (response) => {
      const answer = await text(response).catch(() => undefined)
      if (answer === undefined) return resolve(undefined)
      const kept = Object.entries(response.headers).filter(([name]) => !perConnection.test(name))
      resolve({
        status: response.statusCode!,
        headers: Object.fromEntries(kept) as RelayedAnswer['headers'],
        body: answer,
        trailers: response.trailers as Record<string, string>,
      })
    })
    asked.end(body)
  })
}

function write(
  outgoing: ServerResponse,
  { status, headers, body, trailers, breaksOff }: RelayedAnswer,
): void {
  const names = Object.keys(trailers)
  outgoing.writeHead(status, { ...headers, ...(names.length > 0 && { trailer: names.join(', ') }) })
  if (breaksOff === true) {
    outgoing.write(body, () => outgoing.destroy())
    return
  }
  outgoing.write(body)
  outgoing.addTrailers(trailers)
  outgoing.end()
}
