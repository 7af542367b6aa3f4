/**
 * Certificates and keys from PEM files. A change of the files takes effect only as a whole: files that cannot be loaded
 * (half written, or a key of another certificate) do not replace the loaded ones, and the reason is reported.
 */
import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Clock } from './clock.ts'
import { WatchedFile } from './watched-file.ts'

const names = ['ca', 'cert', 'key'] as const
type Named<T> = { readonly [name in (typeof names)[number]]?: T | undefined }

export type TlsPaths = Named<string>
export type Pem = Named<Buffer>

/** A server that connections are made to. There is no way to leave its certificate unverified, and there will be none. */
export interface TlsServer {
  readonly tls?: (TlsPaths & { readonly serverName?: string | undefined }) | undefined
  /** A unix socket to connect to instead of the host of the URL. */
  readonly socket?: string | undefined
}

/** How undici connects to it, with the certificates that are in force. */
export const connectOptions = ({ tls, socket }: TlsServer, material: TlsMaterial | undefined) => ({
  // Explicit, because the environment (NODE_TLS_REJECT_UNAUTHORIZED) could override the default.
  rejectUnauthorized: true,
  ...(socket !== undefined && { socketPath: socket }),
  ...(material !== undefined && { secureContext: material.context }),
  ...(tls?.serverName !== undefined && { servername: tls.serverName }),
})

/** Undefined where a connection to this URL needs no files. */
export function tlsFilesFor({ protocol }: URL, { tls = {} }: TlsServer, clock: Clock): TlsFiles | undefined {
  const hasFiles = names.some((name) => tls[name] !== undefined)
  return hasFiles && protocol === 'https:' ? new TlsFiles(tls, clock) : undefined
}

export interface TlsMaterial {
  readonly pem: Pem
  readonly context: SecureContext
}

export class TlsFiles {
  readonly #files: readonly (readonly [keyof Pem, WatchedFile])[]
  /** The content at the last read, valid or not. */
  #seen: Pem | undefined
  #material: TlsMaterial | undefined
  #error: string | undefined

  constructor(paths: TlsPaths, clock: Clock) {
    this.#files = names.flatMap((name) => {
      const path = paths[name]
      return path === undefined ? [] : [[name, new WatchedFile(path, clock)] as const]
    })
  }

  /** The material in force; undefined where nothing could be loaded yet. */
  get material(): TlsMaterial | undefined {
    return this.#material
  }

  /** Why the current content of the files is not in force. */
  get error(): string | undefined {
    return this.#error
  }

  /** Looks at the files. True where something new is in force. */
  check(): boolean {
    const pem: Partial<Record<keyof Pem, Buffer>> = {}
    for (const [name, file] of this.#files) {
      const read = file.read()
      if ('error' in read) return this.#refuse(read.error)
      pem[name] = read.bytes
    }
    if (this.#seen !== undefined && names.every((name) => pem[name] === this.#seen?.[name])) return false
    this.#seen = pem
    return this.#load(pem)
  }

  #load(pem: Pem): boolean {
    try {
      if (pem.ca !== undefined) assertCertificates(pem.ca)
      this.#material = { pem, context: createSecureContext(pem) }
      this.#error = undefined
      return true
    } catch (error) {
      const files = this.#files.map(([, file]) => file.path).join(', ')
      return this.#refuse(`${files} cannot be used: ${(error as Error).message}`)
    }
  }

  #refuse(error: string): false {
    this.#error = error
    return false
  }
}

/** Node takes a file without any certificate for an empty list of authorities, and then trusts no server. */
function assertCertificates(ca: Buffer): void {
  const blocks = ca
    .toString('latin1')
    .match(/-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \1-----/g)
  if (blocks === null) throw new Error('there is no certificate in it')
  for (const block of blocks) new X509Certificate(block)
}
