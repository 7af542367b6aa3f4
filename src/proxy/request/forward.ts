/** Everything that is not answered from the cache: passed on untouched, streamed both ways at the slower side's pace. */
import type { HeaderList } from '../../backends/backend.ts'
import type { Broken, ResponseHandler, UpstreamCall } from '../../engine/ports.ts'
import { Tee } from '../../engine/tee.ts'
import type { ForwardRequest, HttpUpstream } from '../upstream/upstream.ts'
import type { Outgoing } from './outgoing.ts'

/** Resolves to what went wrong before anything could be answered, or to undefined. */
export function forward(
  upstream: HttpUpstream,
  request: ForwardRequest,
  outgoing: Outgoing,
): Promise<Broken | undefined> {
  return new Promise((resolve) => {
    const passing = new Passing(new Tee(outgoing), resolve)
    const call = upstream.forward(request, passing)
    passing.sent(call)
    outgoing.onGone(() => {
      call.cancel()
      resolve(undefined)
    })
  })
}

class Passing implements ResponseHandler {
  readonly #tee: Tee
  readonly #resolve: (broken: Broken | undefined) => void
  #call: UpstreamCall | undefined

  constructor(tee: Tee, resolve: (broken: Broken | undefined) => void) {
    this.#tee = tee
    this.#resolve = resolve
  }

  sent(call: UpstreamCall): void {
    this.#call = call
  }

  head(status: number, headers: HeaderList): void {
    this.#tee.head(status, headers)
  }

  data(chunk: Uint8Array): void {
    if (this.#tee.write(chunk)) return
    this.#call?.pause()
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
