/** The description of a client of Druid, and its observation on the wire. */

import type { ClientName } from '../druid/clients/forms.ts'
import type { Relay } from '../druid/relay.ts'
import type { Answer } from '../fidelity/client.ts'

export interface DruidClient {
  readonly name: ClientName
  /** Sends all its queries to the Druid at a URL; yields the name of each view once it is answered. */
  ask(url: string): AsyncIterable<string>
  stop(): Promise<void>
}

/** The subject of the clients' queries. */
export interface Subject {
  readonly dataSource: string
  readonly from: Date
  readonly to: Date
}

/** The queries of a client to explore the database, before its first view. */
export const introduction = 'introduction'

export interface Exchange {
  readonly view: string
  readonly path: string
  readonly body: string
  readonly answer: Answer
}

/** Runs a client through a relay; returns its requests and their answers. */
export async function listen(client: DruidClient, relay: Relay): Promise<readonly Exchange[]> {
  const exchanges: Exchange[] = []
  relay.seen.splice(0)
  for await (const view of client.ask(relay.url)) {
    for (const { method, path, body, answer } of relay.seen.splice(0)) {
      const got = await answer
      // Queries are posted; other requests concern the server.
      if (method !== 'POST') continue
      if (got === undefined) throw new Error(`${client.name}, ${view}: no answer to ${body}`)
      const headers = Object.fromEntries(
        Object.entries(got.headers).map(([name, value]) => [name, [value].flat().join(', ')]),
      )
      exchanges.push({ view, path, body, answer: { ...got, headers, body: Buffer.from(got.body) } })
    }
  }
  return exchanges
}
