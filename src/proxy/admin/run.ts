/** `?run=1`: sends a request the way clients do and reports the duration of each step. */
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { WireRequest } from '../../backends/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { request as httpRequest } from '../../core/node-http.ts'
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
  /** It may have a path, which is put before that of every request. */
  readonly url: string
  /** The name under which the database is reached there, where it has one. */
  readonly host?: string | undefined
}

export function runThrough(address: DataAddress, clock: Clock): (wire: WireRequest) => Promise<RunReport> {
  const base = new URL(address.url)
  const prefix = base.pathname.replace(/\/$/, '')
  const send = base.protocol === 'https:' ? httpsRequest : httpRequest
  return (wire) =>
    new Promise((resolve, reject) => {
      const began = clock.elapsed()
      const path = `${prefix}${wire.path}${wire.search === '' ? '' : `?${wire.search}`}`
      const headers = [
        'host',
        address.host ?? base.host,
        'content-length',
        String(wire.body.length),
        ...own(wire),
      ]
      const target = { host: base.hostname.replace(/^\[|\]$/g, ''), port: base.port, path, agent: false }
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

/** It is this process that listens there; its certificate has the names that clients use, hardly an address. */
const ownCertificate = { rejectUnauthorized: false }

/** This side sets the headers of the connection. */
const own = ({ headers }: WireRequest): string[] => endToEnd(headers, ofTheConnection)

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
