/** Answers to requests that are not complete, written to the socket: no request is there that could be answered. */
import type { Socket } from 'node:net'
import { type CutReason, cutReasons } from '../../core/decision.ts'

const statuses: Partial<Record<CutReason, string>> = {
  incomplete_memory: '503 Service Unavailable',
  connections_per_address: '503 Service Unavailable',
}

/** The caller closes the connection. */
export function writeRefusal(socket: Socket, reason: CutReason): void {
  const status = statuses[reason] ?? '408 Request Timeout'
  const body = `windowpane: ${cutReasons[reason].replaceAll('`', '')}\n`
  const head = [
    `HTTP/1.1 ${status}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${body.length}`,
    ...(status.startsWith('503') ? ['Retry-After: 1'] : []),
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
}
