/**
 * A connection to the cluster that is kept up for ever. The driver's client deals with single hosts that go and come. Where
 * no host is left, a new client is made, at growing intervals: at the start the driver gives up, and later it would connect
 * by itself but never free the hosts that it knew before (their timers and sockets outlive even its shutdown). Without a
 * client every operation fails at once: nothing queues up.
 */
import type { Clock, EpochMs, Timer } from '../../core/clock.ts'
import type { StoreCondition } from '../figures.ts'
import {
  codeOf,
  type Driver,
  type DriverClient,
  errorCodes,
  innerErrorsOf,
  messageOf,
  type QueryOptions,
  type Result,
  type Statement,
} from './library.ts'

/** The operations of a cluster that the engines need. */
export interface Session {
  execute(statement: Statement, options: QueryOptions): Promise<Result>
  /** All statements concern one partition. */
  batch(statements: readonly Statement[], options: QueryOptions): Promise<Result>
}

export interface ConnectionOptions {
  readonly driver: Driver
  /** For a client of the driver: made for each, since policies belong to one client. */
  clientOptions(): Record<string, unknown>
  /** The address of the cluster, for messages. */
  readonly place: string
  readonly clock: Clock
  /** The data centre whose hosts receive the requests. */
  readonly dataCenter: string
  /**
   * Names the tables that are missing; called once after connecting, so that the result is known before the first
   * request.
   */
  missing(session: Session): Promise<readonly string[]>
}

export type TroubleName = 'unreachable' | 'not_set_up' | 'refused'

/** A problem for the operator, and its remedy. */
export interface CassandraTrouble {
  readonly is: TroubleName
  readonly message: string
  readonly remedy: string
  readonly since: EpochMs
}

const firstPauseMs = 500
const longestPauseMs = 5000
/** More than connecting takes at most. */
const lateMs = 10_000

const remedies: Readonly<Record<TroubleName, string>> = {
  unreachable: 'check the hosts, the port and the data centre in its URL, and that the servers are up',
  not_set_up: 'create the tables with `windowpane store init --url URL`',
  refused: 'check the user, the password and the rights of the user',
}

export class Connection implements Session {
  readonly #options: ConnectionOptions
  #client: DriverClient | undefined
  #retry: Timer | undefined
  #attempts = 0
  #isClosed = false
  #trouble: CassandraTrouble | undefined

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Resolves when the first attempt has succeeded or failed; later ones go on in the background. */
  async open(): Promise<void> {
    const client = new this.#options.driver.Client(this.#options.clientOptions())
    try {
      await client.connect()
    } catch (error) {
      client.controlConnection.connection?.close()
      await this.#retire(client)
      return this.#tryAgain(error)
    }
    if (this.#isClosed) return this.#retire(client)
    client.on('hostDown', () => this.#replaceLost(client))
    this.#client = client
    this.#attempts = 0
    this.#trouble = undefined
    await this.#lookForTables()
  }

  #tryAgain(error: unknown): void {
    if (this.#isClosed) return
    // Whatever it is, without a client nothing works.
    this.#setTrouble(troubleOf(error) ?? 'unreachable', messageOf(error))
    this.#retry = this.#options.clock.after(this.#pauseMs(), () => void this.open())
  }

  #replaceLost(client: DriverClient): void {
    const { dataCenter } = this.#options
    const isLost = !client.hosts.values().some((host) => host.datacenter === dataCenter && host.isUp())
    if (!isLost || this.#client !== client) return
    this.#client = undefined
    void this.#retire(client)
    this.#tryAgain(new Error('all connections were lost'))
  }

  async #retire(client: DriverClient): Promise<void> {
    const closeHosts = (): void => {
      for (const host of client.hosts.values()) void host.shutdown(false).catch(() => {})
    }
    // A host that the driver is just connecting to would stay connected.
    this.#options.clock.after(lateMs, closeHosts)
    await client.shutdown().catch(() => {})
  }

  async #lookForTables(): Promise<void> {
    // Where it fails, the first request reports the reason.
    const missing = await this.#options.missing(this).catch(() => [])
    if (missing.length > 0) this.#setTrouble('not_set_up', `the tables ${missing.join(', ')} do not exist`)
  }

  execute({ query, params }: Statement, options: QueryOptions): Promise<Result> {
    return this.#run((client) => client.execute(query, params, options))
  }

  batch(statements: readonly Statement[], options: QueryOptions): Promise<Result> {
    return this.#run((client) => client.batch(statements, { ...options, logged: false }))
  }

  get place(): string {
    return this.#options.place
  }

  get trouble(): CassandraTrouble | undefined {
    return this.#trouble
  }

  get health(): StoreCondition {
    if (this.#isClosed) return { state: 'closed' }
    if (this.#trouble === undefined) return { state: 'ok' }
    const { is, message, since, remedy } = this.#trouble
    const detail = `${this.place}: ${message}; ${remedy}`
    return { state: 'degraded', trouble: is, since, detail }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#retry?.cancel()
    if (this.#client !== undefined) await this.#retire(this.#client)
  }

  async #run(action: (client: DriverClient) => Promise<Result>): Promise<Result> {
    if (this.#client === undefined || this.#isClosed)
      throw new Error(`${this.place}: ${this.#trouble?.message ?? 'not connected'}`)
    try {
      const result = await action(this.#client)
      this.#trouble = undefined
      return result
    } catch (error) {
      // Errors that an operator has to act on are kept; timeouts and the like are only counted.
      const is = troubleOf(error)
      if (is !== undefined) this.#setTrouble(is, messageOf(error))
      throw error
    }
  }

  #setTrouble(is: TroubleName, message: string): void {
    const since = this.#trouble?.is === is ? this.#trouble.since : this.#options.clock.now()
    this.#trouble = { is, message, remedy: remedies[is], since }
  }

  /** Half of the pause is random, so that many nodes do not come back at the same instant. */
  #pauseMs(): number {
    const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** this.#attempts++)
    return (pause * (1 + this.#options.clock.random())) / 2
  }
}

function troubleOf(error: unknown): TroubleName | undefined {
  const codes = [error, ...innerErrorsOf(error).map(([, inner]) => inner)].map(codeOf)
  if (codes.includes(errorCodes.badCredentials) || codes.includes(errorCodes.unauthorized)) return 'refused'
  if (isMissingTable(error)) return 'not_set_up'
  const name = (error as Error).name
  return name === 'NoHostAvailableError' || name === 'ArgumentError' ? 'unreachable' : undefined
}

/** Versions differ in the words: "unconfigured table", "table x does not exist", "Keyspace x does not exist". */
const isMissingTable = (error: unknown): boolean =>
  codeOf(error) === errorCodes.invalid &&
  /unconfigured table|(?:table|keyspace) \S+ does not exist/i.test(messageOf(error))
