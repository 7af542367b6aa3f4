/**
 * The client's copy of a response that is on its way. The head leaves with the first byte of the body, or with its end: until
 * then the client has nothing, and may be given another answer.
 */
import type { HeaderList } from '../backends/backend.ts'
import type { StreamTarget } from './ports.ts'

interface Head {
  readonly status: number
  readonly headers: HeaderList
}

export class Tee {
  /** Resolves when nothing more will be written to the client. */
  readonly finished: Promise<void>
  #target: StreamTarget | undefined
  #head: Head | undefined
  /** Chunks that are kept from the client for now. */
  #held: Uint8Array[] | undefined
  #heldBytes = 0
  #hasBegun = false
  #isOver = false
  #resolve!: () => void

  constructor(target: StreamTarget | undefined) {
    this.#target = target
    this.finished = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Whether the client has been given a byte, and so must be given the rest. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Whether a client receives the response as it arrives. */
  get isOpen(): boolean {
    return this.#target !== undefined && this.#head !== undefined && !this.#isOver
  }

  /** Bytes that were written and that the client has not taken; 0 once all of them are written. */
  get unsent(): number {
    return this.isOpen ? this.#heldBytes + this.#target!.unsent : 0
  }

  get isHolding(): boolean {
    return this.#held !== undefined
  }

  /** Bytes that were written and are kept from the client. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Keeps later writes from the client until `release` or `end` is called. */
  hold(): void {
    this.#held = []
  }

  release(): void {
    const held = this.#held ?? []
    this.#dropHeld()
    for (const chunk of held) this.write(chunk)
  }

  head(status: number, headers: HeaderList): void {
    this.#head = { status, headers }
  }

  /** Returns false where the client is slower than the database. */
  write(chunk: Uint8Array): boolean {
    if (!this.isOpen) return true
    if (this.#held !== undefined) {
      this.#held.push(chunk)
      this.#heldBytes += chunk.length
      return true
    }
    this.#begin()
    return this.#target!.write(chunk)
  }

  /** Calls back once, when the client has read the written bytes. */
  onDrain(resume: () => void): void {
    this.#target?.onDrain(resume)
  }

  /** The response is whole. */
  end(): void {
    if (this.isOpen) {
      this.release()
      this.#begin()
      this.#target!.end()
    }
    this.#finish()
  }

  /** The response cannot be completed. A client that has nothing of it is left as it is. */
  abort(): void {
    if (this.#hasBegun && this.isOpen) this.#target!.abort()
    this.#finish()
  }

  /** The client is gone, or is given another answer. */
  drop(): void {
    this.#target = undefined
    this.#finish()
  }

  /** Another response will come, from its head on. Returns false where the client has a byte of this one, and is not gone. */
  restart(): boolean {
    if (this.#hasBegun && this.#target !== undefined) return false
    this.#hasBegun = false
    this.#head = undefined
    this.#dropHeld()
    return true
  }

  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#target!.head(this.#head!.status, this.#head!.headers)
  }

  #finish(): void {
    this.#isOver = true
    this.#dropHeld()
    this.#resolve()
  }

  #dropHeld(): void {
    this.#held = undefined
    this.#heldBytes = 0
  }
}
