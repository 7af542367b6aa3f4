/** One database behind the proxy: its connections, what it says it is, its cache, and how its requests are handled. */
import type { Backend, Flavour, WireRequest } from '../../backends/backend.ts'
import type { Budget } from '../../core/budget.ts'
import type { Clock } from '../../core/clock.ts'
import { WindowpaneError } from '../../core/errors.ts'
import type { Mark } from '../../core/mark.ts'
import type { ScratchPool } from '../../core/scratch.ts'
import type { Vouched } from '../../core/witness.ts'
import type { Backlog } from '../../engine/backlog.ts'
import type { Explanation } from '../../engine/explain/explain.ts'
import { IntervalCache } from '../../engine/interval-cache.ts'
import type { BackendMarks } from '../../engine/marks.ts'
import type { ShadowLog } from '../../engine/shadow/log.ts'
import { Witness } from '../../engine/witness.ts'
import type { Store } from '../../stores/store.ts'
import type { Onlooker } from '../../telemetry/telemetry.ts'
import { Tracing } from '../../telemetry/tracing.ts'
import { explainWire } from '../admin/explain.ts'
import type { PackedAnswers } from '../compression/packed.ts'
import type { Pieces } from '../compression/pieces.ts'
import type { Limits } from '../limits.ts'
import { Handler } from '../request/handler.ts'
import { ModeSwitch, type Settings } from '../request/settings.ts'
import { FlavourWatch } from '../upstream/flavour.ts'
import type { Pace } from '../upstream/pace.ts'
import { onlyServer, TracedUpstream } from '../upstream/traced.ts'
import type { HttpUpstream, UpstreamSettings } from '../upstream/upstream.ts'
import { type SegmentFigures, type SegmentSettings, SegmentWatcher } from '../upstream/witness.ts'
import { withoutCredentials } from '../url.ts'
import type { SiteFigures, ThreadParts } from './threads.ts'

/** What all databases of one process share. */
export interface Common {
  readonly clock: Clock
  readonly limits: Limits
  readonly budget: Budget
  readonly scratch: ScratchPool
  readonly packed: PackedAnswers
  readonly pace: Pace
  readonly backlog: Backlog
  readonly pieces: Pieces
  /** What this process calls itself in Via. */
  readonly via: string
  readonly shadowLog: ShadowLog
  /** Looks on. */
  readonly telemetry?: Onlooker | undefined
  /** Which share of the requests without a trace of their own is traced, while anybody listens. */
  readonly sampleRatio?: (() => number) | undefined
  /** Where another thread keeps the stores. */
  readonly thread?: ThreadParts | undefined
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
  /** What was purged or has changed. */
  readonly marks: BackendMarks
  readonly settings: () => Settings
  /** Where its segments are to be watched. */
  readonly segments?: SegmentSettings | undefined
  /** Marks what has changed. */
  readonly mark: (mark: Mark) => unknown
  /** Tells other threads what is vouched for. */
  readonly onVouched?: ((vouched: Vouched) => unknown) | undefined
}

const probeMs = 10_000

export class Site {
  readonly name: string
  readonly handler: Handler
  /** Whether it is cached, and by whose word. */
  readonly modes: ModeSwitch
  /** What would be done with a request, and why. */
  readonly explain: (wire: WireRequest) => Promise<Explanation>
  readonly #cache: IntervalCache
  readonly #flavour: FlavourWatch
  readonly #upstream: HttpUpstream
  /** What was known about the database at the beginning. */
  readonly #known: Flavour | undefined
  readonly #witness: Witness | undefined
  /** Where another thread keeps the stores, it looks at the segments too. */
  readonly #watcher: SegmentWatcher | undefined

