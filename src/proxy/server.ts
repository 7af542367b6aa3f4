/** Starts Windowpane: puts backend, store, engine and listener together, and takes them down in order. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Backend, Flavour } from '../backends/backend.ts'
import { Budget } from '../core/budget.ts'
import { type Clock, systemClock, type Timer } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { IntervalCache } from '../engine/interval-cache.ts'
import { memoryStore } from '../stores/memory.ts'
import type { Store } from '../stores/store.ts'
import { ladder } from '../ttl/ladder.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import { FlavourWatch } from './flavour.ts'
import { Handler } from './handler.ts'
import type { IdentityMode } from './identity.ts'
import { type Limits, limitsOf } from './limits.ts'
import { ScratchPool } from './scratch.ts'
import { HttpUpstream } from './upstream.ts'
import { withoutCredentials } from './url.ts'

export interface WindowpaneOptions {
  /** The database's URL. */
  readonly upstream: string
  readonly backend: Backend
  /** host:port; port 0 takes a free one. */
  readonly listen?: string
  readonly policy?: TtlPolicy
  readonly identity?: IdentityMode
  readonly limits?: Partial<Limits>
  readonly clock?: Clock
  /** Instead of the memory store. */
  readonly store?: (budget: Budget) => Store
}

export interface Windowpane {
  readonly url: string
  /** What the database said it is; not known while it cannot be asked. */
  readonly flavour: Flavour
  /** Stops listening, lets requests under way finish within the drain limit, then closes everything. */
  close(): Promise<void>
}

export async function startWindowpane(options: WindowpaneOptions): Promise<Windowpane> {
  const limits = limitsOf(options.limits)
  const clock = options.clock ?? systemClock
  const { backend } = options
  const policy = options.policy ?? ladder()
  const budget = new Budget(limits.memoryBytes)
  const store = options.store?.(budget) ?? memoryStoreOf(budget, { clock, limits, policy })
  const via = `windowpane-${Math.floor(clock.random() * 2 ** 48).toString(36)}`
  const upstream = new HttpUpstream({
    url: upstreamUrl(options.upstream),
    clock,
    connections: limits.upstreamConnections,
    idleTimeoutMs: limits.upstreamTimeoutMs,
    via,
  })
  const flavour = new FlavourWatch(backend, upstream, clock)
  const cache = new IntervalCache({
    ...limits,
    backend,
    store,
    policy,
    upstream,
    clock,
    budget,
    coalescing: true,
  })
  const scratch = new ScratchPool()
  const handler = new Handler({
    ...limits,
    ...{ clock, backend, cache, upstream, flavour, budget, scratch, via },
    identity: options.identity ?? 'separate',
  })
  const server = createServer({
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: 120_000,
    maxHeaderSize: limits.maxHeaderBytes,
  })
  server.maxConnections = limits.maxConnections
  const connections = connectionsOf(server)
  server.on('request', (request, response) => {
    // During the drain a connection that has had its answer is of no more use.
    response.once('close', () => server.listening || server.closeIdleConnections())
    void handler.handle(request, response)
  })
  await flavour.ask([])
  const url = await listen(server, options.listen ?? '127.0.0.1:9191').catch(async (error) => {
    await upstream.close()
    throw error
  })
  return {
    url,
    get flavour() {
      return flavour.current
    },
    async close() {
      await drain(
        server,
        connections,
        clock.after(limits.drainMs, () => server.closeAllConnections()),
      )
      await upstream.close()
      await store.close()
    },
  }
}

function memoryStoreOf(budget: Budget, given: { clock: Clock; limits: Limits; policy: TtlPolicy }): Store {
  const { clock, limits, policy } = given
  // Stale serving needs the old bytes: nothing is collected before it is of no use to anybody.
  const retentionMs = Math.max(limits.retentionMs, policy.capMs + limits.maxStaleMs)
  return memoryStore({ clock, budget, retentionMs, maxBucketsPerShape: limits.maxBucketsPerShape })
}

function upstreamUrl(text: string): URL {
  const url = URL.parse(text)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  const shown = withoutCredentials(text)
  throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `"${shown}" is not the URL of a database`, {
    remedy: 'Give a URL such as http://prometheus:9090.',
  })
}

async function listen(server: Server, address: string): Promise<string> {
  const match = /^(.*):(\d+)$/.exec(address)
  if (match === null) {
    throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `"${address}" is not an address to listen on`, {
      remedy: 'Give host:port, such as 127.0.0.1:9191 or [::]:9191.',
    })
  }
  const host = match[1]!.replace(/^\[|\]$/g, '')
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new WindowpaneError('WINDOWPANE_LISTEN_FAILED', `cannot listen on ${address}: ${cause.message}`, {
          remedy: 'Choose another address with --listen.',
          cause,
        }),
      ),
    )
    server.listen(Number(match[2]), host === '' ? undefined : host, () => {
      const { address: bound, port, family } = server.address() as AddressInfo
      resolve(`http://${family === 'IPv6' ? `[${bound}]` : bound}:${port}`)
    })
  })
}

function connectionsOf(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  return connections
}

/** New connections are refused, idle ones closed, busy ones given time. */
function drain(server: Server, connections: ReadonlySet<Socket>, timer: Timer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      timer.cancel()
      resolve()
    })
    server.closeIdleConnections()
    // Those that never sent a request are not idle in Node's eyes.
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
  })
}
