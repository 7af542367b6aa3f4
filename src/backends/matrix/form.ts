/**
 * The parameters of a query request, read as Go's net/http FormValue reads them: body parameters come before URL
 * parameters and the first value counts. Whatever Go may read differently from us is refused, never guessed.
 */
import { bufferOf } from '../../core/bytes.ts'
import { headerOf } from '../../core/headers.ts'
import { fingerprintOf, isSecretName } from '../../core/secrets.ts'
import { percentDecoded } from '../../core/url.ts'
import type { Bypass, WireRequest } from '../backend.ts'

/** Decoded name, value, name, value …: body pairs first, then URL pairs, each in the order sent. */
export type Pairs = readonly string[]

/** Go refuses bigger forms, and forms with more parameters, as a whole; we stay far below its second limit. */
const maxBodyBytes = 10 << 20
const maxParameters = 1000

const formType = 'application/x-www-form-urlencoded'
const formTypeWithCharset = /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

/** Go drops a pair with a semicolon; raw bytes beyond ASCII reach us in no agreed encoding. */
const ambiguous = /[;\u0080-\uffff]/

const malformed = (detail: string): Bypass => ({ bypass: 'malformed_request', detail })

export function readForm(request: WireRequest): Pairs | Bypass {
  const refusal = request.method === 'POST' ? refusePost(request) : refuseGet(request)
  return refusal ?? readPairs(bodyText(request.body), request.search)
}

/** The one text that all parameters of a well-formed request are in; most requests have one. */
export function onlyForm(request: WireRequest): string | undefined {
  if (request.method !== 'POST') return request.body.length === 0 ? request.search : undefined
  return request.search === '' && refusePost(request) === undefined ? bodyText(request.body) : undefined
}

/** The pairs of one urlencoded text after the other. */
export function readPairs(...texts: readonly string[]): Pairs | Bypass {
  const pairs: string[] = []
  for (const text of texts) {
    const problem = appendPairs(text, pairs)
    if (problem !== undefined) return malformed(problem)
  }
  return pairs
}

/** Returns the value that Go's FormValue returns, or undefined where Go returns the empty string. */
export function firstValue(pairs: Pairs, name: string): string | undefined {
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i] === name) return pairs[i + 1] || undefined
  }
  return undefined
}

/**
 * Each name with its values in the order sent, by name. For texts that are shown and stored: of an access token only a
 * fingerprint is part of them.
 */
export function valuesByName(pairs: Pairs): readonly (readonly string[])[] {
  const found = new Map<string, string[]>()
  for (let i = 0; i < pairs.length; i += 2) {
    const name = pairs[i]!
    const value = isSecretName(name) ? fingerprintOf(pairs[i + 1]!) : pairs[i + 1]!
    const entry = found.get(name)
    if (entry === undefined) found.set(name, [name, value])
    else entry.push(value)
  }
  return [...found.values()].sort((a, b) => (a[0]! < b[0]! ? -1 : 1))
}

/** Returns `raw` with the value of every occurrence of the named parameters replaced; other bytes stay as they came. */
export function replaceValues(raw: string, values: ReadonlyMap<string, string>): string {
  return raw
    .split('&')
    .map((pair) => replaceValue(pair, values))
    .join('&')
}

function replaceValue(pair: string, values: ReadonlyMap<string, string>): string {
  const rawName = pair.split('=', 1)[0]!
  const value = pair === '' ? undefined : values.get(decode(rawName) ?? '')
  return value === undefined ? pair : `${rawName}=${value}`
}

export function bodyText(body: Uint8Array): string {
  return body.length === 0 ? '' : bufferOf(body).toString('latin1')
}

function refuseGet(request: WireRequest): Bypass | undefined {
  return request.body.length > 0 ? malformed('a body on GET') : undefined
}

function refusePost(request: WireRequest): Bypass | undefined {
  if (request.body.length > maxBodyBytes) return malformed('the body is larger than a form may be')
  if (headerOf(request.headers, 'content-encoding') !== undefined) return malformed('an encoded request body')
  // Two of them are a list, which is no form either.
  const type = headerOf(request.headers, 'content-type')
  if (type === formType || (type !== undefined && formTypeWithCharset.test(type))) return undefined
  return malformed('a POST whose content type is not exactly one urlencoded form')
}

/** Appends the decoded pairs of `raw`. Returns its mistake, if any. */
function appendPairs(raw: string, into: string[]): string | undefined {
  if (ambiguous.test(raw)) return 'a semicolon or an unescaped character beyond ASCII'
  for (let from = 0; from < raw.length; ) {
    const ampersand = raw.indexOf('&', from)
    const to = ampersand < 0 ? raw.length : ampersand
    if (to > from && !appendPair(raw.slice(from, to), into)) return 'an escape that is not UTF-8'
    if (into.length > 2 * maxParameters) return 'too many parameters'
    from = to + 1
  }
  return undefined
}

function appendPair(pair: string, into: string[]): boolean {
  const equals = pair.indexOf('=')
  const name = decode(equals < 0 ? pair : pair.slice(0, equals))
  const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
  if (name === undefined || value === undefined) return false
  into.push(name, value)
  return true
}

const decode = (text: string): string | undefined =>
  percentDecoded(text.includes('+') ? text.replaceAll('+', ' ') : text)
