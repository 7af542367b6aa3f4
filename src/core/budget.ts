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
  #used = 0
  readonly #holders: Holder[] = []

  constructor(limit: number) {
    this.limit = limit
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
    if (this.#used + bytes > this.limit && !this.#makeRoom(bytes)) return false
    this.#used += bytes
    return true
  }

  release(bytes: number): void {
    this.#used -= bytes
  }

  #makeRoom(bytes: number): boolean {
    const over = () => this.#used + bytes - this.limit
    // What cannot be had even by giving everything back must not cost anybody anything.
    if (over() > this.#holders.reduce((sum, holder) => sum + holder.reclaimable(), 0)) return false
    for (const holder of this.#holders) {
      const wanted = Math.min(over(), holder.reclaimable())
      if (wanted > 0) holder.reclaim(wanted)
    }
    return over() <= 0
  }
}
