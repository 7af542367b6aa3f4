/**
 * Values of node:http. An `import` of it would read all its exports, `WebSocket` included, for which Node loads an undici of
 * its own: some 3 MB in every thread.
 */
import type * as Http from 'node:http'

export const {
  IncomingMessage,
  STATUS_CODES,
  createServer,
  request,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule('node:http')
export type IncomingMessage = Http.IncomingMessage
