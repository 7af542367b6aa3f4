/**
 * Response headers of the database that a stored answer carries too. A closed list: everything else belongs to one
 * response (lengths, encodings, cookies, dates, connection management).
 */
import type { BackendCapabilities, HeaderList } from '../backends/backend.ts'

export const keptHeaderNames: readonly string[] = [
  'content-type',
  'vary',
  'cache-control',
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-expose-headers',
  'x-content-type-options',
]

const kept = new Set(keptHeaderNames)

/** Frozen: the list is stored with the shape, and every hit gets the same one. */
export function keptHeaders(
  headers: HeaderList,
  { keptHeaders: own }: Pick<BackendCapabilities, 'keptHeaders'>,
): HeaderList {
  const list: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (kept.has(name) || own.includes(name)) list.push(headers[i]!, headers[i + 1]!)
  }
  return Object.freeze(list)
}
