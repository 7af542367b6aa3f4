/** The decoded body of one response: counted in the budget, and split by a sink, or kept as it is where it is an error. */
import type { HeaderList, Sink } from '../backends/backend.ts'
import { type Budget, Reservation } from '../core/budget.ts'
import type { ServingReason } from '../core/decision.ts'
import { encodingOf } from './decoder.ts'

interface BodyOptions {
  readonly budget: Budget
  readonly maxAnswerBytes: number
  readonly headers: HeaderList
  readonly isError: boolean
  readonly newSink: () => Sink
}

/** Why no more of a body is kept. */
interface Unkept {
  readonly reason: ServingReason
  readonly detail: string
}

/** Error bodies are small; a longer one is not kept. */
const maxErrorBytes = 1024 * 1024

export class DecodedBody {
  /** Undefined where the response is an error. */
  sink: Sink | undefined
  readonly #options: BodyOptions
  readonly #reservation: Reservation
  /** Whether its encoding is known. */
  readonly #isReadable: boolean
  #error: Uint8Array[] = []
  /** Bytes in the sink, or of the error. */
  #held = 0
  #received = 0

  constructor(options: BodyOptions) {
    this.#options = options
    this.sink = options.isError ? undefined : sinkOf(options.newSink)
    this.#reservation = new Reservation(options.budget)
    this.#isReadable = encodingOf(options.headers) !== undefined
  }

  get error(): Buffer {
    return Buffer.concat(this.#error)
  }

  /** `unsent`: see `count`. */
  write(chunk: Uint8Array, unsent: number): Unkept | undefined {
    this.#received += chunk.length
    if (!this.#isReadable) return this.#unkept('unusable_answer')
    const unkept = this.sink === undefined ? this.#keepError(chunk) : this.#splitInto(this.sink, chunk)
    if (unkept !== undefined) return unkept
    return this.count(unsent) ? undefined : this.#unkept('memory_exhausted')
  }

  /** `unsent`: the bytes that the client has not read yet, which count in the budget too. Returns false where it has no room. */
  count(unsent: number): boolean {
    return this.#reservation.resize(this.#held + unsent)
  }

  /** From now on only the bytes count that the client has not read. */
  drop(unsent: number): void {
    this.sink = undefined
    this.#error = []
    this.#held = 0
    this.count(unsent)
  }

  #splitInto(sink: Sink, chunk: Uint8Array): Unkept | undefined {
    if (this.#received > this.#options.maxAnswerBytes) return this.#unkept('answer_too_large')
    try {
      sink.write(chunk)
    } catch (error) {
      return { reason: 'unusable_answer', detail: String(error) }
    }
    // A short response of many sparse series can be long in memory: one response may not push out all others.
    this.#held = sink.held
    return this.#held > this.#options.budget.limit / 2 ? this.#unkept('answer_too_large') : undefined
  }

  #keepError(chunk: Uint8Array): Unkept | undefined {
    if (this.#received > maxErrorBytes) return this.#unkept('unusable_answer')
    this.#error.push(Uint8Array.prototype.slice.call(chunk))
    this.#held += chunk.length
    return undefined
  }

  #unkept(reason: ServingReason): Unkept {
    return { reason, detail: `after ${this.#received} bytes` }
  }
}

/** A sink that cannot be made rejects the response, as one that throws later. */
function sinkOf(newSink: () => Sink): Sink {
  try {
    return newSink()
  } catch (error) {
    const reject = () => {
      throw error
    }
    return { held: 0, write: reject, end: reject }
  }
}
