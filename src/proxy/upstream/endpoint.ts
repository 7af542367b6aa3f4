/** One URL of a database: its connections, its certificates, its health. */
import type { Dispatcher } from 'undici'
import { authorizationOf } from '../../core/credentials.ts'
import { isLoopback } from '../../core/socket-address.ts'
import { connectOptions, type TlsFiles, tlsFilesFor } from '../../core/tls-files.ts'
import { Pool } from '../../core/undici.ts'
import { withoutCredentials } from '../../core/url.ts'
import { messageOf } from './errors.ts'
import { Health, type HealthState } from './health.ts'
import type { UpstreamOptions } from './upstream.ts'

export interface EndpointOptions extends Pick<UpstreamOptions, 'clock' | 'connections' | 'tls' | 'socket'> {
  readonly url: URL
}

export interface UpstreamState extends HealthState {
  /** Without user and password. */
  readonly url: string
  /** Why the certificates that are in the files now are not in use. */
  readonly tlsError?: string
}

export const connectTimeoutMs = 5_000
const lookAgainMs = 1_000
/** Some servers close connections of clients without a certificate and send no alert. */
const noCertificate = '; if it requires a client certificate, name one with tls.cert and tls.key'

export class Endpoint {
  readonly health: Health
  /** For messages. */
  readonly name: string
  /** From the user and password of the URL. */
  readonly authorization: string | undefined
  readonly #options: EndpointOptions
  readonly #prefix: string
  readonly #tls: TlsFiles | undefined
  readonly #retired = new Set<Pool>()
  #pool: Pool | undefined
  #isClosed = false
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(options: EndpointOptions) {
    this.#options = options
    this.health = new Health(options.clock)
    this.name = options.socket ?? options.url.host
    this.authorization = authorizationOf(options.url)
    this.#prefix = options.url.pathname.replace(/\/+$/, '')
    this.#tls = tlsFilesFor(options.url, options, options.clock)
  }

  /** Compressing costs the database more than loopback saves. */
  get isLocal(): boolean {
    const { socket, url } = this.#options
    return socket !== undefined || isLoopback(url.hostname)
  }

  get state(): UpstreamState {
    const error = this.#tls?.error
    const url = withoutCredentials(this.#options.url.href)
    return { url, ...this.health.state, ...(error !== undefined && { tlsError: error }) }
  }

  /** The reason why no request can be sent to it. */
  get obstacle(): string | undefined {
    this.#lookAtFiles()
    return this.#tls !== undefined && this.#tls.material === undefined ? this.#tls.error : undefined
  }

  meaningOf(error: unknown): string {
    const { url, tls } = this.#options
    const isClosed = (error as NodeJS.ErrnoException).code === 'UND_ERR_SOCKET' && !this.health.hasAnswered
    const hint = isClosed && url.protocol === 'https:' && tls?.cert === undefined ? noCertificate : ''
    return messageOf(error) + hint
  }

  dispatch(request: Omit<Dispatcher.DispatchOptions, 'origin'>, handler: Dispatcher.DispatchHandler): void {
    if (this.#isClosed) throw new Error('Windowpane is going down')
    this.#pool ??= this.#newPool()
    this.#pool.dispatch({ ...request, path: this.#prefix + request.path }, handler)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#pool, ...this.#retired].map((pool) => pool?.destroy()))
  }

  /** New certificates are for new connections; the old ones end with the requests that they carry. */
  #lookAtFiles(): void {
    const now = this.#options.clock.elapsed()
    if (this.#tls === undefined || now - this.#lookedAt < lookAgainMs) return
    this.#lookedAt = now
    if (this.#tls.check()) void this.#retirePool()
  }

  /** Lets requests under way finish. */
  async #retirePool(): Promise<void> {
    const pool = this.#pool
    this.#pool = undefined
    if (pool === undefined) return
    this.#retired.add(pool)
    await pool.close().finally(() => this.#retired.delete(pool))
  }

  #newPool(): Pool {
    const { url, connections } = this.#options
    return new Pool(url.origin, {
      connections,
      // Deadlines are ours, on the clock.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Header lists are read as they come over HTTP/1.
      allowH2: false,
      connect: { timeout: connectTimeoutMs, ...connectOptions(this.#options, this.#tls?.material) },
    })
  }
}
