/** TLS on a listener: its certificate is exchanged while it listens, and a bad one never replaces a good one. */
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Clock, EpochMs, Timer } from '../../core/clock.ts'
import { WindowpaneError } from '../../core/errors.ts'
import { TlsFiles } from '../tls-files.ts'

export interface ListenerTlsOptions {
  /** Certificate chain and private key, PEM. */
  readonly cert: string
  readonly key: string
  readonly clock: Clock
  /** How often the files are looked at: watching them misses changes on some file systems. */
  readonly pollMs?: number
  /** Called for every look that changes anything. */
  onChange?(state: ListenerTlsState): void
}

export interface ListenerTlsState {
  /** When the certificate in force was loaded. */
  readonly loadedAt: EpochMs
  /** Why the current content of the files is not in force. */
  readonly error: string | undefined
}

export interface SecureListener {
  readonly server: Server
  readonly state: ListenerTlsState
  /** Looks at the files now. */
  reload(): ListenerTlsState
  /** No longer looks at the files; the server is its owner's. */
  stop(): void
}

const defaultPollMs = 1_000

/** Throws where there is no usable certificate to begin with. */
export function secureListener(tls: ListenerTlsOptions, options: ServerOptions = {}): SecureListener {
  const files = new TlsFiles({ cert: tls.cert, key: tls.key }, tls.clock)
  files.check()
  if (files.material === undefined) {
    throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `no TLS on the listener: ${files.error}`, {
      remedy: 'Name a certificate chain and its key, both PEM, that Windowpane may read.',
    })
  }
  const server = createServer({ ...options, ...files.material.pem })
  return new ReloadingListener(server, files, tls)
}

class ReloadingListener implements SecureListener {
  readonly server: Server
  readonly #files: TlsFiles
  readonly #tls: ListenerTlsOptions
  #loadedAt: EpochMs
  #timer: Timer

  constructor(server: Server, files: TlsFiles, tls: ListenerTlsOptions) {
    this.server = server
    this.#files = files
    this.#tls = tls
    this.#loadedAt = tls.clock.now()
    this.#timer = this.#poll()
  }

  get state(): ListenerTlsState {
    return { loadedAt: this.#loadedAt, error: this.#files.error }
  }

  /** Connections that are open keep the certificate with which they were opened. */
  reload(): ListenerTlsState {
    const before = this.#files.error
    const isNew = this.#files.check()
    if (isNew) {
      this.server.setSecureContext(this.#files.material!.pem)
      this.#loadedAt = this.#tls.clock.now()
    }
    if (isNew || this.#files.error !== before) this.#tls.onChange?.(this.state)
    return this.state
  }

  stop(): void {
    this.#timer.cancel()
  }

  #poll(): Timer {
    return this.#tls.clock.after(this.#tls.pollMs ?? defaultPollMs, () => {
      this.reload()
      this.#timer = this.#poll()
    })
  }
}
