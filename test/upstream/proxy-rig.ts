/** Databases of all kinds over real sockets, and a Windowpane (or only its upstream half) in front of them. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { Budget } from '../../src/core/budget.ts'
import { FlavourWatch } from '../../src/engine/http/flavour.ts'
import { IntervalCache } from '../../src/engine/interval-cache.ts'
import { Marks } from '../../src/engine/marks.ts'
import type { Broken } from '../../src/engine/ports.ts'
import { commonOf } from '../../src/proxy/assembly/common.ts'
import { GatheredMessage } from '../../src/proxy/front/body.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { Handler } from '../../src/proxy/request/handler.ts'
import { type ForwardRequest, HttpUpstream, type UpstreamOptions } from '../../src/proxy/upstream/upstream.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { until } from '../proxy/client.ts'
import { matrixFor } from '../proxy/matrix.ts'
import { bodyOf, prometheusBuildInfo } from '../proxy/scripted-upstream.ts'
import { NOW } from '../proxy/setup.ts'
import type { KeyPair } from './certificates.ts'

export interface Database {
  readonly url: URL
  readonly server: Server
  readonly seen: IncomingMessage[]
  /** Answers everything. */
  script: RequestListener
  /** Connections are refused, open ones are cut. */
  goDown(): Promise<void>
  comeBack(): Promise<void>
}

export interface DatabaseOptions {
  readonly tls?: ServerOptions
  readonly socket?: string
}

export async function startDatabase(t: TestContext, options: DatabaseOptions = {}): Promise<Database> {
  const seen: IncomingMessage[] = []
  const listener: RequestListener = (request, response) => {
    seen.push(request)
    database.script(request, response)
  }
  const secure = options.tls === undefined ? undefined : createSecureServer(options.tls, listener)
  const server: Server = secure ?? createServer(listener)
  const listen = (where: string | number) =>
    new Promise<void>((resolve) =>
      typeof where === 'string' ? server.listen(where, resolve) : server.listen(where, '127.0.0.1', resolve),
    )
  await listen(options.socket ?? 0)
  const bound = server.address()
  const port = typeof bound === 'string' ? 80 : (bound as AddressInfo).port
  const database: Database = {
    url: new URL(`${secure === undefined ? 'http' : 'https'}://127.0.0.1:${port}`),
    server,
    seen,
    script: truthful,
    goDown: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
    comeBack: () => listen(options.socket ?? port),
  }
  t.after(() => database.goDown())
  return database
}

const truthful: RequestListener = async (request, response) => {
  const body = (await bodyOf(request)).toString()
  const url = new URL(request.url!, 'http://database')
  response.setHeader('Content-Type', 'application/json')
  if (url.pathname.endsWith('/buildinfo'))
    response.end(JSON.stringify({ status: 'success', data: prometheusBuildInfo }))
  else if (url.pathname.endsWith('/query_range'))
    response.end(matrixFor(new URLSearchParams(`${body}&${url.searchParams}`), 1))
  else response.end('fine')
}

export const pemOf = ({ cert, key }: KeyPair): ServerOptions => ({
  cert: readFileSync(cert),
  key: readFileSync(key),
})

export interface Rig {
  readonly upstream: HttpUpstream
  readonly clock: FakeClock
}

export type Given = Partial<UpstreamOptions> & Pick<UpstreamOptions, 'url'>

export function startUpstream(t: TestContext, given: Given): Rig {
  const clock = fakeClock(NOW)
  // Forwarded requests use three quarters of them at most.
  const base = { connections: 16, idleTimeoutMs: 60_000, clock, via: 'windowpane-test' }
  const upstream = new HttpUpstream({ ...base, ...given })
  t.after(() => upstream.close())
  return { upstream, clock }
}

export interface Reply {
  readonly status: number
  readonly body: string
  readonly broken?: Broken
}

/** The result of `forward`: an answer, or the reason why there is none. */
export function pass(upstream: HttpUpstream, given: Partial<ForwardRequest> = {}): Promise<Reply> {
  const request = { method: 'GET', path: '/', search: '', headers: [], body: null, ...given }
  return new Promise((resolve) => {
    let status = 0
    let body = ''
    upstream.forward(request, {
      head: (code) => {
        status = code
      },
      data: (chunk) => {
        body += Buffer.from(chunk).toString()
      },
      end: () => resolve({ status, body }),
      failed: (broken) => resolve({ status, body, broken }),
    })
  })
}

/** A whole proxy, put together as server.ts does. */
export async function startProxy(t: TestContext, { upstream, clock }: Rig): Promise<string> {
  const budget = new Budget(defaultLimits.memoryBytes)
  const { retentionMs, maxBucketsPerShape } = defaultLimits
  const store = memoryStore({ clock, budget, retentionMs, maxBucketsPerShape })
  const backend = prometheus({ settledAgeMs: 3_600_000, maxBuckets: defaultLimits.maxBuckets })
  const policy = ladder()
  const flavour = new FlavourWatch(backend.flavour, upstream, clock)
  const parts = { name: 'main', backend, store, policy, upstream, clock, budget }
  const marks = new Marks({ clock, retentionMs }).of('main')
  const cache = new IntervalCache({ ...defaultLimits, ...parts, marks, coalescing: true })
  const terms = { mode: 'on', identity: 'separate', policy, maxStaleMs: defaultLimits.maxStaleMs } as const
  const settings = () => ({ terms, rules: [] })
  const own = {
    cache,
    flavour,
    ...commonOf({ limits: defaultLimits, clock, parts: { budget, via: 'windowpane-test' } }),
    settings,
  }
  const handler = new Handler({ ...defaultLimits, ...parts, ...own })
  const kind = { IncomingMessage: GatheredMessage }
  const server = createServer(kind, (request, response) => void handler.handle(request, response))
  await flavour.ask([])
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export interface Load {
  /** Resolves when so many more requests have been answered. */
  passed(count: number): Promise<void>
  /** Resolves to everything that went wrong. */
  stop(): Promise<string[]>
}

/** Requests without a pause, eight at a time. */
export function load(upstream: HttpUpstream, given: Partial<ForwardRequest> = {}): Load {
  let isOver = false
  let count = 0
  const wrong: string[] = []
  const worker = async () => {
    while (!isOver) {
      const { status, broken } = await pass(upstream, given)
      if (status !== 200 || broken !== undefined) wrong.push(broken?.detail ?? `status ${status}`)
      count++
    }
  }
  const workers = Promise.all(Array.from({ length: 8 }, worker))
  return {
    passed: (more) => {
      const goal = count + more
      return until(() => count >= goal)
    },
    async stop() {
      isOver = true
      await workers
      return wrong
    },
  }
}
