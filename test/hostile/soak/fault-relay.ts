/**
 * A TCP relay that fails on purpose: it refuses connections, resets them, cuts responses off in the middle, stalls and delays them.
 * Which fault comes when is decided by a seeded random source.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Clock, Timer } from '../../../src/core/clock.ts'
import { type Random, wholeNumber } from '../../../src/testing/random.ts'

export type Fault = 'refused' | 'reset' | 'cut' | 'stalled' | 'delayed'

export interface FaultRelay {
  readonly url: string
  /** How often each fault happened. `refused` counts the periods without a listener, not the refused connections. */
  readonly faults: Readonly<Record<Fault, number>>
  /** Without faults until they are switched on. */
  isFaulty: boolean
  close(): void
}

export interface RelayOptions {
  readonly port: number
  readonly random: Random
  readonly clock: Clock
}

/** Of so many connections, or pieces of a response, one has the fault. */
const oneOf = { reset: 20, cut: 60, stalled: 4000, delayed: 25 }
const maxDelayMs = 20
/** There is no listener for a moment, this often. */
const refusals = { everyMs: 15_000, forMs: 300 }

export async function startFaultRelay(options: RelayOptions): Promise<FaultRelay> {
  const relay = new Relay(options)
  await relay.listen(0)
  relay.refuseLater()
  return relay
}

class Relay implements FaultRelay {
  readonly faults: Record<Fault, number> = { refused: 0, reset: 0, cut: 0, stalled: 0, delayed: 0 }
  isFaulty = false
  readonly #options: RelayOptions
  readonly #server = createServer((socket) => this.#accept(socket))
  readonly #sockets = new Set<Socket>()
  #port = 0
  #timer: Timer | undefined

  constructor(options: RelayOptions) {
    this.#options = options
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  refuseLater(): void {
    const { clock, random } = this.#options
    this.#timer = clock.after(refusals.everyMs * (0.5 + random()), () => {
      if (this.isFaulty) this.#refuse()
      else this.refuseLater()
    })
  }

  close(): void {
    this.#timer?.cancel()
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Like a database that is restarted: its connections end, and for a moment there is no listener. */
  #refuse(): void {
    this.faults.refused++
    this.#server.close()
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.#timer = this.#options.clock.after(refusals.forMs, () => {
      void this.listen(this.#port).then(() => this.refuseLater())
    })
  }

  #accept(client: Socket): void {
    this.#keep(client)
    if (this.#happens('reset')) {
      client.resetAndDestroy()
      return
    }
    const database = connect(this.#options.port, '127.0.0.1')
    this.#keep(database)
    client.once('close', () => database.destroy())
    database.once('close', () => client.end())
    client.pipe(database)
    database.on('data', (chunk: Buffer) => this.#pass(chunk, database, client))
  }

  #pass(chunk: Buffer, database: Socket, client: Socket): void {
    const { clock, random } = this.#options
    if (this.#happens('cut')) {
      client.write(chunk.subarray(0, wholeNumber(random, 0, chunk.length - 1)), () => {
        if (random() < 0.5) client.resetAndDestroy()
        else client.end()
        database.destroy()
      })
      database.pause()
    } else if (this.#happens('stalled')) database.pause()
    else if (this.#happens('delayed')) {
      database.pause()
      clock.after(maxDelayMs * random(), () => {
        client.write(chunk)
        database.resume()
      })
    } else if (!client.write(chunk)) {
      database.pause()
      client.once('drain', () => database.resume())
    }
  }

  #happens(fault: keyof typeof oneOf): boolean {
    if (!this.isFaulty || this.#options.random() * oneOf[fault] >= 1) return false
    this.faults[fault]++
    return true
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
