/** Conditional requests (RFC 9110 §13.1.2, §15.4.5) on objects: pure functions of headers. */
import type { HeaderList } from '../../backends/backend.ts'
import { headerOf } from '../../core/headers.ts'

/** The headers of a 304: headers that affect the use of the client's copy, and none that describe the body. */
const notModifiedNames: ReadonlySet<string> = new Set([
  'cache-control',
  'content-location',
  'date',
  'etag',
  'expires',
  'vary',
])

/** Entity tags and the commas between them; a list that is anything else names nothing. */
const tag = /[ \t]*(?:(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y

/** Whether the client of a GET or HEAD has this body already. Weak comparison: `W/` is ignored. */
export function isNotModified(request: HeaderList, etag: string): boolean {
  const given = headerOf(request, 'if-none-match')?.trim()
  if (given === undefined || given === '') return false
  return given === '*' || tagsIn(given).includes(opaque(etag))
}

const opaque = (etag: string): string => (etag.startsWith('W/') ? etag.slice(2) : etag)

function tagsIn(text: string): readonly string[] {
  const tags: string[] = []
  tag.lastIndex = 0
  while (tag.lastIndex < text.length) {
    const match = tag.exec(text)
    if (match === null) return []
    if (match[1] !== undefined) tags.push(match[1])
  }
  return tags
}

export const notModifiedHeaders = (headers: HeaderList): string[] =>
  headers.filter((_, i) => notModifiedNames.has(headers[i - (i % 2)]!.toLowerCase()))
