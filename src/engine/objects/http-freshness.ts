/**
 * The permissions of a response that a render passes on (RFC 9111, 5861, 9213): whether it may be stored, and under which
 * terms. The rules for storing are those of all answers (answer-terms.ts). A response can shorten the terms of the cache
 * and never lengthen them.
 */
import type { HeaderList } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import { headerOf } from '../../core/headers.ts'
import { ageOf, type ClientIdentity, type Directives, readDirectives, termsOf } from '../http/answer-terms.ts'
import { endToEnd } from '../http/headers.ts'
import type { ObjectTerms, Rendered } from './objects.ts'

export interface ResponseContext {
  /** Taken before the request was sent, so that the time the response took counts as age (RFC 9111 §4.2.3). */
  readonly generatedAt: EpochMs
  /** The terms for a response without caching headers. */
  readonly terms: ObjectTerms
}

/** All clients get what one render returned. */
const anyone: ClientIdentity = { headers: [], partition: 'shared', encodingHeaders: [] }

/** The members of a render's result that follow from the headers of the response. */
export function responseTerms(
  given: HeaderList,
  { generatedAt, terms }: ResponseContext,
): Pick<Rendered, 'isStorable' | 'terms'> {
  const headers = withTargeted(given)
  const { forbidden, limits } = termsOf(headers, anyone, generatedAt)
  if (forbidden !== undefined) return { isStorable: false }
  const directives = readDirectives(headerOf(headers, 'cache-control') ?? '')
  const [whileRevalidate, ifError] = ['stale-while-revalidate', 'stale-if-error'].map((name) =>
    secondsOf(directives, name),
  )
  if (!limits.mustRevalidate && ![limits.seconds, whileRevalidate, ifError].some(Number.isFinite)) return {}
  // must-revalidate, proxy-revalidate and s-maxage forbid every use of a stale response (RFC 9111 §4.2.4).
  const most = limits.mustRevalidate ? 0 : Number.POSITIVE_INFINITY
  const { staleWhileRevalidateSeconds = 0, staleIfErrorSeconds = 0 } = terms
  return {
    terms: {
      ...terms,
      revalidateSeconds: Math.min(terms.revalidateSeconds, limits.seconds),
      staleWhileRevalidateSeconds: Math.min(staleWhileRevalidateSeconds, whileRevalidate ?? most, most),
      staleIfErrorSeconds: Math.min(staleIfErrorSeconds, ifError ?? most, most),
    },
  }
}

/** Undefined where it is not there; 0 where it cannot be read. */
function secondsOf(directives: Directives | undefined, name: string): number | undefined {
  const value = directives?.get(name)?.[0]
  return value === undefined ? undefined : /^\d+$/.test(value) ? Number(value) : 0
}

/** The age of a reused response in whole seconds: since it was requested, plus its age in other caches before. */
export function ageSeconds(generatedAt: EpochMs, headers: HeaderList, now: EpochMs): number {
  const before = ageOf(headers)
  return Math.max(0, Math.floor((now - generatedAt) / 1000)) + (Number.isNaN(before) ? 0 : before)
}

/** A member of a dictionary (RFC 8941) whose value is an integer, a token, a string, a boolean, or left out. */
const member =
  /[ \t]*([a-z*][a-z0-9_.*-]*)(?:=(-?\d{1,15}(?!\.)|[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*|"(?:[ !#-[\]-~]|\\["\\])*"|\?[01]))?(?:;[ \t]*[a-z*][a-z0-9_.*-]*(?:=[^,;"]*)?)*[ \t]*(,|$)/y

/** A valid CDN-Cache-Control takes the place of Cache-Control and Expires (RFC 9213 §2.2); another one is ignored. */
function withTargeted(headers: HeaderList): HeaderList {
  const members = membersOf(headerOf(headers, 'cdn-cache-control') ?? '')
  if (members === undefined || members.size === 0) return headers
  const text = [...members].flatMap(([name, value]) => (value === '?0' ? [] : [`${name}${value}`])).join(', ')
  return [...endToEnd(headers, replaced), 'Cache-Control', text]
}

const replaced: ReadonlySet<string> = new Set(['cache-control', 'expires', 'pragma'])

/** '=value' of each member, '' of one that is true. Of several with one name the last counts. */
function membersOf(text: string): ReadonlyMap<string, string> | undefined {
  const members = new Map<string, string>()
  member.lastIndex = 0
  while (member.lastIndex < text.length) {
    const match = member.exec(text)
    if (match === null) return undefined
    const [, name, value, end] = match
    // A comma after the last member is no dictionary.
    if (end === ',' && member.lastIndex === text.length) return undefined
    members.set(name!, value === undefined || value === '?1' ? '' : value === '?0' ? value : `=${value}`)
  }
  return members
}

/** Headers that belong to one response only, and must not be sent to other requests. */
const perResponse: ReadonlySet<string> = new Set([
  'set-cookie',
  'retry-after',
  'cache-status',
  'content-length',
])

/** Frozen: every reader of the object gets the same list. */
export function storedHeaders(headers: HeaderList): HeaderList {
  const kept = endToEnd(headers, perResponse)
  return Object.freeze(kept.filter((_, i) => !/^(x-)?ratelimit(-|$)/i.test(kept[i - (i % 2)]!)))
}
