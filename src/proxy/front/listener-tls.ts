/** TLS on a listener: its certificate is exchanged while it listens, and a bad one never replaces a good one. */
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Clock } from '../../core/clock.ts'
import { WindowpaneError } from '../../core/errors.ts'
import { TlsFiles } from '../../core/tls-files.ts'

export interface ListenerTlsOptions {
  /** Certificate chain and private key, PEM. */
  readonly cert: string
  readonly key: string
  readonly clock: Clock
  /** Called for every new certificate, and with the reason why the current content of the files is not in force. */
  readonly onCertificate?: ((error: string | undefined) => void) | undefined
}

export interface SecureListener {
  readonly server: Server
  /** No longer looks at the files; the server is its owner's. */
  stop(): void
}

/** How often the files are looked at: watching them misses changes on some file systems. */
const pollMs = 1_000

/** Throws where there is no usable certificate to begin with. */
export function secureListener(tls: ListenerTlsOptions, options: ServerOptions = {}): SecureListener {
  const { cert, key, clock, onCertificate } = tls
  const files = new TlsFiles({ cert, key }, clock)
  files.check()
  if (files.material === undefined) {
    throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `no TLS on the listener: ${files.error}`, {
      remedy: 'Name a certificate chain and its key, both PEM, that Windowpane may read.',
    })
  }
  const server = createServer({ ...options, ...files.material.pem })
  const look = () => {
    const before = files.error
    const isNew = files.check()
    // Connections that are open keep the certificate with which they were opened.
    if (isNew) server.setSecureContext(files.material!.pem)
    if (isNew || files.error !== before) onCertificate?.(files.error)
    timer = clock.after(pollMs, look)
  }
  let timer = clock.after(pollMs, look)
  return { server, stop: () => timer.cancel() }
}
