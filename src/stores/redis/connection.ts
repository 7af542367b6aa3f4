/** The connections of one store, and how they are: commands fail at once while there is none. */
import type { Clock, EpochMs } from '../../core/clock.ts'
import type { StoreCondition } from '../figures.ts'
import type { RedisConfig } from './kind.ts'
import type { RedisClient } from './library.ts'
import { type RedisTrouble, troubleOf } from './trouble.ts'

type Operation = 'read' | 'write'

/** The longest that a start waits for a server. */
const settleMs = 5000

interface Failure extends RedisTrouble {
  readonly since: EpochMs
  /** The operation that has to succeed before the server counts as healthy again; undefined: connecting. */
  readonly operation: Operation | undefined
}

export interface ConnectionOptions {
  readonly config: RedisConfig
  readonly clock: Clock
  makeClient(): RedisClient
}

export class Connection {
  readonly #options: ConnectionOptions
  readonly #client: RedisClient
  #subscriber: RedisClient | undefined
  #failure: Failure | undefined
  /** The last sentinel's error; the error that follows states only that no sentinel was usable. */
  #sentinelError: Error | undefined
  #isClosed = false
  #features: Promise<void> | undefined
  /** Whether hash fields have a lifetime of their own. Queried on every connection: after a failover it may differ. */
  hasFieldTtl = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#client = options.makeClient()
    this.#client.on('ready', () => {
      this.#features = this.#askForFeatures()
    })
    this.#client.on('error', (error) => this.#failed(this.#sentinelError ?? error, undefined))
    this.#client.on('sentinelError', (error) => {
      this.#sentinelError = error
    })
    this.#client.on('node error', (error) => this.#failed(error, undefined))
  }

  /** Resolves when the first attempt to connect has succeeded or failed, or takes too long. */
  async settled(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const event of ['ready', 'error', 'node error', 'end'] as const) this.#client.once(event, resolve)
    const timer = this.#options.clock.after(settleMs, resolve)
    await promise
    timer.cancel()
    await this.#features
  }

  /** Runs commands and remembers how it went. Rejections have a message only: the client's own errors hold arguments. */
  async run<T>(operation: Operation, commands: (client: RedisClient) => Promise<T>): Promise<T> {
    try {
      const result = await commands(this.#client)
      this.#succeeded(operation)
      return result
    } catch (error) {
      this.#failed(error as Error, operation)
      throw new Error(`${this.place} ${troubleOf(error as Error).detail}`)
    }
  }

  /** The servers that hold keys. */
  get servers(): readonly RedisClient[] {
    return this.#client.nodes?.('master') ?? [this.#client]
  }

  publish(channel: string, message: Buffer): void {
    this.#client.publish(channel, message).catch(() => {})
  }

  /** Calls back with every message of a channel; a second connection listens, and again after it was lost. */
  listen(channel: string, listener: (message: Buffer) => void): void {
    const subscriber = this.#listening()
    const subscribe = () => void subscriber.subscribe(channel).catch(() => {})
    subscriber.on('ready', subscribe)
    if (subscriber.status === 'ready') subscribe()
    subscriber.on('messageBuffer', (_, message) => listener(message))
  }

  /** For people: never with a password. */
  get place(): string {
    const { hosts, sentinel } = this.#options.config
    return sentinel === undefined ? hosts : `the primary "${sentinel}" of ${hosts}`
  }

  get condition(): StoreCondition {
    if (this.#isClosed) return { state: 'closed' }
    if (this.#failure === undefined) return { state: 'ok' }
    const { trouble, since, detail, remedy } = this.#failure
    return { state: 'degraded', trouble, since, detail: `${this.place} ${detail}: ${remedy}` }
  }

  get trouble(): RedisTrouble | undefined {
    return this.#failure
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // Without waiting for their end: a client that is between two attempts to connect announces none.
    this.#client.disconnect()
    this.#subscriber?.disconnect()
  }

  /** A client of a cluster has a connection for this already; another one cannot send commands while it listens. */
  #listening(): RedisClient {
    if (this.#client.nodes !== undefined) return this.#client
    if (this.#subscriber === undefined) {
      this.#subscriber = this.#options.makeClient()
      // The other client has the same error, and reports it.
      this.#subscriber.on('error', () => {})
    }
    return this.#subscriber
  }

  /**
   * Only a response shows that the connection is good: the client emits "ready" also where the login fails a moment
   * later.
   */
  async #askForFeatures(): Promise<void> {
    try {
      const [about] = (await this.#client.call('command', 'info', 'hpexpire')) as unknown[]
      this.hasFieldTtl = about !== null && about !== undefined
    } catch (error) {
      this.hasFieldTtl = false
      if (!(error as Error).message.startsWith('NOPERM')) return
    }
    this.#succeeded(undefined)
  }

  #succeeded(operation: Operation | undefined): void {
    const { operation: failed, trouble } = this.#failure ?? {}
    if (failed === operation || trouble === 'unreachable') this.#failure = undefined
    if (operation === undefined) this.#sentinelError = undefined
  }

  #failed(error: Error, operation: Operation | undefined): void {
    // While there is no connection, the reason for that is more useful than the failure to send a command.
    const isKnown = this.#failure !== undefined && this.#failure.operation === undefined
    if (operation !== undefined && isKnown) return
    const since = this.#failure?.since ?? this.#options.clock.now()
    this.#failure = { ...troubleOf(error), since, operation }
  }
}
