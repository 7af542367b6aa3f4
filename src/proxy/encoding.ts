/** Content encodings towards the client, chosen as Prometheus chooses them. */
import { promisify } from 'node:util'
import { deflate, gzip } from 'node:zlib'
import type { Encoding } from '../engine/ports.ts'

/** The first of gzip and deflate in the order of the list; no q-values. */
export function negotiate(acceptEncoding: string | undefined): Encoding {
  if (acceptEncoding === undefined) return 'identity'
  for (const part of acceptEncoding.split(',')) {
    const name = part.trim()
    if (name === 'gzip' || name === 'deflate') return name
  }
  return 'identity'
}

const compressors = { gzip: promisify(gzip), deflate: promisify(deflate) }

/** In a thread of the pool; the fastest level, because an answer is compressed far more often than it is put together. */
export function compress(bytes: Uint8Array, encoding: 'gzip' | 'deflate'): Promise<Buffer> {
  return compressors[encoding](bytes, { level: 1 })
}
