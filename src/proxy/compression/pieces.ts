/**
 * Pieces of compressed answers, from which the answer for a new window is assembled. They are made of bodies that were
 * requested in gzip, in another thread; they are in the one memory budget and are evicted first.
 */
import type { Recomposed } from '../../backends/backend.ts'
import { type Budget, Reservation } from '../../core/budget.ts'
import { countOf, type Interval } from '../../core/interval.ts'
import type { Pane, PaneBody } from '../../core/pane.ts'
import { type Block, blockBuckets, blocksInside, gather, rawBytes } from './pieces-block.ts'
import type { PieceMaker } from './pieces-maker.ts'
import { splice } from './pieces-splice.ts'

/** Shorter answers are compressed whole in no time, and of shorter windows too much is edges. */
const smallestAnswer = 32 * 1024
const smallestWindow = 4 * blockBuckets
/** Where a column has fewer bytes in a block, as in answers of many series and few points, pieces save nothing. */
const smallestPlace = 256
const largestJob = 4 * 1024 * 1024
/** With fewer of the buckets in pieces, putting the answer together is not even tried. */
const leastCovered = 3 / 4
/** Uses of each other body before one is pushed out for new pieces: more than fit would chase each other forever. */
const patience = 4
const overhead = 512

interface PiecedBody {
  readonly first: number
  readonly blocks: (Block | undefined)[]
  /** The number of blocks, and their memory including this. */
  kept: number
  bytes: number
  isBeingMade: boolean
  usedAt: number
}

export class Pieces {
  readonly #budget: Budget
  readonly #reservation: Reservation
  readonly #maker: PieceMaker
  /** By id, in order of use: the first is the one used longest ago. */
  readonly #bodies = new Map<number, PiecedBody>()
  /** Bodies that are garbage-collected are not requested again. */
  readonly #gone = new FinalizationRegistry<number>((id) => this.#forget(id))
  #uses = 0

  constructor(budget: Budget, maker: PieceMaker) {
    this.#budget = budget
    this.#reservation = new Reservation(budget)
    this.#maker = maker
    budget.onPressure(
      (bytes) => this.#drop(bytes, 0),
      () => this.held,
    )
  }

  /** The reserved part of the budget, jobs in progress not counted. */
  get held(): number {
    return this.#reservation.bytes
  }

  /** Whether an answer made of these panes may be worth putting together. */
  isWorthwhile(panes: readonly Pane[], answer: Recomposed): boolean {
    if (!isLarge(panes, answer)) return false
    let covered = 0
    for (const pane of panes) {
      const made = this.#find(pane.body)
      if (made === undefined) continue
      const { from, to } = blocksInside(pane)
      for (let number = from; number < to; number++)
        if (made.blocks[number - made.first] !== undefined) covered += blockBuckets
    }
    return covered >= leastCovered * countOf(panes)
  }

