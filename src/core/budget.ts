/**
 * One budget for all memory that grows with traffic: panes, bodies in flight and unsent answers. Holders that can
 * give memory back (the memory store) are asked to before a reservation is refused.
 */

export class Budget {
  readonly limit: number
  #used = 0
  #reclaim: (bytes: number) => void = () => {}

  constructor(limit: number) {
    this.limit = limit
  }

  get used(): number {
    return this.#used
  }

  /** Registers how memory can be had back: called with the bytes that are wanted, it calls `release`. */
  onPressure(reclaim: (bytes: number) => void): void {
    this.#reclaim = reclaim
  }

  /** Returns false, and takes nothing, where the budget has no room even after reclaiming. */
  reserve(bytes: number): boolean {
    const over = this.#used + bytes - this.limit
    if (over > 0) this.#reclaim(over)
    if (this.#used + bytes > this.limit) return false
    this.#used += bytes
    return true
  }

  release(bytes: number): void {
    this.#used -= bytes
  }
}
