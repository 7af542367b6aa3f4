/**
 * Compresses panes without recent reads, one key after the other, while memory is more than half full. While there is
 * nothing to do, no timer runs.
 */
import type { Timer } from '../../core/clock.ts'
import { type ColdPanes, freeze } from './cold.ts'
import type { Slot } from './slot.ts'
import type { ThawingOptions } from './thawing.ts'
import type { Turnover } from './turnover.ts'

export interface CoolingOptions extends ThawingOptions {
  readonly slots: Turnover<Slot>
  /** Panes are compressed after this time without a read. */
  readonly coldAfterMs: number
  /** Receives the compressed form of a slot, unless the slot was removed. */
  readonly onCold: (slot: Slot, cold: ColdPanes) => void
}

const roomy = 0.5
/** The interval, and the most keys to examine and to compress each time. */
const everyMs = 5000
const mostLooks = 20_000
const mostBytes = 16 * 1024 * 1024
/** Of the budget: compressing a longer pane would evict more than it gains. */
const longestShare = 1 / 16
/** The input of the compressor, and its output. */
const copies = 2

export class Cooling {
  readonly #options: CoolingOptions
  #timer: Timer | undefined
  #isRunning = false
  #isStopped = false

  constructor(options: CoolingOptions) {
    this.#options = options
  }

  /** To be called when memory was taken. */
  wake(): void {
    if (this.#isStopped || this.#isRunning || this.#timer !== undefined || !this.#isNeeded()) return
    this.#timer = this.#options.clock.after(everyMs, () => {
      this.#timer = undefined
      void this.#run()
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  #isNeeded(): boolean {
    const { slots, budget } = this.#options
    return slots.size > 0 && budget.used > roomy * budget.limit
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    await this.#coolSome()
    this.#isRunning = false
    this.wake()
  }

  async #coolSome(): Promise<void> {
    const { clock, slots, coldAfterMs } = this.#options
    const usedBefore = clock.elapsed() - coldAfterMs
    let [looks, bytes] = [0, 0]
    for (const slot of slots.unseen(({ usedAt }) => usedAt <= usedBefore)) {
      if (this.#isWorthIt(slot)) {
        bytes += slot.bytes
        await this.#cool(slot)
      }
      if (this.#isStopped || ++looks >= mostLooks || bytes >= mostBytes) return
    }
  }

  #isWorthIt({ cold, isDense, isWanted, bytes }: Slot): boolean {
    const { budget, packer } = this.#options
    if (cold !== undefined || isDense || !isWanted) return false
    return bytes >= packer.smallest && bytes <= longestShare * budget.limit
  }

  async #cool(slot: Slot): Promise<void> {
    const { budget, packer, onCold } = this.#options
    const { usedAt } = slot
    const room = copies * slot.bytes
    if (!budget.reserve(room)) return
    const cold = await freeze(slot.panes, packer).catch(() => undefined)
    budget.release(room)
    if (cold === undefined) slot.isDense = true
    else if (slot.usedAt === usedAt) onCold(slot, cold)
  }
}