  constructor(common: Common, { name, backend, store, marks, ...options }: SiteOptions) {
    const { clock, limits, budget, scratch, packed, pace, backlog, pieces, via, telemetry } = common
    const { shadowLog, sampleRatio, thread } = common
    this.modes = new ModeSwitch(options.settings, (mode) => {
      // What was found out before may have been about another configuration.
      if (mode === 'shadow') shadowLog.clear(name)
      telemetry?.log.line('info', `the mode is now ${mode}`, { backend: name })
    })
    const settings = () => this.modes.settings
    const { policy } = settings().terms
    const { urls, ...address } = options.upstream
    const url = urls.map(upstreamUrl)
    const tracing = new Tracing({ clock, backend: name, server: onlyServer(url), sampleRatio })
    const hooks = tracing.around(telemetry?.hooks(name))
    const connections = { connections: limits.upstreamConnections, idleTimeoutMs: limits.upstreamTimeoutMs }
    // With one database there is nothing to choose: asking it is the probe.
    const probe = urls.length > 1 && { probe: { path: backend.flavourPath, intervalMs: probeMs } }
    const upstream = new TracedUpstream(
      { ...address, ...connections, ...probe, url, clock, pace, via },
      tracing,
    )
    const flavour = new FlavourWatch(backend, upstream, clock)
    const parts = { backend, store, policy, upstream, clock, budget }
    const { segments: watch, mark, onVouched } = options
    const { segments } = backend
    const isWatched = watch !== undefined && segments !== undefined
    const witness = isWatched ? new Witness() : undefined
    if (isWatched && witness !== undefined && thread === undefined) {
      const watched = { backend: name, segments, settings: watch, upstream, clock, witness }
      this.#watcher = new SegmentWatcher({ ...watched, mark, onVouched, log: telemetry?.log })
    }
    if (watch !== undefined && segments === undefined) {
      telemetry?.log.line('warn', 'segments are not watched: this database tells of none', { backend: name })
    }
    const cache = new IntervalCache({
      ...limits,
      ...parts,
      ...hooks,
      name,
      marks,
      witness,
      shadowLog,
      backlog,
      coalescing: true,
      ...(thread && { claims: thread.claims }),
    })
    this.name = name
    this.handler = new Handler({
      ...limits,
      ...parts,
      ...hooks,
      cache,
      flavour,
      scratch,
      packed,
      pieces,
      via,
      settings,
    })
    this.#cache = cache
    this.explain = (wire) => explainWire({ backend, flavour, cache, settings, clock }, wire)
    this.#flavour = flavour
    this.#upstream = upstream
    flavour.onChange = (found) => thread?.onFlavour(name, found)
    this.#known = thread?.flavours.get(name)
    if (this.#known !== undefined) flavour.adopt(this.#known)
    this.#witness = witness
    const vouched = thread?.vouched.get(name)
    if (vouched !== undefined) witness?.follow(vouched)
  }

  /** What the database said it is; not known while it cannot be asked. */
  get flavour(): Flavour {
    return this.#flavour.current
  }

  /** Another thread has found out what the database is. */
  adoptFlavour(flavour: Flavour): void {
    this.#flavour.adopt(flavour)
  }

  /** Undefined where nothing is. */
  get vouched(): Vouched | undefined {
    return this.#witness?.vouched
  }

  /** Another thread has looked at the segments. */
  adoptVouched(vouched: Vouched): void {
    this.#witness?.follow(vouched)
  }

  /** How the watcher of its segments fares; undefined where there is none. */
  get segments(): SegmentFigures | undefined {
    return this.#watcher?.figures
  }

  figures(): SiteFigures {
    return {
      flights: this.#cache.flights,
      requests: this.handler.inFlight,
      upstreams: this.#upstream.upstreams(),
    }
  }

  /** Whether requests can be passed on. While they cannot, it is looked into: whoever waits for it sends no requests. */
  isReady(): boolean {
    const { hasAnswered } = this.#flavour
    if (!hasAnswered) this.#flavour.noteRequest([])
    return hasAnswered
  }

  /** Asks the database what it is, where that is not known; resolves also when it does not answer. */
  async ask(): Promise<void> {
    this.#watcher?.start()
    if (this.#known === undefined) await this.#flavour.ask([])
  }

  close(): Promise<void> {
    this.#watcher?.close()
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
