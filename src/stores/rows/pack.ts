/**
 * A value as it goes over the network: a byte that names the encoding, the length before compression, the bytes, and the
 * seal of seal.ts over the place where the value belongs.
 */
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import { bodyMemory, isAdoptable } from '../../core/pane.ts'
import { checked, seal } from './seal.ts'

const encodings = { plain: 0, zstd: 1 } as const
const headBytes = 5
/** Shorter values gain nothing. */
const minCompressed = 128
/** Longer ones are left to another thread: the event loop must not wait for them. */
const maxAtOnce = 64 * 1024
/** No engine holds longer values; a length above it is damage. */
const maxBytes = 64 * 1024 * 1024

/** The fastest level: pane bytes are repetitive, and higher levels gain little for several times the processor time. */
const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const compress = promisify<Uint8Array, typeof options, Buffer>(zstdCompress)
const decompress = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(zstdDecompress)

/** `place` names the row: a value that is found elsewhere counts as damaged. */
export async function pack(place: Buffer, bytes: Uint8Array): Promise<Buffer> {
  const shorter = await compressed(bytes)
  const encoded = shorter ?? bytes
  const payload = Buffer.allocUnsafe(headBytes + encoded.byteLength)
  payload.writeUInt8(shorter === undefined ? encodings.plain : encodings.zstd)
  payload.writeUInt32LE(bytes.byteLength, 1)
  payload.set(encoded, headBytes)
  return seal(place, payload)
}

/** Undefined where that makes the bytes no shorter. */
async function compressed(bytes: Uint8Array): Promise<Buffer | undefined> {
  if (bytes.byteLength < minCompressed) return undefined
  const packed =
    bytes.byteLength <= maxAtOnce ? zstdCompressSync(bytes, options) : await compress(bytes, options)
  return packed.length < bytes.byteLength ? packed : undefined
}

/** Undefined where the value is damaged, belongs elsewhere, or has an encoding that this release does not know. */
export async function unpack(place: Buffer, value: Buffer): Promise<Buffer | undefined> {
  const payload = checked(place, value)
  if (payload === undefined || payload.length < headBytes) return undefined
  const length = payload.readUInt32LE(1)
  const encoded = payload.subarray(headBytes)
  if (length > maxBytes) return undefined
  if (payload[0] === encodings.plain) return encoded.length === length ? owned(encoded) : undefined
  if (payload[0] !== encodings.zstd) return undefined
  const limit = { maxOutputLength: Math.max(1, length) }
  try {
    const bytes = length <= maxAtOnce ? zstdDecompressSync(encoded, limit) : await decompress(encoded, limit)
    return bytes.length === length ? owned(bytes) : undefined
  } catch {
    return undefined
  }
}

/** Bytes that can become the body of a pane. */
function owned(bytes: Buffer): Buffer {
  if (isAdoptable(bytes)) return bytes
  const own = bodyMemory(bytes.length)
  own.set(bytes)
  return own
}
