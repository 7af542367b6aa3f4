/** A sink that also keeps a short body: an answer is compared with the bytes that the database sent. */

import type { Decomposed, ResponseEnds, Sink, Unusable } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'

const maxBodyBytes = 1024 * 1024

export class BodySink implements Sink {
  readonly #sink: Sink
  #chunks: Buffer[] = []
  #length = 0

  constructor(sink: Sink) {
    this.#sink = sink
  }

  get held(): number {
    return this.#sink.held + (this.#isShort ? this.#length : 0)
  }

  /** Undefined where it was too long to keep. */
  get body(): Buffer | undefined {
    return this.#isShort ? Buffer.concat(this.#chunks) : undefined
  }

  write(chunk: Uint8Array): void {
    this.#sink.write(chunk)
    this.#length += chunk.length
    if (!this.#isShort) this.#chunks = []
    // The chunk is valid only now.
    else this.#chunks.push(Buffer.from(chunk))
  }

  end(fetchedAt: EpochMs, response: ResponseEnds): Decomposed | Unusable {
    return this.#sink.end(fetchedAt, response)
  }

  get #isShort(): boolean {
    return this.#length <= maxBodyBytes
  }
}
