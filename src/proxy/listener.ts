/** A listening socket: opened with a clear error, closed by draining. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock, Timer } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import type { Limits } from './limits.ts'
import { type SecureListener, secureListener } from './listener-tls.ts'

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
  /** Files with certificate chain and key; they are read again when they change. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

export async function openListener(options: ListenerOptions, answer: RequestListener): Promise<Listener> {
  const { limits, clock, tls } = options
  const http = {
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: 120_000,
    maxHeaderSize: limits.maxHeaderBytes,
  }
  const secure = tls && secureListener({ ...tls, clock }, http)
  const server = secure?.server ?? createServer(http)
  server.maxConnections = limits.maxConnections
  // Behind TLS the raw socket has always read something: the handshake.
  const connections = connectionsOf(server, secure === undefined ? 'connection' : 'secureConnection')
  server.on('request', (request, response) => {
    // During the drain a connection that has had its answer is of no more use.
    response.once('close', () => server.listening || server.closeIdleConnections())
    answer(request, response)
  })
  const address = await listen(server, options.address).catch((error) => {
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

type AnyServer = Server | SecureListener['server']

async function listen(server: AnyServer, address: string): Promise<string> {
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
      resolve(`${family === 'IPv6' ? `[${bound}]` : bound}:${port}`)
    })
  })
}

function connectionsOf(server: AnyServer, event: 'connection' | 'secureConnection'): ReadonlySet<Socket> {
  const connections = new Set<Socket>()
  server.on(event, (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  return connections
}

/** New connections are refused, idle ones closed, busy ones given time. */
function drain(server: AnyServer, connections: ReadonlySet<Socket>, timer: Timer): Promise<void> {
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
