/**
 * Everything that is not answered from the cache: passed on untouched. A small answer is kept for a slow reader, so that the
 * connection to the database is free again; a larger one is streamed at the slower side's pace.
 */
import type { HeaderList } from '../../backends/backend.ts'
import type { Broken, ResponseHandler, UpstreamCall } from '../../engine/ports.ts'
import { Tee } from '../../engine/tee.ts'
import type { ForwardRequest, HttpUpstream } from '../upstream/upstream.ts'
import type { Outgoing } from './outgoing.ts'

/** Resolves to the error before anything could be answered, or to undefined. */
export function forward(
  upstream: HttpUpstream,
  request: ForwardRequest,
  outgoing: Outgoing,
): Promise<Broken | undefined> {
  return new Promise((resolve) => {
    const passing = new Passing(outgoing, resolve)
    const call = upstream.forward(request, passing)
    passing.sent(call)
    outgoing.onGone(() => {
      call.cancel()
      resolve(undefined)
    })
  })
}

class Passing implements ResponseHandler {
  readonly #outgoing: Outgoing
  readonly #tee: Tee
  readonly #resolve: (broken: Broken | undefined) => void
  #call: UpstreamCall | undefined

  constructor(outgoing: Outgoing, resolve: (broken: Broken | undefined) => void) {
    this.#outgoing = outgoing
    this.#tee = new Tee(outgoing)
    this.#resolve = resolve
  }

  sent(call: UpstreamCall): void {
    this.#call = call
  }

  head(status: number, headers: HeaderList): void {
    this.#tee.head(status, headers)
  }

  data(chunk: Uint8Array): void {
    if (this.#tee.write(chunk) || this.#outgoing.keepsUnsent()) return
    this.#call?.pause(true)
    this.#tee.onDrain(() => this.#call?.resume())
  }

  end(): void {
    this.#tee.end()
    this.#resolve(undefined)
  }

  failed(broken: Broken): void {
    this.#tee.abort()
    this.#resolve(this.#tee.hasBegun ? undefined : broken)
  }

  restart(): boolean {
    if (this.#tee.hasBegun) return false
    this.#tee.restart()
    return true
  }
}
