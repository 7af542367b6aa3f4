/**
 * Compressed panes on their way back, inside the memory budget: what is short at once, until this turn has had enough of
 * it; everything else off this thread, few at a time, and once for all who ask.
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

/** What is decompressed on this thread at most: a millisecond or two of every four. */
const turnMs = 4
const bytesPerTurn = 1024 * 1024
/** Others want the threads of the runtime, too; and whoever waits here takes no memory yet. */
const mostUnderWay = 2
/** What the decompressor writes, and the body. */
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
    // Before whoever waits goes on, so that nobody who comes then overtakes them.
    void later.then(() => this.#underWay.delete(cold))
    return later
  }

  /** Undefined where nobody waits for them. */
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
