/** Content encodings towards the client: as Prometheus chooses them, and zstd where the client reads it. */
import { promisify } from 'node:util'
import { constants, deflate, gzip, zstdCompress } from 'node:zlib'
import type { Encoding } from '../../engine/ports.ts'

/** The encodings of answers that are put together here. */
export type Packing = Encoding | 'zstd'

/** The first of gzip and deflate in the order of the list; no q-values. */
export function negotiate(acceptEncoding: string | undefined): Encoding {
  if (acceptEncoding === undefined) return 'identity'
  for (const part of acceptEncoding.split(',')) {
    const name = part.trim()
    if (name === 'gzip' || name === 'deflate') return name
  }
  return 'identity'
}

/** zstd is a third of the work of gzip and smaller: who names it gets it, whatever the database would have chosen. */
export function packingOf(acceptEncoding: string | undefined): Packing {
  if (acceptEncoding === undefined) return 'identity'
  const isRead = /(?:^|,)[ \t]*zstd[ \t]*(?:,|$)/.test(acceptEncoding)
  return isRead ? 'zstd' : negotiate(acceptEncoding)
}

const zstdLevel = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const fastest = { level: 1 }
const [gzipAsync, deflateAsync] = [promisify(gzip), promisify(deflate)]

/** In a thread of the pool; the fastest level: what is smaller is not worth several times the wait. */
export function compress(bytes: Uint8Array, packing: Exclude<Packing, 'identity'>): Promise<Buffer> {
  if (packing === 'gzip') return gzipAsync(bytes, fastest)
  return packing === 'deflate' ? deflateAsync(bytes, fastest) : zstdAsync(bytes)
}

function zstdAsync(bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    zstdCompress(bytes, zstdLevel, (error, packed) => (error === null ? resolve(packed) : reject(error)))
  })
}
