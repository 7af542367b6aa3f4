/** Has a server listen on a port or a unix socket. */
import type { AddressInfo, Server } from 'node:net'
import { WindowpaneError } from '../../core/errors.ts'
import { socketPathOf } from '../../core/socket-address.ts'
import type { ListenerOptions } from './listener.ts'
import { listening, openSocket } from './unix-socket.ts'

interface Bound {
  readonly url: string
  /** Removes the files that closing the server does not remove. */
  release(): Promise<void>
}

export async function bind(server: Server, options: ListenerOptions): Promise<Bound> {
  const { address, flag = '--listen' } = options
  const path = socketPathOf(address)
  const binding = path === undefined ? bindPort(server, options) : bindSocket(server, address, path)
  return binding.catch((cause: Error) => {
    if (cause instanceof WindowpaneError) throw cause
    throw new WindowpaneError('WINDOWPANE_LISTEN_FAILED', `cannot listen on ${address}: ${cause.message}`, {
      remedy: `Choose another address with ${flag}.`,
      cause,
    })
  })
}

async function bindSocket(server: Server, address: string, path: string): Promise<Bound> {
  return { url: address, release: await openSocket(server, path) }
}

async function bindPort(
  server: Server,
  { address, reusePort = false, tls }: ListenerOptions,
): Promise<Bound> {
  const match = /^(.*):(\d+)$/.exec(address)
  if (match === null) {
    throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `"${address}" is not an address to listen on`, {
      remedy:
        'Give host:port, such as 127.0.0.1:9191 or [::]:9191, or a unix socket, such as unix:/run/windowpane.sock.',
    })
  }
  const host = match[1]!.replace(/^\[|\]$/g, '')
  await listening(server, { port: Number(match[2]), ...(host !== '' && { host }), reusePort })
  const { address: bound, port, family } = server.address() as AddressInfo
  const authority = `${family === 'IPv6' ? `[${bound}]` : bound}:${port}`
  return { url: `${tls === undefined ? 'http' : 'https'}://${authority}`, release: async () => {} }
}
