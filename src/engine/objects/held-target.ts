/**
 * Keeps the beginning of a response from its client. A short response is answered from the stored body, with the headers of stored
 * answers, and can still be replaced by a stale one; only of a long one is the client given the bytes while they arrive.
 */
import type { HeaderList } from '../../backends/backend.ts'
import type { Encoding, StreamTarget } from '../ports.ts'

/** Bytes as they come over the wire. */
const mostHeld = 256 * 1024

export class HeldTarget implements StreamTarget {
  readonly #target: StreamTarget
  #head: { readonly status: number; readonly headers: HeaderList } | undefined
  #held: Uint8Array[] = []
  #heldBytes = 0
  #hasBegun = false
  #hasEnded = false

  constructor(target: StreamTarget) {
    this.#target = target
  }

  get encoding(): Encoding {
    return this.#target.encoding
  }

  /** Whether the client has been given a byte, and so must be given the rest. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  get unsent(): number {
    return this.#hasBegun ? this.#target.unsent : this.#heldBytes
  }

  head(status: number, headers: HeaderList): void {
    this.#head = { status, headers }
  }

  write(chunk: Uint8Array): boolean {
    if (this.#hasBegun) return this.#target.write(chunk)
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes > mostHeld) this.release()
    return true
  }

  onDrain(resume: () => void): void {
    if (this.#hasBegun) this.#target.onDrain(resume)
    else resume()
  }

  end(): void {
    this.#hasEnded = true
    if (this.#hasBegun) this.#target.end()
  }

  restart(): boolean {
    if (this.#hasBegun || this.#hasEnded) return false
    this.drop()
    return true
  }

  /** Nothing of what is buffered is for the client. */
  drop(): void {
    this.#head = undefined
    this.#dropHeld()
  }

  abort(): void {
    this.#dropHeld()
    if (this.#hasBegun) this.#target.abort()
  }

  /** Passes the buffered and all later bytes to the client. Does nothing before a response has begun. */
  release(): void {
    if (this.#hasBegun || this.#head === undefined) return
    this.#hasBegun = true
    this.#target.head(this.#head.status, this.#head.headers)
    for (const chunk of this.#held) this.#target.write(chunk)
    this.#dropHeld()
    if (this.#hasEnded) this.#target.end()
  }

  #dropHeld(): void {
    this.#held = []
    this.#heldBytes = 0
  }
}
