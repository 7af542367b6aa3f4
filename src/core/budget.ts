/**
 * One budget for all memory that grows with traffic: panes, bodies in flight and unsent answers. Holders that can
 * give memory back (the memory store) are asked to before a reservation is refused.
 */

interface Holder {
  reclaim(bytes: number): void
  reclaimable(): number
}

export class Budget {
  readonly limit: number
  /** What can be reserved. */
  readonly #room: number
  #used = 0
  readonly #holders: Holder[] = []

  /** `spare` is part of the limit, and left to memory that nobody holds any more and that is not collected yet. */
  constructor(limit: number, spare = 0) {
    this.limit = limit
    this.#room = limit - spare
  }

  get used(): number {
    return this.#used
  }

  /**
   * Registers how memory can be had back: `reclaim` is called with the bytes that are wanted and calls `release`;
   * `reclaimable` says how much it could give at most. Who registered last is asked first: what is made from stored
   * panes goes before the panes.
   */
  onPressure(reclaim: (bytes: number) => void, reclaimable: () => number): void {
    this.#holders.unshift({ reclaim, reclaimable })
  }

  /** Returns false, and takes nothing, where the budget has no room even after reclaiming. */
  reserve(bytes: number): boolean {
    if (this.#used + bytes > this.#room && !this.#makeRoom(bytes)) return false
    this.#used += bytes
    return true
  }

  release(bytes: number): void {
    this.#used -= bytes
  }

  #makeRoom(bytes: number): boolean {
    const over = () => this.#used + bytes - this.#room
    // What cannot be had even by giving everything back must not cost anybody anything.
    if (over() > this.#holders.reduce((sum, holder) => sum + holder.reclaimable(), 0)) return false
    for (const holder of this.#holders) {
      const wanted = Math.min(over(), holder.reclaimable())
      if (wanted > 0) holder.reclaim(wanted)
    }
    return over() <= 0
  }
}

/** Buffers are collected when about this much of them has been given up, however large the heap is. */
const collectedAtOnce = 64 * 1024 * 1024

/** What a process that may take `limit` bytes should leave to the garbage collector. */
export const spareOf = (limit: number): number => Math.min(collectedAtOnce, Math.floor(limit / 8))
