/** A listening socket: opened with a clear error, closed by draining. */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock, Timer } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { GatheredMessage } from './body.ts'
import { Connections } from './connections.ts'
import type { Limits } from './limits.ts'
import { type ListenerTlsState, type SecureListener, secureListener } from './listener-tls.ts'

export interface Listener {
  readonly url: string
  /** Refuses new connections, lets requests under way finish within the drain limit, then cuts them off. */
  close(): Promise<void>
}

export interface ListenerOptions {
  /** host:port; port 0 takes a free one. */
  readonly address: string
  readonly limits: Limits
  readonly clock: Clock
  /** Other threads listen on the same address. */
  readonly reusePort?: boolean
  /** Files with certificate chain and key; they are read again when they change. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Why what is in those files now is not in force; undefined where it is. Called when that changes. */
  readonly onCertificate?: (error: string | undefined) => void
}

const idleMs = 120_000

export type Answerer = RequestListener<typeof GatheredMessage>

export async function openListener(options: ListenerOptions, answer: Answerer): Promise<Listener> {
  const { limits, clock, tls } = options
  const onChange = ({ error }: ListenerTlsState) => options.onCertificate?.(error)
  const secure =
    tls &&
    secureListener({ ...tls, clock, onChange }, { ...withoutTimers, maxHeaderSize: limits.maxHeaderBytes })
  const server = secure?.server ?? createServer({ ...withoutTimers, maxHeaderSize: limits.maxHeaderBytes })
  server.maxConnections = limits.maxConnections
  const connections = new Connections(clock, { requestMs: limits.requestTimeoutMs, idleMs })
  server.on(secure === undefined ? 'connection' : 'secureConnection', (socket) => connections.add(socket))
  server.on('request', (request, response) => {
    connections.began(request, response)
    if (!server.listening) closeAfter(server, response)
    answer(request, response)
  })
  const address = await listen(server, options).catch((error) => {
    secure?.stop()
    throw error
  })
  return {
    url: `${secure === undefined ? 'http' : 'https'}://${address}`,
    close() {
      secure?.stop()
      return drain(
        server,
        connections,
        clock.after(limits.drainMs, () => server.closeAllConnections()),
      )
    },
  }
}

/** Slow and idle clients are looked after by Connections, at no cost per request. */
const withoutTimers = {
  requestTimeout: 0,
  headersTimeout: 0,
  keepAliveTimeout: 0,
  connectionsCheckingInterval: 24 * 3_600_000,
  optimizeEmptyRequests: true,
  IncomingMessage: GatheredMessage,
}

type AnyServer = Server | SecureListener['server']

async function listen(server: AnyServer, { address, reusePort = false }: ListenerOptions): Promise<string> {
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
    const place = { port: Number(match[2]), ...(host !== '' && { host }), reusePort }
    server.listen(place, () => {
      const { address: bound, port, family } = server.address() as AddressInfo
      resolve(`${family === 'IPv6' ? `[${bound}]` : bound}:${port}`)
    })
  })
}

/** New connections are refused, idle ones closed, busy ones given time. */
function drain(server: AnyServer, connections: Connections, timer: Timer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      timer.cancel()
      connections.stop()
      resolve()
    })
    server.closeIdleConnections()
    connections.closeUnused()
    for (const response of connections.answering()) closeAfter(server, response)
  })
}

/** During the drain a connection that has had its answer is of no more use. */
function closeAfter(server: AnyServer, response: ServerResponse): void {
  response.once('close', () => server.closeIdleConnections())
}
