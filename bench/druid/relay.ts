/** A relay before a server that counts the traffic: queries by their request lines, bytes as they are on the wire. */
import { type AddressInfo, connect, createServer } from 'node:net'

export interface Relay {
  readonly url: string
  /** Since the last call. */
  taken(): { readonly queries: number; readonly bytes: number }
  close(): void
}

const requestLine = Buffer.from('POST /druid/v2')

export async function startRelay(target: string): Promise<Relay> {
  const { hostname, port } = new URL(target)
  let counts = { queries: 0, bytes: 0 }
  const server = createServer((client) => {
    const origin = connect(Number(port), hostname)
    client.setNoDelay(true)
    origin.setNoDelay(true)
    // Clients do not pipeline: a request line begins a chunk.
    client.on('data', (chunk) => {
      if (chunk.subarray(0, requestLine.length).equals(requestLine)) counts.queries++
    })
    origin.on('data', (chunk) => {
      counts.bytes += chunk.length
    })
    client.pipe(origin)
    origin.pipe(client)
    for (const [one, other] of [
      [client, origin],
      [origin, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken() {
      const taken = counts
      counts = { queries: 0, bytes: 0 }
      return taken
    },
    close: () => void server.close(),
  }
}
