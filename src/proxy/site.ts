/** One database behind the proxy: its connections, what it says it is, its cache, and how its requests are handled. */
import type { Backend, Flavour, WireRequest } from '../backends/backend.ts'
import type { Budget } from '../core/budget.ts'
import type { Clock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import type { Explanation } from '../engine/explain.ts'
import { IntervalCache } from '../engine/interval-cache.ts'
import type { Store } from '../stores/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { explainWire } from './admin-explain.ts'
import { FlavourWatch } from './flavour.ts'
import { Handler } from './handler.ts'
import type { Limits } from './limits.ts'
import type { ScratchPool } from './scratch.ts'
import type { Settings } from './settings.ts'
import { HttpUpstream, type UpstreamSettings } from './upstream.ts'
import { withoutCredentials } from './url.ts'

/** What all databases of one process share. */
export interface Common {
  readonly clock: Clock
  readonly limits: Limits
  readonly budget: Budget
  readonly scratch: ScratchPool
  /** What this process calls itself in Via. */
  readonly via: string
  /** Looks on. */
  readonly telemetry?: Telemetry | undefined
}

/** Where a database is, and how to log in there. */
export interface DatabaseAddress {
  /** One URL, or those of several equal databases. */
  readonly urls: readonly string[]
  readonly tls?: UpstreamSettings['tls']
  readonly auth?: UpstreamSettings['auth']
  readonly socket?: UpstreamSettings['socket']
}

export interface SiteOptions {
  /** Part of every key: two databases never share buckets. */
  readonly name: string
  readonly backend: Backend
  readonly upstream: DatabaseAddress
  readonly store: Store
  readonly settings: () => Settings
}

const probeMs = 10_000

export class Site {
  readonly name: string
  readonly handler: Handler
  /** What would be done with a request, and why. */
  readonly explain: (wire: WireRequest) => Promise<Explanation>
  readonly #cache: IntervalCache
  readonly #flavour: FlavourWatch
  readonly #upstream: HttpUpstream

  constructor(common: Common, { name, backend, store, settings, ...options }: SiteOptions) {
    const { clock, limits, budget, scratch, via, telemetry } = common
    const hooks = telemetry?.hooks(name) ?? {}
    const { policy } = settings().terms
    const { urls, ...address } = options.upstream
    const upstream = new HttpUpstream({
      ...address,
      url: urls.map(upstreamUrl),
      clock,
      connections: limits.upstreamConnections,
      idleTimeoutMs: limits.upstreamTimeoutMs,
      via,
      // With one database there is nothing to choose: asking it is the probe.
      ...(urls.length > 1 && { probe: { path: backend.flavourPath, intervalMs: probeMs } }),
    })
    const flavour = new FlavourWatch(backend, upstream, clock)
    const parts = { backend, store, policy, upstream, clock, budget }
    const cache = new IntervalCache({ ...limits, ...parts, ...hooks, name, coalescing: true })
    this.name = name
    this.handler = new Handler({ ...limits, ...parts, ...hooks, cache, flavour, scratch, via, settings })
    this.#cache = cache
    this.explain = (wire) => explainWire({ backend, flavour, cache, settings, clock }, wire)
    this.#flavour = flavour
    this.#upstream = upstream
  }

  /** What the database said it is; not known while it cannot be asked. */
  get flavour(): Flavour {
    return this.#flavour.current
  }

  /** Fetches under way. */
  get flights(): number {
    return this.#cache.flights
  }

  upstreams(): ReturnType<HttpUpstream['upstreams']> {
    return this.#upstream.upstreams()
  }

  /** Asks the database what it is; resolves also when it does not answer. */
  ask(): Promise<void> {
    return this.#flavour.ask([])
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

function upstreamUrl(text: string): URL {
  const url = URL.parse(text)
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url
  const shown = withoutCredentials(text)
  throw new WindowpaneError('WINDOWPANE_BAD_OPTION', `"${shown}" is not the URL of a database`, {
    remedy: 'Give a URL such as http://prometheus:9090.',
  })
}
