/** `?run=1`: sends a request the way clients do and reports the duration of each step. */
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { WireRequest } from '../../backends/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { request as httpRequest } from '../../core/node-http.ts'
import { socketPathOf } from '../../core/socket-address.ts'
import { endToEnd } from '../../engine/http/headers.ts'

export interface Phase {
  readonly phase: string
  readonly startMs: number
  readonly ms: number
}

export interface RunReport {
  readonly status: number
  readonly bytes: number
  readonly cacheStatus: string
  /** plan, lookup, fetch as Windowpane measured them; reply until the last byte was here. */
  readonly waterfall: readonly Phase[]
  readonly totalMs: number
}

/** The address of one database on a data listener. */
export interface DataAddress {
  readonly url: string
  /** Put before that of every request. */
  readonly path?: string
  readonly isSecure?: boolean
  /** The name under which the database is reached there, where it has one. */
  readonly host?: string | undefined
}

export function runThrough(address: DataAddress, clock: Clock): (wire: WireRequest) => Promise<RunReport> {
  const place = placeOf(address)
  const { path: prefix = '' } = address
  const send = address.isSecure ? httpsRequest : httpRequest
  return (wire) =>
    new Promise((resolve, reject) => {
      const began = clock.elapsed()
      const path = `${prefix}${wire.path}${wire.search === '' ? '' : `?${wire.search}`}`
      const own = ['host', address.host ?? place.name, 'content-length', String(wire.body.length)]
      const headers = [...own, ...endToEnd(wire.headers, ofTheConnection)]
      const target = { ...place.target, path, agent: false }
      const request = send({ ...target, ...ownCertificate, method: wire.method, headers })
      request.on('error', reject)
      request.on('response', (response) => {
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        response.on('error', reject)
        response.on('end', () => resolve(reportOf(response, bytes, clock.elapsed() - began)))
      })
      request.end(wire.body)
    })
}

function placeOf({ url }: DataAddress) {
  const socketPath = socketPathOf(url)
  if (socketPath !== undefined) return { name: 'localhost', target: { socketPath } }
  const { host, hostname, port } = new URL(url)
  return { name: host, target: { host: hostname.replace(/^\[|\]$/g, ''), port } }
}

/** It is this process that listens there; its certificate has the names that clients use, hardly an address. */
const ownCertificate = { rejectUnauthorized: false }

/** This side sets them. */
const ofTheConnection = new Set(['host', 'content-length'])

function reportOf({ statusCode, headers }: IncomingMessage, bytes: number, totalMs: number): RunReport {
  const cacheStatus = String(headers['cache-status'] ?? '')
  const waterfall: Phase[] = []
  let startMs = 0
  for (const [, phase, text] of String(headers['server-timing'] ?? '').matchAll(/(\w+);dur=([\d.]+)/g)) {
    if (phase === 'total') continue
    waterfall.push({ phase: phase!, startMs, ms: Number(text) })
    startMs += Number(text)
  }
  waterfall.push({ phase: 'reply', startMs, ms: Math.max(0, totalMs - startMs) })
  return { status: statusCode ?? 0, bytes, cacheStatus, waterfall, totalMs }
}
