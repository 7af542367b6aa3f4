/** Secrets in files, and how Windowpane logs in with them. Files are looked at on every use: tokens are rotated. */
import type { Clock } from './clock.ts'
import type { Hidden } from './secrets.ts'
import { percentDecoded } from './url.ts'
import { type FileRead, readWhole, type Unusable, WatchedFile } from './watched-file.ts'

/** Basic where there is a user, bearer otherwise. */
export interface AuthOptions {
  readonly username?: string | undefined
  readonly password?: Hidden | undefined
  readonly passwordFile?: string | undefined
  readonly token?: Hidden | undefined
  readonly tokenFile?: string | undefined
  /** Whether these are sent instead of a client's own, and not only where a client has none. */
  readonly replaceClient?: boolean | undefined
}

/** The value of an Authorization header, nothing to send, or why there is none although there should be. */
export type Authorization = { readonly value: string | undefined } | Unusable

/** While a file is being replaced it may be missing or empty: its last content holds for this long. */
const graceMs = 5_000
const nothing: Authorization = { value: undefined }

export class Credentials {
  readonly #auth: AuthOptions
  readonly #clock: Clock
  readonly #file: WatchedFile | undefined
  readonly #fixed: Authorization | undefined
  #good: Authorization | undefined
  #badSince: number | undefined
  #bytes: Buffer | undefined

  constructor(auth: AuthOptions, clock: Clock) {
    this.#auth = auth
    this.#clock = clock
    const { username, password, passwordFile, token, tokenFile } = auth
    const path = username === undefined ? tokenFile : passwordFile
    const secret = (username === undefined ? token : password)?.reveal()
    if (secret !== undefined) this.#fixed = this.#header(secret)
    else if (path !== undefined) this.#file = new WatchedFile(path, clock)
    else this.#fixed = username === undefined ? nothing : this.#header('')
  }

  get replaceClient(): boolean {
    return this.#auth.replaceClient === true
  }

  authorization(): Authorization {
    if (this.#file === undefined) return this.#fixed ?? nothing
    const read = this.#file.read()
    if ('bytes' in read && read.bytes === this.#bytes && this.#good !== undefined) return this.#good
    const found = this.#parse(read, this.#file.path)
    if ('error' in found) return this.#fallback(found)
    this.#bytes = 'bytes' in read ? read.bytes : undefined
    this.#good = found
    this.#badSince = undefined
    return found
  }

  #fallback(found: Unusable): Authorization {
    this.#bytes = undefined
    const now = this.#clock.elapsed()
    this.#badSince ??= now
    return this.#good !== undefined && now - this.#badSince < graceMs ? this.#good : found
  }

  #parse(read: FileRead, path: string): Authorization {
    const found = secretIn(read, path)
    if ('error' in found) return found
    const header = this.#header(found.secret)
    return 'error' in header ? { error: `${path}: ${header.error}` } : header
  }

  #header(secret: string): Authorization {
    const { username } = this.#auth
    if (username !== undefined) return { value: basic(username, secret) }
    const token = secret.trim()
    // Never the token itself: this text is shown.
    if (!/^[\x21-\x7e]+$/.test(token)) return { error: 'the token has characters that a header cannot carry' }
    return { value: `Bearer ${token}` }
  }
}

/** The secret in a file as it is now. */
export const readSecret = (path: string): { readonly secret: string } | Unusable =>
  secretIn(readWhole(path), path)

/** The first line that is not empty. Blanks are a part of it: passwords may begin or end with them. */
function secretIn(read: FileRead, path: string): { readonly secret: string } | Unusable {
  if ('error' in read) return read
  const secret = read.bytes.toString().split(/\r?\n/).find(Boolean)
  return secret === undefined ? { error: `${path} is empty` } : { secret }
}

export function authorizationOf({ username, password }: URL): string | undefined {
  return username === '' && password === '' ? undefined : basic(decoded(username), decoded(password))
}

/** As a browser does: text that is not percent-encoded stands for itself. */
const decoded = (text: string): string => percentDecoded(text) ?? text

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
