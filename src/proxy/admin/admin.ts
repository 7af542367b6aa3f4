/**
 * The admin listener: health, status, metrics, configuration, recent requests, shapes, explain, reload. A separate
 * listener, on loopback by default; read-only unless allowed; no page of it can be reached through a data listener.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { scheduler } from 'node:timers/promises'
import type { WireRequest } from '../../backends/backend.ts'
import { noBytes } from '../../core/bytes.ts'
import type { Clock } from '../../core/clock.ts'
import type { Explanation } from '../../engine/explain/explain.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { bodyOf } from '../front/body.ts'
import { openListener } from '../front/listener.ts'
import { limitsOf } from '../limits.ts'
import { type AdminAnswer, failure } from './answer.ts'
import { Guard } from './guard.ts'
import type { LimitsAccess } from './limits.ts'
import { LiveRequests } from './live.ts'
import type { Page } from './page.ts'
import { pagesOf } from './pages.ts'
import type { PurgeAccess } from './purge.ts'
import type { RunReport } from './run.ts'
import type { ShadowPagesOptions } from './shadow.ts'
import type { TtlAccess } from './ttl.ts'

export interface AdminOptions extends PurgeAccess, ShadowPagesOptions, TtlAccess, LimitsAccess {
  /** host:port, where port 0 takes a free one, or unix:/path. */
  readonly listen: string
  readonly clock: Clock
  readonly version: string
  readonly telemetry: Telemetry
  /** Names besides those of loopback under which a listener on loopback is called. */
  readonly names?: readonly string[]
  /**
   * Called for every request. Undefined: no token is needed. Empty: the token is missing, and every request is
   * rejected.
   */
  readonly token: () => string | undefined
  readonly allowsWrites: () => boolean
  /** The reasons for not being ready, as sentences. */
  readonly unready: () => readonly string[]
  /** Databases, stores, memory, flights: whatever is known now. */
  readonly status: () => object
  /** Without secrets. */
  readonly config: (mode: 'effective' | 'diff') => unknown
  /** Reads the configuration again; reports the result. */
  readonly reload: () => Promise<ReloadReport>
  /** Databases by name; the first is meant where none is named. */
  readonly databases: () => ReadonlyMap<string, AdminDatabase>
}

export interface ReloadReport {
  readonly isOk: boolean
  readonly message: string
}

export interface AdminDatabase {
  /** The path that a query without one is meant for, by its body. */
  queryPath(body: string): string
  explain(wire: WireRequest): Promise<Explanation>
  run(wire: WireRequest): Promise<RunReport>
}

export interface Admin {
  readonly url: string
  close(): Promise<void>
}

/** Bodies are short, so a client that does not send one keeps a connection for seconds, not for a minute. */
const limits = limitsOf({
  maxConnections: 128,
  maxHeaderBytes: 64 * 1024,
  requestTimeoutMs: 10_000,
  drainMs: 2000,
})
const usualBodyBytes = 1024 * 1024

export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { clock, telemetry, listen } = options
  const guard = new Guard(options)
  const live = new LiveRequests(telemetry.recorder, clock)
  const parts = { options, guard, pages: pagesOf(options, live) }
  const listener = await openListener(
    { address: listen, flag: '--admin.listen', limits, clock },
    (request, response) => void respond(parts, request, response),
  )
  if (!guard.isLocal && options.token() === undefined) {
    const message = 'the admin listener can be reached from other machines and requires no token'
    telemetry.log.line('warn', message, { url: listener.url })
  }
  return {
    url: listener.url,
    close() {
      live.close()
      return listener.close()
    },
  }
}

interface AdminParts {
  readonly options: AdminOptions
  readonly guard: Guard
  readonly pages: ReadonlyMap<string, Page>
}

async function respond(parts: AdminParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on('error', () => {})
  try {
    const answer = await answerOf(parts, request, response)
    if (answer !== 'taken') await write(response, answer)
  } catch (error) {
    parts.options.telemetry.log.line('error', 'the admin listener failed', { detail: String(error) })
    if (response.headersSent) response.destroy()
    else await write(response, failure(500, 'internal error; the log has more'))
  }
}

async function answerOf(
  { options, guard, pages }: AdminParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<AdminAnswer | 'taken'> {
  const { method = 'GET', headers } = request
  const url = URL.parse(request.url ?? '/', 'http://admin')
  const page = url === null ? undefined : pageAt(pages, url.pathname)
  // An unauthorised client may only learn that the listener exists: host names and tokens are checked before pages.
  const rejection = guard.checkOrigin(headers) ?? (page?.isOpen ? undefined : guard.checkToken(headers))
  if (rejection !== undefined) return rejection
  if (page === undefined)
    return failure(404, `there is nothing here; ${request.headers.host ?? ''}/ lists the pages`)
  if (!page.methods.includes(method === 'HEAD' ? 'GET' : method)) {
    const allow = page.methods.join(', ')
    return { ...failure(405, `use ${allow}`), headers: { Allow: allow } }
  }
  const { isWriting = false, maxBodyBytes = usualBodyBytes } = page
  const isChange = typeof isWriting === 'function' ? isWriting(url!.searchParams, method) : isWriting
  if (isChange && !options.allowsWrites()) {
    return failure(403, 'this listener is read-only; admin.allowWrites changes that')
  }
  const body = method === 'POST' || method === 'PUT' ? await bodyOf(request, maxBodyBytes) : noBytes
  if (typeof body === 'string') {
    response.shouldKeepAlive = false
    return failure(413, `a body may have ${maxBodyBytes} bytes`)
  }
  const { pathname: path, searchParams: parameters } = url!
  return page.answer({ request, response, path, parameters, body })
}

function pageAt(pages: AdminParts['pages'], path: string): Page | undefined {
  const folder = pages.get(path.slice(0, path.lastIndexOf('/') + 1))
  return pages.get(path) ?? (folder?.isFolder ? folder : undefined)
}

/** Piece by piece: between two of them requests have their turn. */
async function write(response: ServerResponse, { status, type, body, headers }: AdminAnswer): Promise<void> {
  response.writeHead(status, {
    'Content-Type': type,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'",
    ...headers,
  })
  for (const piece of body) {
    response.write(piece)
    await scheduler.yield()
  }
  response.end()
}