  /** Writes an answer in gzip and returns where it ends in `target`, or 0 where it is better compressed whole. */
  write(answer: Recomposed, target: Uint8Array): number {
    return splice(answer, (body) => this.#bodies.get(body.id), target)
  }

  /** Starts the pieces from which an answer like this one, a little earlier or later, can be assembled. */
  want(panes: readonly Pane[], answer: Recomposed): void {
    if (!isLarge(panes, answer)) return
    for (const pane of panes) {
      if (!isWorthIt(pane.body)) continue
      const missing = missingOf(pane, this.#find(pane.body))
      if (missing !== undefined) this.#order(pane.body, missing)
    }
  }

  close(): void {
    this.#maker.close()
    for (const id of [...this.#bodies.keys()]) this.#forget(id)
  }

  #find(body: PaneBody): PiecedBody | undefined {
    const made = this.#bodies.get(body.id) ?? this.#inherit(body)
    if (made === undefined) return undefined
    made.usedAt = ++this.#uses
    this.#bodies.delete(body.id)
    this.#bodies.set(body.id, made)
    return made
  }

  /** A joined body inherits the pieces of its source bodies: they are seldom requested again. */
  #inherit(body: PaneBody): PiecedBody | undefined {
    const origins = body.origins.filter(({ id }) => this.#bodies.has(id))
    const heir = origins.length > 0 ? this.#enter(body) : undefined
    if (heir === undefined) return undefined
    for (const origin of origins) {
      const made = this.#bodies.get(origin.id)!
      const { from, to } = blocksInside(origin)
      for (let number = from; number < to; number++) move(number, made, heir)
      this.#forgetEmpty(origin.id)
    }
    this.#forgetEmpty(body.id)
    return this.#bodies.get(body.id)
  }

  #order(body: PaneBody, blocks: Interval): void {
    const { id } = body
    const bytes = rawBytes(body, blocks)
    // Pieces are at most half as long as their source, or not worth it.
    const { used, limit } = this.#budget
    if (bytes === 0 || used + 1.5 * bytes > limit || !this.#makeRoom(bytes / 2)) return
    if (!this.#budget.reserve(bytes)) return
    const made = this.#bodies.get(id) ?? this.#enter(body)
    if (made === undefined) {
      this.#budget.release(bytes)
      return
    }
    made.isBeingMade = this.#maker.make(gather(body, blocks), (result) => {
      this.#budget.release(bytes)
      made.isBeingMade = false
      for (const [i, block] of result?.entries() ?? []) this.#keep(id, blocks.from + i, block)
      this.#forgetEmpty(id)
    })
    if (!made.isBeingMade) this.#budget.release(bytes)
    this.#forgetEmpty(id)
  }

  #enter(body: PaneBody): PiecedBody | undefined {
    const { from, to } = wholeBlocks(body)
    const blocks = new Array<Block | undefined>(Math.max(0, to - from)).fill(undefined)
    const bytes = overhead + 8 * blocks.length
    if (!this.#reserve(bytes)) return undefined
    const made = { first: from, blocks, kept: 0, bytes, isBeingMade: false, usedAt: ++this.#uses }
    this.#bodies.set(body.id, made)
    this.#gone.register(body, body.id)
    return made
  }

  #keep(id: number, number: number, block: Block): void {
    const size = sizeOf(block)
    const isRoom = this.#makeRoom(size)
    const made = this.#bodies.get(id)
    if (!isRoom || made === undefined || made.blocks[number - made.first] !== undefined) return
    if (!this.#reserve(size)) return
    made.blocks[number - made.first] = block
    made.kept++
    made.bytes += size
  }

  /** Never at the cost of panes: pieces can be made again from them, not the other way round. */
  #reserve(bytes: number): boolean {
    return this.#budget.used + bytes <= this.#budget.limit && this.#reservation.grow(bytes)
  }

  #makeRoom(bytes: number): boolean {
    const most = this.#budget.derivedBytes
    this.#drop(this.held + bytes - most, patience * this.#bodies.size)
    return this.held + bytes <= most
  }

  /** Drops bodies until so many bytes are free; none that was among the last so many uses. */
  #drop(bytes: number, unused: number): void {
    let left = bytes
    for (const [id, made] of this.#bodies) {
      if (left <= 0 || made.usedAt > this.#uses - unused) return
      left -= made.bytes
      this.#forget(id)
    }
  }

  #forgetEmpty(id: number): void {
    const made = this.#bodies.get(id)
    if (made !== undefined && made.kept === 0 && !made.isBeingMade) this.#forget(id)
  }

  #forget(id: number): void {
    const made = this.#bodies.get(id)
    if (made === undefined) return
    this.#bodies.delete(id)
    this.#reservation.grow(-made.bytes)
  }
}

const isLarge = (panes: readonly Pane[], { length, walk }: Recomposed): boolean =>
  walk !== undefined && length >= smallestAnswer && countOf(panes) >= smallestWindow

const wholeBlocks = ({ from, buckets }: PaneBody): Interval => blocksInside({ from, to: from + buckets })

const bytesPerBlock = ({ bytes, slabAt, buckets }: PaneBody): number =>
  ((bytes.length - slabAt) / Math.max(1, buckets)) * blockBuckets

const isWorthIt = (body: PaneBody): boolean =>
  bytesPerBlock(body) >= smallestPlace * body.columns && bytesPerBlock(body) <= largestJob

/** The first blocks in a row that touch a pane, lie in its body whole and are not made. */
function missingOf(pane: Pane, made: PiecedBody | undefined): Interval | undefined {
  if (made?.isBeingMade) return undefined
  const isMade = (number: number) => made?.blocks[number - made.first] !== undefined
  const whole = wholeBlocks(pane.body)
  const end = Math.min(whole.to, Math.ceil(pane.to / blockBuckets))
  let from = Math.max(whole.from, Math.floor(pane.from / blockBuckets))
  while (from < end && isMade(from)) from++
  const most = from + Math.floor(largestJob / bytesPerBlock(pane.body))
  let to = from
  while (to < Math.min(end, most) && !isMade(to)) to++
  return from < to ? { from, to } : undefined
}

function move(number: number, giver: PiecedBody, taker: PiecedBody): void {
  const block = giver.blocks[number - giver.first]
  if (block === undefined) return
  giver.blocks[number - giver.first] = undefined
  taker.blocks[number - taker.first] = block
  giver.kept--
  taker.kept++
  giver.bytes -= sizeOf(block)
  taker.bytes += sizeOf(block)
}

const sizeOf = ({ bytes, table }: Block): number => bytes.length + table.byteLength + overhead
