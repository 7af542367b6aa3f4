/** Content encodings towards the client: as Prometheus chooses them, and zstd where the client reads it. */
import { promisify } from 'node:util'
import { constants, deflate, gzip, zstdCompress } from 'node:zlib'
import { Memo } from '../../core/memo.ts'
import type { Encoding } from '../../engine/ports.ts'

/** The encodings of answers that are put together here. */
export type Packing = Encoding | 'zstd'

/** The first of gzip and deflate in the order of the list; no q-values. */
export const negotiate = (acceptEncoding: string | undefined): Encoding =>
  acceptEncoding === undefined ? 'identity' : choices.get(acceptEncoding).encoding

/**
 * zstd is a third of the work of gzip and smaller: clients that accept it get it, whatever the database would have
 * chosen.
 */
export const packingOf = (acceptEncoding: string | undefined): Packing =>
  acceptEncoding === undefined ? 'identity' : choices.get(acceptEncoding).packing

/** Clients send the same few lists again and again. */
const choices = new Memo({ maxTexts: 200, maxCharacters: 16 << 10 }, (acceptEncoding) => {
  const encoding = firstKnown(acceptEncoding)
  const isZstdRead = /(?:^|,)[ \t]*zstd[ \t]*(?:,|$)/.test(acceptEncoding)
  return { encoding, packing: isZstdRead ? 'zstd' : encoding } as const
})

function firstKnown(acceptEncoding: string): Encoding {
  for (const part of acceptEncoding.split(',')) {
    const name = part.trim()
    if (name === 'gzip' || name === 'deflate') return name
  }
  return 'identity'
}

const zstdLevel = { [constants.ZSTD_c_compressionLevel]: 1 }
/** Node makes room for 128 KiB of output at once, however short the input is: for small panels that is 60 times too much garbage. */
const maxChunkBytes = 128 * 1024
const zstdOptions = (bytes: number) => ({
  params: zstdLevel,
  chunkSize: Math.min(maxChunkBytes, bytes + 512),
})
const fastest = { level: 1 }
const [gzipAsync, deflateAsync, zstdAsync] = [promisify(gzip), promisify(deflate), promisify(zstdCompress)]

/** In a thread of the pool; the fastest level: a smaller result is not worth several times the wait. */
export function compress(bytes: Uint8Array, packing: Exclude<Packing, 'identity'>): Promise<Buffer> {
  if (packing === 'gzip') return gzipAsync(bytes, fastest)
  return packing === 'deflate' ? deflateAsync(bytes, fastest) : zstdAsync(bytes, zstdOptions(bytes.length))
}
