/**
 * One budget for all memory that grows with traffic: panes, bodies in flight and unsent answers. Holders that can free
 * memory (the memory store) are called to do so before a reservation is refused.
 */

interface Holder {
  reclaim(bytes: number): void
  reclaimable(): number
}

/** Counts the bytes taken from a limit; several threads may share one meter. */
export interface Meter {
  readonly used: number
  add(bytes: number): void
}

interface BudgetOptions {
  /** A part of the limit that is kept free for unreachable buffers that are not garbage-collected yet. */
  readonly spare?: number
  readonly meter?: Meter
  /** Threads that share the meter; each has derived data of its own. */
  readonly threads?: number
}

/** Of the bytes that can be reserved, for each kind of derived data. */
const derivedShare = 1 / 8

export class Budget {
  readonly limit: number
  /**
   * The most that one kind of data that is derived from panes (compressed answers, their pieces) takes in this thread.
   * Other threads cannot reclaim it when they need memory, so that all threads together have one share.
   */
  readonly derivedBytes: number
  /** The bytes that can be reserved. */
  readonly #room: number
  readonly #meter: Meter
  readonly #holders: Holder[] = []

  constructor(limit: number, { spare = 0, meter = ownMeter(), threads = 1 }: BudgetOptions = {}) {
    this.limit = limit
    this.#room = limit - spare
    this.derivedBytes = (this.#room * derivedShare) / threads
    this.#meter = meter
  }

  get used(): number {
    return this.#meter.used
  }

  /**
   * Registers a holder that can free memory: `reclaim` is called with the wanted number of bytes and calls `release`;
   * `reclaimable` returns how much it can free at most. The holder registered last is called first: data derived from
   * stored panes is evicted before the panes.
   */
  onPressure(reclaim: (bytes: number) => void, reclaimable: () => number): void {
    this.#holders.unshift({ reclaim, reclaimable })
  }

  /** Returns false, and takes nothing, where the budget has no room even after reclaiming. */
  reserve(bytes: number): boolean {
    // Taken before it is looked at: of two threads that take the last of it, not both may go on.
    this.#meter.add(bytes)
    if (this.#meter.used <= this.#room || this.relieve()) return true
    this.#meter.add(-bytes)
    return false
  }

  release(bytes: number): void {
    this.#meter.add(-bytes)
  }

  /** Reclaims until the limit holds. Returns false, and evicts nothing, where the limit cannot be reached. */
  relieve(): boolean {
    const excess = () => this.#meter.used - this.#room
    if (excess() > this.#holders.reduce((sum, holder) => sum + holder.reclaimable(), 0)) return false
    for (const holder of this.#holders) {
      const wanted = Math.min(excess(), holder.reclaimable())
      if (wanted > 0) holder.reclaim(wanted)
    }
    return excess() <= 0
  }
}

/** A part of a budget for one kind of use, so that this use alone cannot evict everything else. */
export class BudgetShare {
  readonly #budget: Budget
  readonly #maxBytes: number
  #used = 0

  constructor(budget: Budget, maxBytes: number) {
    this.#budget = budget
    this.#maxBytes = maxBytes
  }

  /** Returns false, and takes nothing, where this part or the budget has no room. */
  reserve(bytes: number): boolean {
    if (this.#used + bytes > this.#maxBytes || !this.#budget.reserve(bytes)) return false
    this.#used += bytes
    return true
  }

  release(bytes: number): void {
    this.#used -= bytes
    this.#budget.release(bytes)
  }
}

/** One holder's part of a budget. */
export class Reservation {
  readonly #budget: Pick<Budget, 'reserve' | 'release'>
  #bytes = 0

  constructor(budget: Pick<Budget, 'reserve' | 'release'>) {
    this.#budget = budget
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Makes it so many bytes in all. Returns false, and changes nothing, where the budget has no room. */
  resize(bytes: number): boolean {
    return this.grow(bytes - this.#bytes)
  }

  /** As `resize`, by so many bytes more, or fewer. Reserving may reclaim from the holder itself, which then shrinks this. */
  grow(bytes: number): boolean {
    if (bytes > 0 && !this.#budget.reserve(bytes)) return false
    if (bytes < 0) this.#budget.release(-bytes)
    this.#bytes += bytes
    return true
  }

  free(): void {
    this.resize(0)
  }
}

const MiB = 1024 * 1024
/** Buffers are collected when 64 MiB of them have come, however large the heap is, and more come until that is done. */
const leastSpare = 96 * MiB
const mostSpare = 256 * MiB

/** From this limit on, the default included, there is room for the garbage that V8 permits, and hits wait for no collection. */
export const largeLimit = 512 * MiB

/** The share of `limit` that a process keeps free for buffers that are released and not garbage-collected yet. */
export const spareOf = (limit: number): number =>
  Math.min(Math.floor(0.4 * limit), Math.max(leastSpare, Math.min(mostSpare, Math.floor(limit / 8))))

function ownMeter(): Meter {
  let used = 0
  return {
    get used() {
      return used
    },
    add(bytes) {
      used += bytes
    },
  }
}
