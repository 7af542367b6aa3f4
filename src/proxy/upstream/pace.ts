/**
 * How much of the databases' responses one turn of the event loop reads. Later data of a turn waits for the next ones,
 * in order: a hit then waits for a few pieces of large responses, not for all that has arrived.
 */
import { type AfterTurn, NextTurn } from '../../core/next-turn.ts'

export interface Paced {
  /** Its turn has come: it may read on. */
  proceed(): void
}

/** Counted in bytes, not in time: most of the time passes in the kernel, before and after this code. */
const turnBytes = 256 * 1024
/** Every turn costs a response some time: one that comes alone is read in fewer. */
const turnBytesAlone = 1024 * 1024

interface PaceOptions {
  readonly afterTurn?: AfterTurn
  /** Called with all bytes that were read. */
  readonly onRead?: ((bytes: number) => void) | undefined
}

export class Pace {
  readonly #nextTurn: NextTurn
  readonly #onRead: ((bytes: number) => void) | undefined
  /** Readers that are paused. */
  readonly #waiting = new Set<Paced>()
  #readBytes = 0
  /** The reader of this turn, if there was only one. */
  #only: Paced | undefined

  constructor({ afterTurn, onRead }: PaceOptions = {}) {
    this.#nextTurn = new NextTurn(() => this.#turn(), afterTurn)
    this.#onRead = onRead
  }

  /** Counts bytes that were read. Returns whether the reader has to wait until `proceed` is called. */
  read(bytes: number, reader: Paced): boolean {
    if (this.#readBytes === 0) this.#only = reader
    else if (this.#only !== reader) this.#only = undefined
    this.#readBytes += bytes
    this.#onRead?.(bytes)
    this.#nextTurn.want()
    if (this.#mayRead) return false
    this.#waiting.add(reader)
    return true
  }

  get #mayRead(): boolean {
    const isAlone = this.#only !== undefined && this.#waiting.size === 0
    return this.#readBytes < (isAlone ? turnBytesAlone : turnBytes)
  }

  #turn(): void {
    this.#readBytes = 0
    this.#only = undefined
    for (const reader of [...this.#waiting]) {
      if (!this.#mayRead) break
      this.#waiting.delete(reader)
      reader.proceed()
    }
    if (this.#waiting.size > 0) this.#nextTurn.want()
  }
}
