/**
 * The bytes of one response that have arrived and are not split yet. While a client is given them, splitting them would
 * only delay it.
 */
import type { Backlog, Backlogged } from './backlog.ts'

/** A response this short is split as soon as it has arrived: putting it off would cost more. */
const shortBytes = 64 * 1024
/** Of one response: a request that waits for it to be stored waits for so much at most. */
const mostBytes = 2 * 1024 * 1024

interface UnsplitOptions {
  readonly backlog: Backlog
  /** Splits a piece. */
  readonly split: (piece: Uint8Array) => void
  /** There is room again for more. */
  readonly proceed: () => void
}

export class Unsplit implements Backlogged {
  readonly proceed: () => void
  readonly #options: UnsplitOptions
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(options: UnsplitOptions) {
    this.#options = options
    this.proceed = options.proceed
  }

  get isHolding(): boolean {
    return this.#pieces.length > 0
  }

  /** Returns false where there is no room for more: `proceed` is called when there is. */
  add(piece: Uint8Array, isDue: boolean): boolean {
    const { backlog } = this.#options
    this.#pieces.push(piece)
    this.#bytes += piece.length
    const hasRoom = backlog.hold(piece.length, this)
    if (isDue || this.#bytes > mostBytes) backlog.due(this)
    return hasRoom
  }

  /** The response has arrived. */
  end(): void {
    if (this.#bytes > shortBytes) this.#options.backlog.due(this)
    else while (this.isHolding) this.splitNext()
  }

  splitNext(): void {
    const piece = this.#pieces.shift()!
    this.#bytes -= piece.length
    this.#options.backlog.release(piece.length, this)
    this.#options.split(piece)
  }

  drop(): void {
    this.#pieces = []
    this.#options.backlog.release(this.#bytes, this)
    this.#bytes = 0
  }
}
