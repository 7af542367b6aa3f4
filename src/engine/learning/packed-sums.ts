/**
 * Sums of evidence as bytes: only runs that are not zero, because most shapes are seen at a few ages. A run is the index of its
 * first sum and their number (16 bits each), then the sums (32-bit floats); all little-endian.
 */
import { bufferOf } from '../../core/bytes.ts'

const runHeaderBytes = 4
const sumBytes = 4
/** A row that claims to have more sums than this is damaged. */
const maxSums = 8192

export function packSums(sums: Float64Array): Buffer {
  const packed: Buffer[] = []
  for (let from = 0; from < sums.length; from++) {
    if (sums[from] === 0) continue
    let to = from + 1
    while (to < sums.length && sums[to] !== 0) to++
    packed.push(packRun(sums, from, to))
    from = to
  }
  return Buffer.concat(packed)
}

function packRun(sums: Float64Array, from: number, to: number): Buffer {
  const run = Buffer.alloc(runHeaderBytes + sumBytes * (to - from))
  run.writeUInt16LE(from, 0)
  run.writeUInt16LE(to - from, 2)
  for (let i = from; i < to; i++) run.writeFloatLE(sums[i]!, runHeaderBytes + sumBytes * (i - from))
  return run
}

/** Undefined where the bytes are not sums of this length. */
export function unpackSums(value: Uint8Array, length: number): Float64Array | undefined {
  if (!Number.isInteger(length) || length < 0 || length > maxSums) return undefined
  const bytes = bufferOf(value)
  const sums = new Float64Array(length)
  let at = 0
  let next = 0
  while (at < bytes.length) {
    if (at + runHeaderBytes > bytes.length) return undefined
    const from = bytes.readUInt16LE(at)
    const count = bytes.readUInt16LE(at + 2)
    const end = at + runHeaderBytes + sumBytes * count
    if (count === 0 || from < next || from + count > length || end > bytes.length) return undefined
    for (let i = 0; i < count; i++) sums[from + i] = bytes.readFloatLE(at + runHeaderBytes + sumBytes * i)
    at = end
    next = from + count
  }
  return sums.every((sum) => Number.isFinite(sum) && sum >= 0) ? sums : undefined
}
