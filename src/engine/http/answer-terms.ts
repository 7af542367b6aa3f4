/**
 * The permissions of the database's answer (RFC 9111 §3, §4.1, §5.2.2): whether it may be stored and served to other
 * requests, and for how long. Fails closed: an answer with unreadable headers is not stored. The exceptions are listed
 * in docs/reference/headers.md.
 */
import type { HeaderList } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { UnstoredReason } from '../../core/decision.ts'
import { headerOf } from '../../core/headers.ts'
import { type LifetimeLimits, noLimits } from '../../core/lifetime.ts'
import { type Identity, isKeyed, isPersonal } from './identity.ts'

/** The identity of the request, and the requests that share its key. */
export interface ClientIdentity {
  /** Of the request, names in lower case. */
  readonly headers: HeaderList
  readonly partition: Identity
  /** Request headers that the database names in Vary although they only select the content encoding. */
  readonly encodingHeaders: readonly string[]
}

export interface AnswerTerms {
  /** Why the answer may be neither stored nor given to another request. */
  readonly forbidden?: Forbidden
  readonly limits: LifetimeLimits
}

export interface Forbidden {
  readonly reason: UnstoredReason
  /** For people: the headers that decided. */
  readonly detail: string
}

/** `fetchedAt`: when the query was sent. */
export function termsOf(headers: HeaderList, client: ClientIdentity, fetchedAt: EpochMs): AnswerTerms {
  const directives = readDirectives(headerOf(headers, 'cache-control') ?? '')
  if (directives === undefined) return forbidden('malformed_cache_headers', headers, ['Cache-Control'])
  return (
    forbiddenBy(directives, headers, client) ??
    variesBy(headers, client) ??
    lifetimeTerms(directives, headers, fetchedAt)
  )
}

export type Directives = ReadonlyMap<string, readonly string[]>

function forbiddenBy(
  directives: Directives,
  headers: HeaderList,
  client: ClientIdentity,
): AnswerTerms | undefined {
  const because = (reason: UnstoredReason) => forbidden(reason, headers, ['Cache-Control'])
  // An answer that may not be transformed may not be cut into buckets either.
  if (directives.has('no-store') || directives.has('no-transform')) return because('no_store')
  // With a list of fields these two are about those fields only; the stricter reading is permitted, and usual.
  if (directives.has('no-cache')) return because('no_cache')
  const isPrivate = directives.has('private') && !isPersonal(client.headers, client.partition)
  return isPrivate ? because('private') : undefined
}

function variesBy(headers: HeaderList, client: ClientIdentity): AnswerTerms | undefined {
  for (const part of headerOf(headers, 'vary')?.split(',') ?? []) {
    const name = part.trim().toLowerCase()
    if (name === '') continue
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
      return forbidden('malformed_cache_headers', headers, ['Vary'])
    if (!isMetByKey(name, client)) return forbidden('vary', headers, ['Vary'])
  }
  return undefined
}

/** Answers are stored decoded, and encoded again for each client. */
const isMetByKey = (name: string, { headers, partition, encodingHeaders }: ClientIdentity): boolean =>
  name !== '*' &&
  (name === 'accept-encoding' || encodingHeaders.includes(name) || isKeyed(name, headers, partition))

function lifetimeTerms(directives: Directives, headers: HeaderList, fetchedAt: EpochMs): AnswerTerms {
  const mustRevalidate = strictDirectives.some((name) => directives.has(name))
  const lifetime = explicitLifetime(directives, headers, fetchedAt)
  if (lifetime === undefined) {
    return { limits: mustRevalidate ? { ...noLimits, mustRevalidate } : noLimits }
  }
  const seconds = lifetime - ageOf(headers)
  if (seconds > 0) return { limits: { seconds, mustRevalidate } }
  const reason = Number.isNaN(seconds) ? 'malformed_cache_headers' : 'no_cache'
  return forbidden(reason, headers, ['Cache-Control', 'Age', 'Expires', 'Pragma'])
}

/** For a shared cache, s-maxage has the effect of proxy-revalidate (§5.2.2.10). */
const strictDirectives = ['must-revalidate', 'proxy-revalidate', 's-maxage']

/** In whole seconds; NaN where it cannot be read, undefined where the database sent none. */
function explicitLifetime(
  directives: Directives,
  headers: HeaderList,
  fetchedAt: EpochMs,
): number | undefined {
  const shared = secondsIn(directives.get('s-maxage'))
  const any = secondsIn(directives.get('max-age'))
  if (Number.isNaN(shared) || Number.isNaN(any)) return Number.NaN
  const expires = headerOf(headers, 'expires')
  if (shared !== undefined || any !== undefined) return shared ?? any
  if (expires !== undefined) return untilExpiry(expires, headers, fetchedAt)
  // Servers that send this without Cache-Control mean no-cache by it, though it was never specified (§5.4).
  const isOldNoCache = /\bno-cache\b/i.test(headerOf(headers, 'pragma') ?? '')
  return isOldNoCache && headerOf(headers, 'cache-control') === undefined ? 0 : undefined
}

/** Directives that contradict each other make an answer stale (§4.2.1). */
function secondsIn(values: readonly string[] | undefined): number | undefined {
  if (values === undefined) return undefined
  const [first] = values
  return values.every((value) => value === first && /^\d+$/.test(value)) ? Number(first) : Number.NaN
}

/** By the database's own clock where it sends Date; an unreadable date is one in the past (§5.3). */
function untilExpiry(expires: string, headers: HeaderList, fetchedAt: EpochMs): number {
  const date = readDate(headerOf(headers, 'date') ?? '') ?? fetchedAt
  const at = readDate(expires)
  return at === undefined ? 0 : Math.floor((at - date) / 1000)
}

/** How old the answer already was when it was given: other caches may stand between. Of several values the first counts. */
export function ageOf(headers: HeaderList): number {
  const text = headerOf(headers, 'age')
  return text === undefined ? 0 : Number(/^(\d+)[ \t]*(?:,|$)/.exec(text)?.[1])
}

/** The three forms of RFC 9110 §5.6.7. */
const httpDate =
  /^(?:\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT|\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})$/

function readDate(text: string): EpochMs | undefined {
  if (!httpDate.test(text)) return undefined
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(at) ? undefined : at
}

const directive =
  /[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:=(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*)?(?:,|$)/y

/** The values of each directive, '' where it has none; undefined where the text is not a list of directives. */
export function readDirectives(text: string): Directives | undefined {
  const directives = new Map<string, string[]>()
  directive.lastIndex = 0
  while (directive.lastIndex < text.length) {
    const match = directive.exec(text)
    if (match === null) return undefined
    const [, given, token, quoted] = match
    if (given === undefined) continue
    const name = given.toLowerCase()
    const value = token ?? quoted?.replace(/\\(.)/g, '$1') ?? ''
    const known = directives.get(name)
    if (known === undefined) directives.set(name, [value])
    else known.push(value)
  }
  return directives
}

const maxDetail = 200

function forbidden(reason: UnstoredReason, headers: HeaderList, names: readonly string[]): AnswerTerms {
  const told = names.map((name) => [name, headerOf(headers, name.toLowerCase())] as const)
  const lines = told.filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}`)
  return { forbidden: { reason, detail: lines.join('; ').slice(0, maxDetail) }, limits: noLimits }
}
