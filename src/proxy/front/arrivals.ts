/**
 * The memory of requests that have not arrived in full. It is counted in the budget, and limited to a part of it, so
 * that clients that send without end cannot evict the cache of others. Beyond that part the largest incomplete requests
 * are rejected.
 */
import { type Budget, Reservation } from '../../core/budget.ts'

/** Part of the budget. One request of the largest permitted size fits, where that is no more than a quarter. */
const share = 1 / 8
const mostOfOne = 1 / 4
/** Giving up goes on until so much of the part is in use: not every further byte needs a search for the largest. */
const relieved = 7 / 8

export class Arrivals {
  readonly #budget: Budget
  readonly #maxBytes: number
  readonly #all = new Set<Arrival>()
  #bytes = 0

  /**
   * `largest`: bytes of the largest request that is permitted. `memory`: the part of the budget's limit for this
   * thread.
   */
  constructor(budget: Budget, largest: number, memory = budget.limit) {
    this.#budget = budget
    this.#maxBytes = Math.max(share * memory, Math.min(mostOfOne * memory, largest))
  }

  /** `giveUp` is called at most once, when the bytes are released already. */
  begin(giveUp: () => void): Arrival {
    return new Arrival(this, new Reservation(this.#budget), giveUp)
  }

  /** Makes it so many bytes. Returns false where the budget has no room, or this is the request that is given up. */
  resize(arrival: Arrival, bytes: number): boolean {
    const more = bytes - arrival.bytes
    if (!arrival.reservation.resize(bytes)) return false
    this.#bytes += more
    if (bytes === 0) this.#all.delete(arrival)
    else this.#all.add(arrival)
    if (this.#bytes > this.#maxBytes) this.#giveUpLargest()
    return arrival.bytes === bytes
  }

  #giveUpLargest(): void {
    const largestFirst = [...this.#all].sort((a, b) => b.bytes - a.bytes)
    for (const each of largestFirst) {
      if (this.#bytes <= relieved * this.#maxBytes) return
      this.resize(each, 0)
      each.giveUp()
    }
  }
}

/** One request that is arriving. */
export class Arrival {
  readonly giveUp: () => void
  /** Changed by `resize` only. */
  readonly reservation: Reservation
  readonly #arrivals: Arrivals

  constructor(arrivals: Arrivals, reservation: Reservation, giveUp: () => void) {
    this.#arrivals = arrivals
    this.reservation = reservation
    this.giveUp = giveUp
  }

  get bytes(): number {
    return this.reservation.bytes
  }

  /** Counts the buffered bytes of the request. Returns false where they may not be kept. */
  resize(bytes: number): boolean {
    return this.#arrivals.resize(this, bytes)
  }

  grow(bytes: number): boolean {
    return this.resize(this.bytes + bytes)
  }

  /** It is complete, or gone. */
  end(): void {
    this.resize(0)
  }
}
