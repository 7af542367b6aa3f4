/** Passwords and certificates of stores on a server. Files are read again whenever a connection is made. */
import { readFileSync } from 'node:fs'
import { fileSentence } from '../core/file-error.ts'
import type { Hidden } from '../core/secrets.ts'
import type { Refused } from './kind.ts'

export interface Login {
  readonly username?: string
  readonly password?: string
}

export interface LoginConfig {
  readonly username?: string | undefined
  readonly password?: Hidden | undefined
  readonly passwordFile?: string | undefined
}

/** An unreadable file is a value, not an exception: operators see it. */
export function readLogin({ username, password: hidden, passwordFile }: LoginConfig): Login | Refused {
  try {
    const password = hidden?.reveal() ?? (passwordFile === undefined ? undefined : firstLine(passwordFile))
    return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
  } catch (error) {
    return unreadable('password', error)
  }
}

const firstLine = (file: string): string => readFileSync(file, 'utf8').split(/\r?\n/, 1)[0]!

export interface TlsSecrets {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
  readonly servername?: string
}

export interface TlsConfig {
  readonly tls: boolean
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly serverName?: string | undefined
}

/** Undefined without encryption. */
export function readTls({ tls, ca, cert, key, serverName }: TlsConfig): TlsSecrets | undefined | Refused {
  if (!tls) return undefined
  try {
    return {
      ...(ca !== undefined && { ca: readFileSync(ca) }),
      ...(cert !== undefined && { cert: readFileSync(cert) }),
      ...(key !== undefined && { key: readFileSync(key) }),
      ...(serverName !== undefined && { servername: serverName }),
    }
  } catch (error) {
    return unreadable('certificate', error)
  }
}

const unreadable = (what: string, error: unknown): Refused => ({
  refused: 'unreadable_file',
  detail: `the file of a ${what} cannot be read: ${fileSentence((error as NodeJS.ErrnoException).path ?? 'it', error)}`,
  remedy: 'name a file that this user can read',
  cause: error,
})
