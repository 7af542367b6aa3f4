/**
 * Everything that is not answered from the cache: passed on untouched. A small answer is kept for a slow reader, so that the
 * connection to the database is free again; a larger one is streamed at the slower side's pace.
 */
import type { Broken } from '../../engine/ports.ts'
import { Tee } from '../../engine/tee.ts'
import type { ForwardRequest, HttpUpstream } from '../upstream/upstream.ts'
import type { Outgoing } from './outgoing.ts'

/** Resolves to the error before anything could be answered, or to undefined. */
export function forward(
  upstream: HttpUpstream,
  request: ForwardRequest,
  outgoing: Outgoing,
): Promise<Broken | undefined> {
  const tee = new Tee(outgoing)
  return new Promise((resolve) => {
    const call = upstream.forward(request, {
      head: (status, headers) => tee.head(status, headers),
      data(chunk) {
        if (tee.write(chunk) || outgoing.memory.keepUnsent()) return
        call.pause(true)
        tee.onDrain(() => call.resume())
      },
      end() {
        tee.end()
        resolve(undefined)
      },
      failed(broken) {
        tee.abort()
        resolve(tee.hasBegun ? undefined : broken)
      },
      restart: () => tee.restart(),
    })
    outgoing.onGone(() => {
      call.cancel()
      resolve(undefined)
    })
  })
}
