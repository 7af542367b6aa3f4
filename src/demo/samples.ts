/** The last so many numbers of a kind, and how they spread. */

export interface Spread {
  /** 0 where there is nothing yet. */
  readonly p50Ms: number
  readonly p99Ms: number
}

export class Samples {
  readonly #ring: Float64Array
  #added = 0

  constructor(kept = 300) {
    this.#ring = new Float64Array(kept)
  }

  add(value: number): void {
    this.#ring[this.#added++ % this.#ring.length] = value
  }

  spread(): Spread {
    const sorted = this.#ring.slice(0, Math.min(this.#added, this.#ring.length)).sort()
    return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) }
  }
}

const quantile = (sorted: Float64Array, q: number): number =>
  sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!
