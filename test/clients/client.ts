/** What the command knows of a client of Druid, and what it sees of it on the wire. */

import type { ClientName } from '../druid/clients/forms.ts'
import type { Relay } from '../druid/relay.ts'
import type { Answer } from '../fidelity/client.ts'

export interface DruidClient {
  readonly name: ClientName
  /** Asks everything it has to ask of the Druid at a URL; yields the name of each view once it is answered. */
  ask(url: string): AsyncIterable<string>
  stop(): Promise<void>
}

/** What clients ask about. */
export interface Subject {
  readonly dataSource: string
  readonly from: Date
  readonly to: Date
}

/** What a client asks to get to know the database, before its first view. */
export const introduction = 'introduction'

export interface Exchange {
  readonly view: string
  readonly path: string
  readonly body: string
  readonly answer: Answer
}

/** Lets a client ask through a relay; returns what it sent and what it got. */
export async function listen(client: DruidClient, relay: Relay): Promise<readonly Exchange[]> {
  const exchanges: Exchange[] = []
  relay.seen.splice(0)
  for await (const view of client.ask(relay.url)) {
    for (const { method, path, body, answer } of relay.seen.splice(0)) {
      const got = await answer
      // Queries are posted; what is not is about the server.
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
