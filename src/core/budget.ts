/**
 * One budget for all memory that grows with traffic: panes, bodies in flight and unsent answers. Holders that can
 * give memory back (the memory store) are asked to before a reservation is refused.
 */

export class Budget {
  readonly limit: number
  #used = 0
  #reclaim: (bytes: number) => void = () => {}
  #reclaimable: () => number = () => 0

  constructor(limit: number) {
    this.limit = limit
  }

  get used(): number {
    return this.#used
  }

  /**
   * Registers how memory can be had back: `reclaim` is called with the bytes that are wanted and calls `release`;
   * `reclaimable` says how much it could give at most.
   */
  onPressure(reclaim: (bytes: number) => void, reclaimable: () => number): void {
    this.#reclaim = reclaim
    this.#reclaimable = reclaimable
  }

  /** Returns false, and takes nothing, where the budget has no room even after reclaiming. */
  reserve(bytes: number): boolean {
    const over = this.#used + bytes - this.limit
    if (over > 0) {
      // What cannot be had even by giving everything back must not cost anybody anything.
      if (over > this.#reclaimable()) return false
      this.#reclaim(over)
      if (this.#used + bytes > this.limit) return false
    }
    this.#used += bytes
    return true
  }

  release(bytes: number): void {
    this.#used -= bytes
  }
}
