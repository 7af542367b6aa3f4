/** Headers of requests and responses: forwarding, additions, and the rendering of a decision. */
import type { HeaderList } from '../../backends/backend.ts'
import type { Decision } from '../../core/decision.ts'
import { headerOf } from '../../core/headers.ts'
import { Memo } from '../../core/memo.ts'

/** Connection management is between two neighbours (RFC 9110 §7.6.1). */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** All headers but the hop-by-hop headers, the ones named by Connection, and `dropped` (lower case). */
export function endToEnd(headers: HeaderList, dropped: ReadonlySet<string> = none): string[] {
  const listed = namedByConnection(headers)
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (hopByHop.has(name) || listed.has(name) || dropped.has(name)) continue
    kept.push(headers[i]!, headers[i + 1]!)
  }
  return kept
}

/**
 * The same of a request, with names in lower case. Proxy-Authorization stays: it is not sent to the database (see
 * `endToEnd`), but it identifies the client.
 */
export function requestHeaders(raw: HeaderList): HeaderList {
  const listed = namedByConnection(raw)
  const kept: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = lowerCaseNames.get(raw[i]!)
    const isOfConnection = hopByHop.has(name) && name !== 'proxy-authorization'
    if (!isOfConnection && !listed.has(name)) kept.push(name, raw[i + 1]!)
  }
  return kept
}

/** Clients write the same few names again and again. */
const lowerCaseNames = new Memo({ maxTexts: 1_000, maxCharacters: 64 << 10 }, (name) => name.toLowerCase())

function namedByConnection(headers: HeaderList): ReadonlySet<string> {
  const named = headerOf(headers, 'connection')
  if (named === undefined || named === 'keep-alive' || named === 'close') return none
  return new Set(named.split(',').map((name) => name.trim().toLowerCase()))
}

const none: ReadonlySet<string> = new Set()

/** About the client's own copy of its own request: a narrowed one has other bytes. */
export const conditionalHeaders: ReadonlySet<string> = new Set([
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
  'range',
])

/** About the body as the database sent it: ours is decoded, and may be of another length. */
export const bodyHeaders: ReadonlySet<string> = new Set(['content-length', 'content-encoding'])

/**
 * Age, where the response does not have it already, and Cache-Status, except for answers in which no cache has a part.
 */
export function decisionHeaders(decision: Decision, given: HeaderList): string[] {
  const list: string[] = []
  if (decision.ageSeconds !== undefined && headerOf(given, 'age') === undefined) {
    list.push('Age', String(decision.ageSeconds))
  }
  if (!isOverQuota(decision)) list.push('Cache-Status', cacheStatus(decision))
  return list
}

/** The request was answered 429 before the cache could serve anything. */
const isOverQuota = ({ outcome, reason }: Decision): boolean =>
  outcome === 'refused' && (reason === 'over_quota' || reason === 'quota_never')

/** RFC 9211. `detail` begins with outcome/reason; the rest of it is for people. */
export function cacheStatus(decision: Decision): string {
  let text = 'windowpane'
  if (decision.outcome === 'hit' || decision.outcome === 'stale') {
    text += `; hit; ttl=${decision.ttlSeconds ?? 0}`
  } else if (decision.outcome !== 'refused') {
    text += `; fwd=${forwardReason(decision)}`
    if (decision.upstreamStatus !== undefined) text += `; fwd-status=${decision.upstreamStatus}`
    if (decision.stored === true) text += '; stored'
    if (decision.collapsed === true) text += '; collapsed'
  }
  return `${text}; detail="${detailOf(decision)}"`
}

function forwardReason({ outcome, reason }: Decision): string {
  if (outcome === 'partial' || outcome === 'bypass') return outcome
  return reason === 'expired' ? 'stale' : reason === 'revalidate' ? 'request' : 'miss'
}

function detailOf(decision: Decision): string {
  let text: string = decision.outcome
  if (decision.reason !== undefined) text += `/${decision.reason}`
  if (decision.asked !== undefined) text += ` asked=${decision.asked}`
  if (decision.buckets !== undefined) text += ` buckets=${decision.buckets}`
  if (decision.missing !== undefined) text += ` missing=${decision.missing}`
  if (decision.rewritten !== undefined && decision.outcome !== 'bypass') text += ` ${decision.rewritten}`
  if (decision.unstored !== undefined) text += ` unstored=${decision.unstored}`
  if (decision.exceptions !== undefined) text += ` exceptions=${decision.exceptions.join(',')}`
  if (decision.detail !== undefined) text += ` (${printable(decision.detail)})`
  return text
}

/** The characters of an RFC 8941 string that need no escape. */
const printable = (text: string): string => text.replace(/[^ !#-[\]-~]/g, '?').slice(0, 200)

export function serverTiming({ timings }: Decision, totalMs: number): string {
  const { plan, lookup, fetch } = timings
  return `plan;dur=${shown(plan)}, lookup;dur=${shown(lookup)}, fetch;dur=${shown(fetch)}, total;dur=${shown(totalMs)}`
}

/** In thousandths. From whole numbers, which are printed in a fraction of the time that others take. */
function shown(ms: number): string {
  const all = Math.round(ms * 1000)
  const whole = Math.floor(all / 1000)
  const rest = all - 1000 * whole
  return rest === 0 ? `${whole}` : `${whole}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`
}
