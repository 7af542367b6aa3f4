/**
 * Values of node:http. An `import` of it would read all its exports, `WebSocket` included, for which Node loads an undici of
 * its own: some 3 MB in every thread.
 */
import type { IncomingMessage as NodeMessage } from 'node:http'

export const {
  createServer,
  IncomingMessage,
  request,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule('node:http')
export type IncomingMessage = NodeMessage
