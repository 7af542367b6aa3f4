/**
 * Values of node:http. An `import` of it would read all its exports, `WebSocket` included, for which Node loads an undici of
 * its own: some 3 MB in every thread.
 */
import type * as Http from 'node:http'

const http = process.getBuiltinModule('node:http')

export type IncomingMessage = Http.IncomingMessage
export const IncomingMessage: typeof Http.IncomingMessage = http.IncomingMessage
export const STATUS_CODES: typeof Http.STATUS_CODES = http.STATUS_CODES
export const createServer: typeof Http.createServer = http.createServer
export const request: typeof Http.request = http.request
export const validateHeaderName: typeof Http.validateHeaderName = http.validateHeaderName
export const validateHeaderValue: typeof Http.validateHeaderValue = http.validateHeaderValue
