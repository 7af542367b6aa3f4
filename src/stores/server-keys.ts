/** Keys that stores on a server have in common: login and encryption of connections. */
import { type Check, key, optional, secret } from '../config/definition.ts'
import { bool } from '../config/scalars.ts'
import { hidden, hostName, path, text } from '../config/text-scalars.ts'
import { percentDecoded } from '../core/url.ts'

/** Connections are made anew only by a restart. */
export const restart = { apply: 'restart' } as const

export const loginKeys = {
  username: optional(text, 'the user, where the server requires a login', restart),
  passwordFile: optional(path, 'the file with the password', restart),
  password: secret(hidden, 'the password itself', restart),
}

export const tlsKeys = {
  tls: key(bool, false, { meaning: 'whether connections are encrypted', ...restart }),
  ca: optional(path, 'certificate authorities to trust (PEM), instead of those of the system', restart),
  cert: optional(path, 'client certificate (PEM)', restart),
  key: optional(path, 'private key of the client certificate (PEM)', restart),
  serverName: optional(hostName, 'the name the certificate must have, if not that of the host', restart),
}

/** A password is a value or in a file, and not both. */
export const onePassword = (key: string): Check => ({
  run(value: Readonly<Record<string, unknown>>, report) {
    if (value[key] !== undefined && value[`${key}File`] !== undefined)
      report(`${key}File`, 'is set as well as the password itself: set one of them')
  },
})

/** `user:password` of a URL, percent-encoded; undefined where it is not. */
export function loginIn(userInfo: string): { username?: string; password?: string } | undefined {
  const [name = '', ...rest] = userInfo.split(':')
  const [username, password] = [percentDecoded(name), percentDecoded(rest.join(':'))]
  if (username === undefined || password === undefined) return undefined
  return { ...(username !== '' && { username }), ...(password !== '' && { password }) }
}

export const notPercentEncoded = 'has a user or a password that is not percent-encoded text: write % as %25'
