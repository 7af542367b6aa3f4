/** How many connections each client address has open. */
export class AddressCounts {
  readonly #max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Counts one more, until `leave`. Returns false, and counts nothing, where the address has its share already. */
  enter(address: string): boolean {
    const count = this.#counts.get(address) ?? 0
    if (count >= this.#max) return false
    this.#counts.set(address, count + 1)
    return true
  }

  leave(address: string): void {
    const count = this.#counts.get(address) ?? 0
    if (count > 1) this.#counts.set(address, count - 1)
    else this.#counts.delete(address)
  }
}
