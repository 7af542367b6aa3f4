/** The way to a collector: OTLP over HTTP, as JSON. */
import type { Clock } from '../core/clock.ts'
import { failureText } from '../core/text.ts'
import { Pool, request } from '../core/undici.ts'
import type { HeadersRead } from './headers-file.ts'
import type { Posted } from './tracing-export.ts'

export interface CollectorOptions {
  readonly clock: Clock
  /** The collector's URL, such as http://collector:4318; `/v1/traces` is added. */
  readonly endpoint: string
  /** Sent with every batch, such as credentials; or why there are none. */
  readonly headers?: () => HeadersRead
}

export interface Collector {
  post(body: string): Promise<Posted>
  close(): Promise<void>
}

const timeoutMs = 10_000
/** Status codes that OTLP permits to retry. */
const passing = new Set([429, 502, 503, 504])

export function collectorAt({ clock, endpoint, headers }: CollectorOptions): Collector {
  const { origin, pathname, search } = new URL(tracesUrl(endpoint))
  const pool = new Pool(origin, { connections: 1, connect: { timeout: timeoutMs } })
  return {
    async post(body) {
      const given = headers?.() ?? { fields: {} }
      if ('error' in given) return { kind: 'later', why: given.error }
      const aborter = new AbortController()
      const timer = clock.after(timeoutMs, () => aborter.abort(new Error(`no answer in ${timeoutMs} ms`)))
      try {
        const answer = await request(pool, {
          ...{ method: 'POST', path: pathname + search },
          headers: { ...given.fields, 'content-type': 'application/json' },
          body,
          signal: aborter.signal,
        })
        await answer.body.dump()
        return judged(answer.statusCode)
      } catch (error) {
        return { kind: 'later', why: failureText(error) }
      } finally {
        timer.cancel()
      }
    },
    close: () => pool.destroy(),
  }
}

const tracesUrl = (endpoint: string): string =>
  endpoint.endsWith('/v1/traces') ? endpoint : `${endpoint.replace(/\/+$/, '')}/v1/traces`

function judged(status: number): Posted {
  if (status < 300) return { kind: 'taken' }
  return { kind: passing.has(status) ? 'later' : 'refused', why: `status ${status}` }
}
