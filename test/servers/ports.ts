/**
 * Free ports of loopback, below the ephemeral ones: neither a connection nor a server on any free port takes one before
 * it is used, or while its server is down. Nor can a connection to a closed one be answered by itself.
 */
import { createServer, type Server } from 'node:net'
import { systemClock } from '../../src/core/clock.ts'

const lowest = 10_000
const highest = 29_999

/** All are held until the last one is found, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>()
  while (held.size < count) {
    const port = lowest + Math.floor(systemClock.random() * (highest - lowest + 1))
    const server = createServer()
    if (await isListening(server, port)) held.set(port, server)
  }
  await Promise.all([...held.values()].map((server) => new Promise((resolve) => server.close(resolve))))
  return [...held.keys()]
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0]!

const isListening = (server: Server, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => resolve(true))
  })
