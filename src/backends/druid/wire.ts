/** What of an HTTP request to Druid decides, besides its body, whether the answer can be cached. */
import { isUtf8 } from 'node:buffer'
import type { Bypass, HeaderList, WireRequest } from '../backend.ts'

const jsonType = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i
const smileType = /^application\/(?:x-jackson-)?smile\b/i
const acceptsJson = /^(?:application\/json|application\/\*|\*\/\*)[ \t]*(?:;|$)/i
const weightZero = /;[ \t]*q=0(?:\.0*)?[ \t]*(?:;|$)/i

const malformed = (detail: string): Bypass => ({ bypass: 'malformed_request', detail })

/** Why a request with a JSON body and a JSON answer is not what this is. */
export function refuseWire({ headers, search }: WireRequest): Bypass | undefined {
  return refuseContent(headers) ?? refuseAccept(headers) ?? refuseSearch(search)
}

function refuseContent(headers: HeaderList): Bypass | undefined {
  if (valuesOf(headers, 'content-encoding').length > 0) return malformed('an encoded request body')
  if (valuesOf(headers, 'if-none-match').length > 0) {
    return { bypass: 'not_decomposable', detail: 'If-None-Match: an entity tag is that of one whole answer' }
  }
  const types = valuesOf(headers, 'content-type')
  if (types.some((type) => smileType.test(type)))
    return { bypass: 'other_encoding', detail: 'a Smile request' }
  // Without a type Druid takes the body for JSON.
  if (types.length === 0 || (types.length === 1 && jsonType.test(types[0]!))) return undefined
  return malformed('a content type that is not JSON in UTF-8')
}

/** A list that prefers Smile still gets JSON; but that is not to be relied on. */
function refuseAccept(headers: HeaderList): Bypass | undefined {
  const accepted = valuesOf(headers, 'accept').flatMap((value) => value.split(',').map((type) => type.trim()))
  if (accepted.some((type) => smileType.test(type)))
    return { bypass: 'other_encoding', detail: 'Accept: Smile' }
  const takesJson = (type: string): boolean => acceptsJson.test(type) && !weightZero.test(type)
  if (accepted.length === 0 || accepted.some(takesJson)) return undefined
  return { bypass: 'other_encoding', detail: 'Accept: no JSON' }
}

function refuseSearch(search: string): Bypass | undefined {
  if (search === '') return undefined
  for (const pair of search.split('&')) {
    const name = decoded(pair.split('=', 1)[0]!)
    if (name === undefined) return malformed('a query string with bad escapes')
    if (name === 'pretty') return { bypass: 'other_encoding', detail: 'pretty' }
  }
  return undefined
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function valuesOf(headers: HeaderList, name: string): string[] {
  const values: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === name) values.push(headers[i + 1]!)
  }
  return values
}

export function bodyTextOf({ body }: WireRequest): string | Bypass {
  if (!isUtf8(body)) return malformed('a body that is not UTF-8')
  const bytes = body instanceof Buffer ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return bytes.toString('utf8')
}
