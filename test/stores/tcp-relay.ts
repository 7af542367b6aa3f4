/** A server's port that can be closed and opened again, while the server itself runs on. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../servers/ports.ts'

export interface TcpRelay {
  readonly port: number
  /** Connections of clients that are open. */
  readonly connections: number
  /** Bytes that clients have sent so far. */
  readonly received: number
  /** From now on connections are accepted and passed on. */
  open(): Promise<void>
  /** Ends all connections; new ones are refused. */
  close(): Promise<void>
}

/** A relay to a port of loopback; it is closed at first. */
export async function tcpRelay(target: number): Promise<TcpRelay> {
  const port = await freePort()
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let received = 0
  const pass = (client: Socket): void => {
    const upstream = connect({ port: target, host: '127.0.0.1', noDelay: true })
    client.on('data', ({ length }) => {
      received += length
    })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from
        .on('error', () => {})
        .once('close', () => {
          sockets.delete(from)
          to.destroy()
        })
      from.pipe(to)
    }
  }
  return {
    port,
    get connections() {
      return sockets.size / 2
    },
    get received() {
      return received
    },
    async open() {
      server = createServer({ noDelay: true }, pass)
      await new Promise<void>((resolve) => server!.listen(port, '127.0.0.1', resolve))
    },
    async close() {
      const closed = new Promise((resolve) => server!.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
