/**
 * Decompression of panes, inside the memory budget: short panes at once, until this turn's share of time is used; all
 * others off this thread, few at a time, and once for all concurrent readers.
 */
import type { Budget } from '../../core/budget.ts'
import type { Clock } from '../../core/clock.ts'
import type { Pane } from '../../core/pane.ts'
import type { MaybePromise } from '../store.ts'
import { type ColdPanes, type Packer, thaw, thawNow } from './cold.ts'

export type Thawed = readonly Pane[] | 'no room' | 'broken'

export interface ThawingOptions {
  readonly clock: Clock
  readonly budget: Budget
  readonly packer: Packer
}

/** The most time for decompression on this thread: a millisecond or two of every four. */
const turnMs = 4
const bytesPerTurn = 1024 * 1024
/** Others need the threads of the runtime, too; and a waiter here holds no memory yet. */
const mostUnderWay = 2
/** The output of the decompressor, and the body. */
const copies = 2

export class Thawing {
  readonly #options: ThawingOptions
  readonly #underWay = new Map<ColdPanes, Promise<Thawed>>()
  readonly #waiting: (() => void)[] = []
  #running = 0
  #turnBegan = Number.NEGATIVE_INFINITY
  #doneInTurn = 0

  constructor(options: ThawingOptions) {
    this.#options = options
  }

  panesOf(cold: ColdPanes): MaybePromise<Thawed> {
    const underWay = this.#underWay.get(cold)
    if (underWay !== undefined) return underWay
    if (this.#isShortEnough(cold)) return this.#now(cold)
    const later = this.#later(cold)
    this.#underWay.set(cold, later)
    // Before the waiters continue, so that no later reader overtakes them.
    void later.then(() => this.#underWay.delete(cold))
    return later
  }

  /** Undefined where no reader waits for them. */
  waitedFor(cold: ColdPanes | undefined): Promise<Thawed> | undefined {
    return cold && this.#underWay.get(cold)
  }

  #isShortEnough({ length }: ColdPanes): boolean {
    const { clock, packer } = this.#options
    if (length > packer.longestNow) return false
    const now = clock.elapsed()
    if (now - this.#turnBegan >= turnMs) {
      this.#turnBegan = now
      this.#doneInTurn = 0
    }
    this.#doneInTurn += length
    return this.#doneInTurn <= bytesPerTurn
  }

  #now(cold: ColdPanes): Thawed {
    const { budget, packer } = this.#options
    const room = copies * cold.length
    if (!budget.reserve(room)) return 'no room'
    try {
      return thawNow(cold, packer)
    } catch {
      return 'broken'
    } finally {
      budget.release(room)
    }
  }

  async #later(cold: ColdPanes): Promise<Thawed> {
    const { budget, packer } = this.#options
    if (this.#running < mostUnderWay) this.#running++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    const room = copies * cold.length
    const hasRoom = budget.reserve(room)
    try {
      return hasRoom ? await thaw(cold, packer) : 'no room'
    } catch {
      return 'broken'
    } finally {
      if (hasRoom) budget.release(room)
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
