/** Request Cache-Control (RFC 9111 §5.2.1), as far as it concerns one client's own answer. */
import type { HeaderList } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import { hasEither, headerOf } from '../../core/headers.ts'
import type { Demands } from '../trip.ts'

export interface RequestDemands extends Demands {
  readonly noStore: boolean
}

const nothing: RequestDemands = { notBefore: Number.NEGATIVE_INFINITY, onlyIfCached: false, noStore: false }

/** Reading a megabyte of directives takes a second. No real client sends that much; such a request is forwarded. */
const longestRead = 4096

export function readDemands(headers: HeaderList, now: EpochMs): RequestDemands {
  // Most requests have neither: one pass finds that out.
  if (!hasEither(headers, 'cache-control', 'pragma')) return nothing
  const text = headerOf(headers, 'cache-control')
  if (text === undefined) {
    const isReload = headerOf(headers, 'pragma')?.toLowerCase().includes('no-cache') === true
    return isReload ? { ...nothing, notBefore: now } : nothing
  }
  if (text.length > longestRead) return { ...nothing, noStore: true }
  const directives = new Map(text.split(',').map((part) => readDirective(part)))
  const maxAge = directives.get('max-age')
  return {
    noStore: directives.has('no-store'),
    onlyIfCached: directives.has('only-if-cached'),
    notBefore: directives.has('no-cache')
      ? now
      : maxAge === undefined
        ? nothing.notBefore
        : now - seconds(maxAge),
  }
}

function readDirective(part: string): [string, string] {
  const [name = '', value = ''] = part.split('=')
  return [name.trim().toLowerCase(), value.trim().replace(/^"|"$/g, '')]
}

/** A max-age that cannot be read demands the freshest answer. */
function seconds(text: string): number {
  return /^\d+$/.test(text) ? Number(text) * 1000 : 0
}
