/** The parts of an HTTP exchange with Druid besides the bodies that decide whether the answer can be cached. */
import { isUtf8 } from 'node:buffer'
import { bufferOf } from '../../core/bytes.ts'
import { headerOf } from '../../core/headers.ts'
import { fingerprintOf, maskForm } from '../../core/secrets.ts'
import { percentDecoded } from '../../core/url.ts'
import type { HeaderList, ResponseEnds, WireRequest } from '../backend.ts'
import { type Bypass, malformed, notDecomposable, unparseable } from './reasons.ts'

const jsonType = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i
const smileType = /(?:^|,)[ \t]*application\/(?:x-jackson-)?smile\b/i
const acceptsJson = /^(?:application\/json|application\/\*|\*\/\*)[ \t]*(?:;|$)/i
const weightZero = /;[ \t]*q=0(?:\.0*)?[ \t]*(?:;|$)/i

/** Why a request is not one with a JSON body and a JSON answer. */
export function refuseWire({ headers, search }: WireRequest): Bypass | undefined {
  return refuseContent(headers) ?? refuseAccept(headers) ?? refuseSearch(search)
}

function refuseContent(headers: HeaderList): Bypass | undefined {
  if (headerOf(headers, 'content-encoding') !== undefined) return malformed('an encoded request body')
  if (headerOf(headers, 'if-none-match') !== undefined) {
    return notDecomposable('If-None-Match: an entity tag is that of one whole answer')
  }
  const type = headerOf(headers, 'content-type')
  // Without a type Druid takes the body for JSON.
  if (type === undefined || jsonType.test(type)) return undefined
  if (smileType.test(type)) return { bypass: 'other_encoding', detail: 'a Smile request' }
  return malformed('a content type that is not JSON in UTF-8')
}

/** A list that prefers Smile still gets JSON; but that is not to be relied on. */
function refuseAccept(headers: HeaderList): Bypass | undefined {
  const accepted = headerOf(headers, 'accept')
  if (accepted === undefined) return undefined
  if (smileType.test(accepted)) return { bypass: 'other_encoding', detail: 'Accept: Smile' }
  const isJsonAccepted = (type: string): boolean => acceptsJson.test(type) && !weightZero.test(type)
  if (accepted.split(',').some((type) => isJsonAccepted(type.trim()))) return undefined
  return { bypass: 'other_encoding', detail: 'Accept: no JSON' }
}

function refuseSearch(search: string): Bypass | undefined {
  if (search === '') return undefined
  for (const pair of search.split('&')) {
    const name = percentDecoded(pair.split('=', 1)[0]!.replaceAll('+', ' '))
    if (name === undefined) return malformed('a query string with bad escapes')
    if (name === 'pretty') return { bypass: 'other_encoding', detail: 'pretty' }
  }
  return undefined
}

/**
 * Druid has no parameters in the query string that matter here; requests with some do not share with others. Shapes are
 * shown and stored: of an access token only a fingerprint is part of them.
 */
export const shapeWith = (shape: string, { search }: Pick<WireRequest, 'search'>): string =>
  search === '' ? shape : JSON.stringify([shape, maskForm(search, fingerprintOf)])

/** Druid sends status 200 before it has the rows. */
export const isReportedIncomplete = ({ trailers }: ResponseEnds): boolean =>
  (headerOf(trailers, 'x-druid-response-complete') ?? 'true') !== 'true'

/** Any content (missing segments, intervals without any) means that the answer is incomplete. */
export const hasContext = ({ headers }: ResponseEnds): boolean =>
  (headerOf(headers, 'x-druid-response-context') ?? '{}').trim() !== '{}'

/** No dashboard has longer queries. */
const maxBodyBytes = 1 << 20

export function bodyTextOf({ body }: Pick<WireRequest, 'body'>): string | Bypass {
  if (body.length > maxBodyBytes) return unparseable('the query is too long')
  if (!isUtf8(body)) return malformed('a body that is not UTF-8')
  return bufferOf(body).toString('utf8')
}
