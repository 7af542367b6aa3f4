/**
 * A block: a fixed number of buckets, counted from bucket 0, of all columns and lanes of a body. Each column and lane
 * of a block is compressed for itself, as one piece: raw deflate that refers to nothing before it and ends on a whole
 * byte, so that pieces can stand behind each other in any order.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib'
import type { Interval } from '../../core/interval.ts'
import type { PaneBody } from '../../core/pane.ts'
import { shiftOf } from './crc32.ts'

/** Longer blocks compress better; shorter ones leave less of a window's edges uncompressed. */
export const blockBuckets = 32

/** The pieces of one block. A place is a column in a lane: `lane * columns + column`. */
export interface Block {
  readonly bytes: Uint8Array
  /** Per place: end of the piece in `bytes`, checksum of its unpacked bytes, and the shift for its length. */
  readonly table: Int32Array
}

export const wordsPerPlace = 3

/** Compressed, this would hardly be shorter. */
const smallestPiece = 64

/** The input of the block maker, in memory of its own. */
export interface PieceJob {
  readonly blocks: number
  /** Place after place the bytes of all its buckets. */
  readonly raw: Uint8Array<ArrayBuffer>
  /** Per place and block: how many of them are the block's. */
  readonly sizes: Uint32Array<ArrayBuffer>
}

/** The numbers of the blocks that lie in an interval whole. */
export const blocksInside = ({ from, to }: Interval): Interval => ({
  from: Math.ceil(from / blockBuckets),
  to: Math.floor(to / blockBuckets),
})

export function gather(body: PaneBody, blocks: Interval): PieceJob {
  const count = blocks.to - blocks.from
  const places = placesOf(body)
  const sizes = new Uint32Array(places * count)
  const raw = new Uint8Array(rawBytes(body, blocks))
  let filled = 0
  for (let place = 0; place < places; place++) {
    const [column, lane] = [place % body.columns, Math.floor(place / body.columns)]
    const begin = body.offsetOf(column, lane, blocks.from * blockBuckets)
    let start = begin
    for (let i = 0; i < count; i++) {
      const end = body.offsetOf(column, lane, (blocks.from + i + 1) * blockBuckets)
      sizes[place * count + i] = end - start
      start = end
    }
    filled += body.bytes.copy(raw, filled, body.slabAt + begin, body.slabAt + start)
  }
  return { blocks: count, raw, sizes }
}

export function rawBytes(body: PaneBody, blocks: Interval): number {
  const [from, to] = [blocks.from * blockBuckets, blocks.to * blockBuckets]
  let total = 0
  for (let lane = 0; lane < body.lanes; lane++) {
    if (!body.usesLane(lane)) continue
    for (let column = 0; column < body.columns; column++)
      total += body.offsetOf(column, lane, to) - body.offsetOf(column, lane, from)
  }
  return total
}

/** Unused lanes at the end have no places. */
function placesOf(body: PaneBody): number {
  let lanes = body.lanes
  while (lanes > 0 && !body.usesLane(lanes - 1)) lanes--
  return lanes * body.columns
}

/** Makes the blocks of a job: far too long for the thread that answers requests. */
export function makeBlocks({ blocks, raw, sizes }: PieceJob): Block[] {
  const makers = Array.from({ length: blocks }, () => new BlockMaker(sizes.length / blocks))
  let start = 0
  for (let i = 0; i < sizes.length; i++) {
    const end = start + sizes[i]!
    makers[i % blocks]!.add(raw.subarray(start, end))
    start = end
  }
  return makers.map((maker) => maker.finish())
}

class BlockMaker {
  readonly #pieces: Buffer[] = []
  readonly #table: Int32Array
  #at = 0
  #length = 0

  constructor(places: number) {
    this.#table = new Int32Array(places * wordsPerPlace)
  }

  add(raw: Uint8Array): void {
    const piece = raw.length < smallestPiece ? undefined : deflated(raw)
    if (piece !== undefined && piece.length < raw.length) {
      this.#pieces.push(piece)
      this.#length += piece.length
      this.#table[this.#at + 1] = crc32(raw)
      this.#table[this.#at + 2] = shiftOf(raw.length)
    }
    this.#table[this.#at] = this.#length
    this.#at += wordsPerPlace
  }

  finish(): Block {
    const bytes = new Uint8Array(this.#length)
    let at = 0
    for (const piece of this.#pieces) {
      bytes.set(piece, at)
      at += piece.length
    }
    return { bytes, table: this.#table }
  }
}

/** Small tables for small pieces: zeroing them is most of the work. */
function deflated(raw: Uint8Array): Buffer {
  const windowBits = Math.min(15, Math.max(10, Math.ceil(Math.log2(raw.length + lookahead))))
  return deflateRawSync(raw, {
    level: 6,
    windowBits,
    memLevel: windowBits - 7,
    finishFlush: constants.Z_FULL_FLUSH,
    // A piece keeps the buffer that it was written to: the usual 16 KiB, thousands of times, were 36 MB for a large panel.
    chunkSize: Math.max(64, raw.length),
  })
}

/** zlib looks back over less than its window, by this much. */
const lookahead = 262
