/** The body of a request: gathered within limits, as a stream where somebody can wait, and without one where nobody should. */
import { IncomingMessage } from 'node:http'
import type { Asked } from './exchange.ts'

export interface BodyLimits {
  readonly maxBytes: number
  /** Takes room in memory; false where there is none. */
  hold(bytes: number): boolean
}

/** A body, or why there is none: the client may have gone before its end. */
export type Body = Buffer | 'too long' | 'no room' | 'gone'

/** Puts a body together and tells it, or why there is none, once. What comes after the limit is not taken. */
class Gatherer {
  readonly #limits: BodyLimits
  readonly #told: (body: Body) => void
  readonly #chunks: Buffer[] = []
  #length = 0
  #isOver = false

  constructor(limits: BodyLimits, told: (body: Body) => void) {
    this.#limits = limits
    this.#told = told
  }

  /** Returns false where no more is wanted. */
  take(chunk: Buffer): boolean {
    if (this.#isOver) return false
    this.#length += chunk.length
    if (this.#length > this.#limits.maxBytes) this.#tell('too long')
    else if (!this.#limits.hold(chunk.length)) this.#tell('no room')
    else this.#chunks.push(chunk)
    return !this.#isOver
  }

  end(): void {
    const chunks = this.#chunks
    this.#tell(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  }

  gone(): void {
    this.#tell('gone')
  }

  #tell(body: Body): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#told(body)
  }
}

/**
 * A request whose body is gathered where node:http hands it over (`push`, and null at the end), without the machinery of
 * streams, which costs more than a short body is worth. One that is not gathered is the stream that it always was.
 */
export class GatheredMessage extends IncomingMessage implements Asked {
  #gatherer: Gatherer | undefined
  #isGathered = false

  /** Tells at once what is there at once: most bodies come with their heads. */
  gather(limits: BodyLimits, told: (body: Body) => void): void {
    this.#gatherer = new Gatherer(limits, told)
    this.#isGathered = true
    // By this node:http knows that somebody reads: what nobody reads it would read and throw away.
    this.read(0)
  }

  get unread(): this {
    return this
  }

  override push(chunk: Buffer | null): boolean {
    if (!this.#isGathered) return super.push(chunk)
    const gatherer = this.#gatherer
    if (gatherer === undefined) return false
    if (chunk !== null) return gatherer.take(chunk)
    // The connection remembers its last request: that shall not keep the body.
    this.#gatherer = undefined
    gatherer.end()
    return false
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#gatherer?.gone()
    this.#gatherer = undefined
    super._destroy(error, callback)
  }
}

/** The body of any request, for those who can wait. */
export function bodyOf(message: IncomingMessage, maxBytes: number): Promise<Body> {
  return new Promise((resolve) => {
    const gatherer = new Gatherer({ maxBytes, hold: () => true }, resolve)
    const take = (chunk: Buffer) => {
      if (!gatherer.take(chunk)) message.off('data', take).pause()
    }
    // Nobody listens to errors: node:http has none then, and the close follows.
    message.on('data', take).on('end', () => gatherer.end())
    message.on('close', () => gatherer.gone())
  })
}

export function hasBody({ headers }: Pick<Asked, 'headers'>): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
