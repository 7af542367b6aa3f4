/** Sends head and body in one go: by the shortcut where the reply has one, otherwise by node:http. */
import type { Reply, SentHeaders } from './exchange.ts'
import { isShort, textOf } from './plain-reply.ts'

/** All of it leaves with one system call, head included: node:http corks a response until its end. */
export function sendWhole(
  reply: Reply,
  head: SentHeaders & { readonly status: number },
  body: readonly Uint8Array[],
): void {
  const { status, given, own } = head
  if (reply.sendWhole?.(status, head, body) === true) return
  reply.writeHead(status, given.concat(own))
  const last = body.length - 1
  for (let i = 0; i < last; i++) {
    if (i === 0 && isShort(body[0]!)) reply.write(textOf(body[0]!), 'latin1')
    else reply.write(body[i]!)
  }
  reply.end(body[last])
}

/** The memory that must be kept while views are in use; adjacent views often share memory. */
export function memoryOf(views: readonly Uint8Array[]): ArrayBufferLike[] {
  const memory: ArrayBufferLike[] = []
  for (const { buffer } of views) if (buffer !== memory.at(-1)) memory.push(buffer)
  return memory
}
