/** Sends an answer that is cached as a whole: with an entity tag, so that a client that has it already gets a 304. */
import type { HeaderList, Recomposed } from '../../backends/backend.ts'
import { headerOf } from '../../core/headers.ts'
import type { Answer } from '../../engine/trip.ts'

export type ObjectReply = Extract<Answer, { kind: 'object' }>

/** Weak, because the answer may be sent in several encodings: they have equal content, not equal bytes. */
export function objectHeaders({ headers, etag }: ObjectReply): HeaderList {
  const vary = headerOf(headers, 'vary')
  const tagged = [...headers, 'ETag', `W/${opaque(etag)}`]
  return vary !== undefined && /(?:^|,)\s*(?:\*|accept-encoding)\s*(?:,|$)/i.test(vary)
    ? tagged
    : [...tagged, 'Vary', 'Accept-Encoding']
}

const opaque = (etag: string): string => etag.replace(/^W\//, '')

/** A body that is sent from where it lies. */
export const bodyOf = (bytes: Uint8Array): Recomposed => ({
  length: bytes.length,
  write: (target) => target.set(bytes),
  views: () => [bytes],
})
