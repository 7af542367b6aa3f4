/**
 * URLs that name a store: a scheme, which is the kind, a part that the kind reads, and keys of the store as parameters.
 * `lmdb:/var/lib/windowpane?size=20GiB` is `type: lmdb`, `path: /var/lib/windowpane`, `size: 20GiB`.
 */
import { nearest } from '../core/suggest.ts'
import type { RefusedUrl, UrlKeys } from './kind.ts'
import { kindOfStore, type StoreKindName, storeKindNames } from './kinds.ts'

/** The keys of a store that its URL sets, `type` among them. */
export function keysOfStoreUrl(url: string): ReadonlyMap<string, string> | RefusedUrl {
  const [, scheme, place = '', parameters = ''] = /^([a-z][a-z0-9+.-]*):([^?]*)(?:\?(.*))?$/is.exec(url) ?? []
  if (scheme === undefined) return notAUrl(url)
  const type = kindByScheme(scheme.toLowerCase())
  if (type === undefined) return unknownScheme(scheme.toLowerCase())
  const own = kindOfStore({ type }).readUrl({ scheme: scheme.toLowerCase(), place })
  if (isRefused(own)) return own
  return withParameters(new Map([['type', type], ...Object.entries(own)]), parameters)
}

const kindByScheme = (scheme: string): StoreKindName | undefined =>
  storeKindNames.find((type) => kindOfStore({ type }).schemes.includes(scheme))

const schemes = storeKindNames.flatMap((type) => kindOfStore({ type }).schemes)

/** All forms of URLs, for people. */
export const storeUrlForms = storeKindNames.map((type) => kindOfStore({ type }).urlForm)

const isRefused = (keys: UrlKeys | RefusedUrl): keys is RefusedUrl => Object.hasOwn(keys, 'refused')

function notAUrl(text: string): RefusedUrl {
  const refused = `is not the URL of a store: expected one such as ${storeUrlForms.join(' or ')}`
  return /^\.{0,2}\//.test(text) ? { refused, suggestion: `lmdb:${text}` } : { refused }
}

/** An unknown store is never skipped: the data would silently not be shared or durable. */
function unknownScheme(scheme: string): RefusedUrl {
  const expected = schemes.map((one) => `${one}:`).join(', ')
  const refused = `has the scheme "${scheme}:", which no store of this release has: expected one of ${expected}`
  const meant = nearest(scheme, schemes)
  // Not the whole URL, which may hold a password.
  return meant === undefined ? { refused } : { refused, suggestion: `${meant}:` }
}

function withParameters(keys: Map<string, string>, text: string): Map<string, string> | RefusedUrl {
  for (const [name, value] of new URLSearchParams(text)) {
    if (keys.has(name)) return { refused: `sets "${name}" twice` }
    if (name === 'url') return { refused: 'must not set "url" by a parameter' }
    keys.set(name, value)
  }
  return keys
}
