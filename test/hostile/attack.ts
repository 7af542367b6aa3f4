/**
 * Hostile clients, on raw sockets. An attack defines the behaviour of one client; `launch` starts many. The short forms
 * (`*.test.ts`) and the long ones (`npm run test:hostile`) use the same attacks.
 */
import { connect, type Socket } from 'node:net'
import { systemClock } from '../../src/core/clock.ts'
import { rangePath } from '../proxy/matrix.ts'
import { largeQuery, settled } from './database.ts'

export interface Attack {
  readonly name: string
  /** Clients of the long form. */
  readonly clients: number
  /** The first bytes of a client. */
  readonly opening: string | Buffer
  /** The bytes that it repeats. */
  readonly drip?: string
  /** It takes nothing of its answer. */
  readonly isDeaf?: boolean
}

const KiB = 1024
const post = (path: string, length: number, begun: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${length}\r\n\r\n${begun}`

export const attacks = {
  drippingBodies: {
    name: 'dripping bodies that are forwarded',
    clients: 70,
    opening: post('/api/v1/write', 1000, 'x'),
    drip: 'x',
  },
  drippingUploads: {
    name: 'dripping long bodies that are forwarded',
    clients: 70,
    opening: post('/api/v1/write', 100 * KiB * KiB, 'x'.repeat(64 * KiB)),
    drip: 'x'.repeat(2 * KiB),
  },
  deafForwards: {
    name: 'readers that take nothing of a forwarded answer',
    clients: 70,
    opening: 'GET /federate HTTP/1.1\r\nHost: h\r\n\r\n',
    isDeaf: true,
  },
  drippingQueries: {
    name: 'dripping bodies of queries',
    clients: 1100,
    opening: post('/api/v1/query_range', 1000, 'query=up'),
    drip: 'x',
  },
  endlessHeads: {
    name: 'unfinished heads of 1 MiB',
    clients: 1000,
    opening: Buffer.from(`GET /api/v1/query_range?query=${'x'.repeat(KiB * KiB - 100)}`),
  },
  deafHits: {
    name: 'readers that take nothing of a stored answer of 6 MB',
    clients: 500,
    opening: `GET ${rangePath({ ...settled, query: largeQuery })} HTTP/1.1\r\nHost: h\r\n\r\n`,
    isDeaf: true,
  },
} as const satisfies Record<string, Attack>

export interface Attackers {
  readonly sockets: readonly Socket[]
  /** Everyone sends its drip once. */
  drip(): void
  stop(): void
}

export interface LaunchOptions {
  readonly clients: number
  /** A disconnected client comes again after this long. */
  readonly comesAgainMs?: number
}

/** Resolves when all clients are connected and have sent their opening, as far as the system takes it. */
export async function launch(
  url: string,
  { opening, drip, isDeaf = false }: Attack,
  { clients, comesAgainMs }: LaunchOptions,
): Promise<Attackers> {
  const port = Number(new URL(url).port)
  const sockets = new Set<Socket>()
  let isStopped = false
  const join = (): Promise<void> => {
    const socket = connect(port, '127.0.0.1')
    sockets.add(socket)
    socket.on('error', () => {})
    if (isDeaf) socket.pause()
    else socket.resume()
    const begun = new Promise<void>((resolve) => {
      socket.once('connect', () => {
        socket.write(opening)
        resolve()
      })
      socket.once('close', () => {
        sockets.delete(socket)
        resolve()
        if (comesAgainMs !== undefined) systemClock.after(comesAgainMs, () => isStopped || void join())
      })
    })
    return begun
  }
  await Promise.all(Array.from({ length: clients }, join))
  return {
    get sockets() {
      return [...sockets]
    },
    drip() {
      if (drip !== undefined) for (const socket of sockets) if (socket.writable) socket.write(drip)
    },
    stop() {
      isStopped = true
      for (const socket of sockets) socket.destroy()
    },
  }
}
