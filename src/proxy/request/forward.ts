/** Everything that is not answered from the cache: passed on untouched, streamed both ways at the slower side's pace. */
import type { HeaderList } from '../../backends/backend.ts'
import type { Broken, Exchange, ResponseHandler } from '../../engine/ports.ts'
import type { ForwardRequest, HttpUpstream } from '../upstream/upstream.ts'
import type { Outgoing } from './outgoing.ts'

/** Resolves to what went wrong before anything could be answered, or to undefined. */
export function forward(
  upstream: HttpUpstream,
  request: ForwardRequest,
  outgoing: Outgoing,
): Promise<Broken | undefined> {
  return new Promise((resolve) => {
    const passing = new Passing(outgoing, resolve)
    passing.sent(upstream.forward(request, passing))
  })
}

class Passing implements ResponseHandler {
  readonly #outgoing: Outgoing
  readonly #resolve: (broken: Broken | undefined) => void
  #exchange: Exchange | undefined

  constructor(outgoing: Outgoing, resolve: (broken: Broken | undefined) => void) {
    this.#outgoing = outgoing
    this.#resolve = resolve
  }

  sent(exchange: Exchange): void {
    this.#exchange = exchange
    this.#outgoing.onGone(() => {
      exchange.cancel()
      this.#resolve(undefined)
    })
  }

  head(status: number, headers: HeaderList): void {
    this.#outgoing.head(status, headers)
  }

  raw(chunk: Uint8Array): void {
    if (this.#outgoing.write(chunk)) return
    this.#exchange?.pause()
    this.#outgoing.onDrain(() => this.#exchange?.resume())
  }

  data(): void {}

  end(): void {
    this.#outgoing.end()
    this.#resolve(undefined)
  }

  failed(broken: Broken): void {
    if (this.#outgoing.hasBegun) this.#outgoing.abort()
    this.#resolve(this.#outgoing.hasBegun ? undefined : broken)
  }
}
