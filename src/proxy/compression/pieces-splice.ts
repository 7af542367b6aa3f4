/**
 * Assembles a gzip answer from pieces. Bytes that no piece covers are inserted uncompressed, in deflate's own form for
 * stored bytes. Knows nothing of the meaning of the bytes.
 */
import { crc32 } from 'node:zlib'
import type { AnswerListener, Recomposed, Run } from '../../backends/backend.ts'
import type { PaneBody } from '../../core/pane.ts'
import { joinChecksums } from './crc32.ts'
import { type Block, blockBuckets, wordsPerPlace } from './pieces-block.ts'

/** The blocks made of a body: from block number `first` on, as far as they are made. */
export interface BodyBlocks {
  readonly first: number
  readonly blocks: readonly (Block | undefined)[]
}

export type BlocksOf = (body: PaneBody) => BodyBlocks | undefined

/** With more than this part of the answer stored as it is, compressing all of it is the better deal. */
const mostStored = 1 / 4

/** Deflate, no name, no time; the system it comes from is not known. */
const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
/** The last block, with nothing in it; checksum and length follow. */
const lastBlock = Buffer.from([3, 0])
const trailerBytes = lastBlock.length + 8
const storedHeader = 5
const longestStored = 65_535

/** An answer that needs more room than this is not worth it. */
export const spliceRoom = (length: number): number => Math.ceil(0.6 * length) + 1024

/** Writes an answer into `target` and returns where it ends, or 0 where too little of it is there in pieces. */
export function splice(answer: Recomposed, blocksOf: BlocksOf, target: Uint8Array): number {
  const splicer = new Splicer(blocksOf, target, mostStored * answer.length)
  answer.walk?.(splicer)
  return splicer.finish(answer.length)
}

class Splicer implements AnswerListener {
  readonly #blocksOf: BlocksOf
  readonly #target: Uint8Array
  #at = head.length
  #checksum = 0
  /** Bytes of the answer so far, and bytes that may still be stored uncompressed. */
  #length = 0
  #storable: number
  /** Where the bytes of the open stored block begin, or 0 where none is open. */
  #stored = 0
  #body: PaneBody | undefined
  #blocks: BodyBlocks | undefined
  #isGivenUp = false

  constructor(blocksOf: BlocksOf, target: Uint8Array, storable: number) {
    this.#blocksOf = blocksOf
    this.#target = target
    this.#storable = storable
    target.set(head)
  }

  literal(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start
    this.#storable -= length
    const headers = storedHeader * (1 + Math.ceil(length / longestStored))
    if (this.#storable < 0 || !this.#hasRoom(length + headers)) this.#isGivenUp = true
    if (this.#isGivenUp) return
    this.#length += length
    for (let from = start; from < end; ) {
      if (this.#stored === 0) this.#stored = this.#at += storedHeader
      const to = Math.min(end, from + longestStored - (this.#at - this.#stored))
      this.#target.set(bytes.subarray(from, to), this.#at)
      this.#at += to - from
      from = to
      if (this.#at - this.#stored === longestStored) this.#closeStored()
    }
  }

  run({ body, column, lane, from, to, end }: Run): void {
    if (this.#isGivenUp) return
    if (body !== this.#body) {
      this.#body = body
      this.#blocks = this.#blocksOf(body)
    }
    let done = body.offsetOf(column, lane, from)
    if (this.#blocks !== undefined) {
      const { first, blocks } = this.#blocks
      const place = lane * body.columns + column
      const last = Math.floor(to / blockBuckets)
      for (let number = Math.ceil(from / blockBuckets); number < last; number++) {
        const block = blocks[number - first]
        if (block === undefined) continue
        const start = body.offsetOf(column, lane, number * blockBuckets)
        const stop = body.offsetOf(column, lane, (number + 1) * blockBuckets)
        // A piece ends with the separator: where that gives way to something else it is of no use.
        if (stop > end || !has(block, place)) continue
        if (start > done) this.literal(body.bytes, body.slabAt + done, body.slabAt + start)
        this.#piece(block, place)
        this.#length += stop - start
        done = stop
      }
    }
    if (end > done) this.literal(body.bytes, body.slabAt + done, body.slabAt + end)
  }

  /** Returns where the answer ends in the target, or 0 where it was given up. */
  finish(length: number): number {
    if (this.#isGivenUp || !this.#hasRoom(trailerBytes) || this.#length !== length) return 0
    this.#closeStored()
    this.#target.set(lastBlock, this.#at)
    this.#number(this.#at + lastBlock.length, this.#checksum)
    this.#number(this.#at + lastBlock.length + 4, length)
    return this.#at + trailerBytes
  }

  #piece({ bytes, table }: Block, place: number): void {
    const at = place * wordsPerPlace
    const start = place === 0 ? 0 : table[at - wordsPerPlace]!
    const end = table[at]!
    if (!this.#hasRoom(end - start)) this.#isGivenUp = true
    if (this.#isGivenUp) return
    this.#closeStored()
    this.#target.set(bytes.subarray(start, end), this.#at)
    this.#at += end - start
    this.#checksum = joinChecksums(this.#checksum, table[at + 1]!, table[at + 2]!)
  }

  /** Fills in the header of the stored block, now that its length is known. */
  #closeStored(): void {
    if (this.#stored === 0) return
    const length = this.#at - this.#stored
    const header = this.#stored - storedHeader
    this.#target[header] = 0
    this.#target[header + 1] = length
    this.#target[header + 2] = length >>> 8
    this.#target[header + 3] = ~length
    this.#target[header + 4] = ~length >>> 8
    this.#checksum = crc32(this.#target.subarray(this.#stored, this.#at), this.#checksum)
    this.#stored = 0
  }

  #hasRoom(bytes: number): boolean {
    return this.#at + bytes <= this.#target.length
  }

  #number(at: number, value: number): void {
    for (let i = 0; i < 4; i++) this.#target[at + i] = value >>> (8 * i)
  }
}

function has({ table }: Block, place: number): boolean {
  const end = table[place * wordsPerPlace]
  return end !== undefined && end > (place === 0 ? 0 : table[(place - 1) * wordsPerPlace]!)
}
