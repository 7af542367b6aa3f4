/** How fake databases reply. */
import type { HeaderList } from '../../src/backends/backend.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { Broken, ResponseHandler, UpstreamCall } from '../../src/engine/ports.ts'

export type Reply = Broken | { readonly status: number; readonly body: string; readonly headers?: HeaderList }

export interface Lag {
  readonly clock: Clock
  readonly lagMs: number
}

/** Replies after a lag; without one, as soon as the caller yields, at the same instant. */
export function replyAfter(
  { clock, lagMs }: Lag,
  handler: ResponseHandler,
  replyOf: () => Reply,
): UpstreamCall {
  let isCancelled = false
  const reply = () => {
    if (!isCancelled) deliver(handler, replyOf())
  }
  const timer = lagMs > 0 ? clock.after(lagMs, reply) : undefined
  if (timer === undefined) queueMicrotask(reply)
  const cancel = () => {
    isCancelled = true
    timer?.cancel()
  }
  return { cancel, pause() {}, resume() {} }
}

function deliver(handler: ResponseHandler, reply: Reply): void {
  if ('reason' in reply) {
    handler.failed(reply)
    return
  }
  handler.head(reply.status, reply.headers ?? ['Content-Type', 'application/json'])
  handler.data(Buffer.from(reply.body))
  handler.end([])
}
