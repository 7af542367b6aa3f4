/** Passwords and certificates: where they come from. Files are read again whenever a connection is made. */
import { readFileSync } from 'node:fs'
import { fileSentence } from '../../core/file-error.ts'
import type { Refused } from '../kind.ts'
import type { RedisConfig } from './config.ts'

/** A value that does not print itself. */
interface Hidden {
  reveal(): string
}

export interface Login {
  readonly username?: string
  readonly password?: string
}

export interface Logins {
  readonly server: Login
  readonly sentinel: Login
}

/** What cannot be read is a value: operators meet it. */
export function readLogins(config: RedisConfig): Logins | Refused {
  try {
    return {
      server: login(config.username, config.password, config.passwordFile),
      sentinel: login(config.sentinelUsername, config.sentinelPassword, config.sentinelPasswordFile),
    }
  } catch (error) {
    return unreadable('password', error)
  }
}

function login(username: string | undefined, hidden: Hidden | undefined, file: string | undefined): Login {
  const password = hidden?.reveal() ?? (file === undefined ? undefined : firstLine(file))
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
}

const firstLine = (file: string): string => readFileSync(file, 'utf8').split(/\r?\n/)[0]!

export interface TlsFiles {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
  readonly servername?: string
}

/** Undefined without encryption. */
export function readTls(config: RedisConfig): TlsFiles | undefined | Refused {
  const { tls, ca, cert, key, serverName } = config
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
