/**
 * Access control of the admin listener: bearer token, host names (against DNS rebinding), and no other site's pages.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { hostOf, isLocalAddress, isLoopback } from '../../core/socket-address.ts'
import type { AdminOptions } from './admin.ts'
import { type AdminAnswer, failure } from './answer.ts'

type GuardOptions = Pick<AdminOptions, 'listen' | 'names' | 'token'>

export class Guard {
  readonly #options: GuardOptions
  readonly #names: ReadonlySet<string>
  readonly #isLoopback: boolean

  constructor(options: GuardOptions) {
    this.#options = options
    const { listen, names = [] } = options
    const own = hostOf(listen)
    this.#names = new Set([own, ...names].map((name) => name.toLowerCase()))
    this.#isLoopback = isLoopback(own)
  }

  /** Whether only this machine can reach it. */
  get isLocal(): boolean {
    return isLocalAddress(this.#options.listen)
  }

  /** Of every request: by which name, and from where, it comes. */
  checkOrigin({ host, origin, ...headers }: IncomingHttpHeaders): AdminAnswer | undefined {
    // A page of another site can make a browser send requests here; under its own name it could read the answers, too.
    if (this.#isLoopback && !this.#isKnown(hostOf(host ?? ''))) {
      return failure(403, `"${host ?? ''}" is not a name of this listener; use 127.0.0.1 or localhost`)
    }
    const isForeign = origin !== undefined && URL.parse(origin)?.host !== host
    if (isForeign || headers['sec-fetch-site'] === 'cross-site') {
      return failure(403, 'requests from pages of other sites are not answered')
    }
    return undefined
  }

  checkToken({ authorization }: IncomingHttpHeaders): AdminAnswer | undefined {
    const token = this.#options.token()
    if (token === undefined) return undefined
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1]
    if (given !== undefined && isSame(given, token)) return undefined
    const needed = failure(401, 'a bearer token is needed (admin.token, admin.tokenFile)')
    return { ...needed, headers: { 'WWW-Authenticate': 'Bearer realm="windowpane"' } }
  }

  #isKnown(host: string): boolean {
    return this.#names.has(host) || isLoopback(host)
  }
}

/** Hashes have one length and no order: the duration of the comparison reveals nothing about the token. */
const isSame = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
