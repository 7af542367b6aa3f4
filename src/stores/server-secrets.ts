/** Passwords and certificates of stores on a server. Files are read again whenever a connection is made. */
import { systemClock } from '../core/clock.ts'
import { type AuthOptions, readSecret } from '../core/credentials.ts'
import { type Pem, TlsFiles, type TlsPaths } from '../core/tls-files.ts'
import type { Refused } from './kind.ts'

export interface Login {
  readonly username?: string
  readonly password?: string
}

export type LoginConfig = Pick<AuthOptions, 'username' | 'password' | 'passwordFile'>

/** An unreadable file is a value, not an exception: operators see it. */
export function readLogin({ username, password, passwordFile }: LoginConfig): Login | Refused {
  const own = password !== undefined ? { secret: password.reveal() } : undefined
  const read = own ?? (passwordFile !== undefined ? readSecret(passwordFile) : undefined)
  if (read !== undefined && 'error' in read) return unusable('password', read.error)
  return { ...(username !== undefined && { username }), ...(read && { password: read.secret }) }
}

export interface TlsSecrets extends Pem {
  /** Explicit, as the environment (NODE_TLS_REJECT_UNAUTHORIZED) could turn it off. */
  readonly rejectUnauthorized: true
  readonly servername?: string
}

export interface TlsConfig extends TlsPaths {
  readonly tls: boolean
  readonly serverName?: string | undefined
}

/** Undefined without encryption. */
export function readTls({ tls, serverName, ...paths }: TlsConfig): TlsSecrets | undefined | Refused {
  if (!tls) return undefined
  const files = new TlsFiles(paths, systemClock)
  files.check()
  if (files.error !== undefined) return unusable('certificate', files.error)
  return {
    rejectUnauthorized: true,
    ...files.material?.pem,
    ...(serverName !== undefined && { servername: serverName }),
  }
}

const unusable = (what: string, why: string): Refused => ({
  refused: 'unreadable_file',
  detail: `the file of a ${what} cannot be used: ${why}`,
  remedy: `name a file that this user can read, and that has a ${what}`,
})
