/** One database behind the proxy: its connections, its flavour, its cache, and the handling of its requests. */
import type { Flavour, WireRequest } from '../../backends/backend.ts'
import type { Mark } from '../../core/mark.ts'
import type { Claims } from '../../engine/claims.ts'
import type { Explanation } from '../../engine/explain/explain.ts'
import { FlavourWatch } from '../../engine/http/flavour.ts'
import { IntervalCache } from '../../engine/interval-cache.ts'
import type { BackgroundCounts } from '../../engine/learning/counts.ts'
import type { BackendMarks } from '../../engine/marks.ts'
import type { ObjectCache } from '../../engine/objects/objects.ts'
import { WholeCache } from '../../engine/objects/whole-cache.ts'
import type { Witness } from '../../engine/witness.ts'
import type { Cells } from '../../stores/cells.ts'
import type { Store } from '../../stores/store.ts'
import type { QueueFigures, QuotaCounts } from '../../telemetry/quota-families.ts'
import { type StalenessReport, stalenessReport } from '../../ttl/staleness-report.ts'
import { explainWire } from '../admin/explain.ts'
import type { Limiters } from '../quotas/limiters.ts'
import { Quota } from '../quotas/quota.ts'
import { Handler } from '../request/handler.ts'
import { Probation } from '../request/probation.ts'
import { ModeSwitch, policiesOf } from '../request/settings.ts'
import type { UpstreamState } from '../upstream/endpoint.ts'
import type { HttpUpstream } from '../upstream/upstream.ts'
import type { SegmentWatcher } from '../upstream/witness.ts'
import { BackendLearning, type LearnerEvidence } from './backend-learning.ts'
import { segmentsOf, upstreamOf } from './backend-upstream.ts'
import type { Common } from './common.ts'
import { logFlavour, logRecheck } from './flavour-log.ts'
import type { DatabaseOptions } from './options.ts'
import type { KnownDatabase } from './parts.ts'

export interface BackendRuntimeFigures {
  readonly flights: number
  readonly requests: number
  readonly upstreams: readonly UpstreamState[]
  /** Queries since the start that no client waited for. */
  readonly background: BackgroundCounts
  /** Queries that wait in the queue for the database. */
  readonly queue: QueueFigures
  /** Undefined where no client is limited. */
  readonly quota?: QuotaCounts | undefined
}

export interface BackendRuntimeOptions
  extends Omit<DatabaseOptions, 'listen' | 'route' | 'farStore'>,
    PriorState {
  readonly store: Store
  /** Purges and changes. */
  readonly marks: BackendMarks
  /** Where others fetch for the same store. */
  readonly claims?: Claims | undefined
  readonly limiters: Pick<Limiters, 'of' | 'changes'>
  /** The store of learned evidence; only in memory without it. */
  readonly evidenceCells?: Cells | undefined
  /** Where answers are kept as a whole. */
  readonly objects: ObjectCache
  readonly mark: (mark: Mark) => unknown
}

export interface PriorState {
  /** Where another thread has queried the database and watches its segments. */
  readonly known?: KnownDatabase | undefined
  /** The evidence learned about it before it was opened anew. */
  readonly evidence?: LearnerEvidence | undefined
}

export class BackendRuntime {
  readonly name: string
  readonly handler: Handler
  /** Whether it is cached, and by whose word. */
  readonly modes: ModeSwitch
  readonly learning: BackendLearning
  readonly explain: (wire: WireRequest) => Promise<Explanation>
  /** Fetches buckets of recently requested shapes twice, and learns from the differences. */
  readonly sampling: IntervalCache['sampling']
  readonly flavour: FlavourWatch
  /** Where its segments are watched, by this thread or another one. */
  readonly witness: Witness | undefined
  /** In the thread that watches them. */
  readonly watcher: SegmentWatcher | undefined
  readonly #cache: IntervalCache
  readonly #upstream: HttpUpstream
  readonly #quota: Quota
  /** The known flavour of the database at the start. */
  readonly #known: Flavour | undefined

  constructor(common: Common, options: BackendRuntimeOptions) {
    const { name, backend, store, marks, mark, known, objects } = options
    const { clock, limits, budget, backlog, telemetry, shadowLog } = common
    const probation = options.probation && new Probation(options.probation, shadowLog)
    const settings = () => this.modes.settings
    this.name = name
    this.modes = new ModeSwitch(options.settings, {
      onChange(mode) {
        // Earlier findings may concern another configuration.
        if (mode === 'shadow') shadowLog.clear(name)
        telemetry?.log.line('info', `the mode is now ${mode}`, { backend: name })
      },
      heldBack: () => (this.flavour.current.isAssumed === true ? probation?.reason : undefined),
    })
    const { upstream, hooks } = upstreamOf(common, options, settings)
    this.#upstream = upstream
    this.flavour = new FlavourWatch(backend.flavour, upstream, clock)
    const { flavour } = this
    const { witness, watcher } = segmentsOf(common, options, upstream)
    this.witness = witness
    this.watcher = watcher
    this.learning = new BackendLearning({
      ...{ name, backend, clock, hooks: common.hooks },
      ...{ cells: options.evidenceCells, evidence: known?.evidence ?? options.evidence },
    })
    const { policy } = settings().terms
    const parts = { backend, store, policy, upstream, clock, budget }
    const cache = new IntervalCache({
      ...{ ...limits, ...parts, ...hooks, name, marks, witness, mark, backlog },
      ...{ learning: this.learning.learner, probes: common.probes, shadowLog: probation ?? shadowLog },
      ...{ coalescing: true, ...(options.claims && { claims: options.claims }) },
    })
    this.#cache = cache
    this.sampling = cache.sampling
    const whole = new WholeCache({
      ...{ ...limits, ...parts, ...hooks, name, objects, marks, backlog, witness },
    })
    this.#quota = new Quota({
      ...{ backend: name, clock, limiters: options.limiters, log: telemetry?.log },
      terms: () => settings().quota,
      partition: () => settings().terms.identity,
    })
    const onSlowReader = () => telemetry?.metrics.observeCut('slow_reader')
    this.handler = new Handler({
      ...{ ...common, ...limits, ...parts, ...hooks },
      ...{ cache, whole, flavour, onSlowReader, settings, quota: this.#quota },
    })
    const held = () => this.modes.state.heldBack
    this.explain = (wire) =>
      explainWire({ backend, flavour, cache, whole, settings, clock, heldBack: held }, wire)
    flavour.onRecheck = (instead) => logRecheck(telemetry?.log, { name, instead, flavour: flavour.current })
    flavour.onChange = (found) => {
      common.hooks.onFlavour?.(name, found)
      const [url] = options.upstream.urls
      if (telemetry !== undefined) logFlavour(flavour, { name, url: url!, log: telemetry.log })
    }
    this.#known = known?.flavour
    if (this.#known !== undefined) flavour.adopt(this.#known)
    if (known?.vouched !== undefined) witness?.follow(known.vouched)
  }

  figures(): BackendRuntimeFigures {
    return {
      flights: this.#cache.flights,
      requests: this.handler.inFlight,
      upstreams: this.#upstream.upstreams(),
      background: this.#cache.background,
      queue: this.#upstream.queue,
      quota: this.#quota.isActive ? this.#quota.counts : undefined,
    }
  }

  /** Whether the staleness budget is kept, at all nodes that share a store; undefined where there is none. */
  staleness(): StalenessReport | undefined {
    const policies = policiesOf(this.modes.settings).map(({ policy }) => policy)
    return stalenessReport(policies, this.learning.learner)
  }

  /**
   * Whether requests can be forwarded. While they cannot, this starts a check: a load balancer that waits for readiness
   * sends no requests.
   */
  isReady(): boolean {
    const { hasAnswered } = this.flavour
    if (!hasAnswered) this.flavour.noteRequest([])
    return hasAnswered
  }

  /** Queries the flavour of the database, where it is unknown; resolves also when the database does not answer. */
  async ask(): Promise<void> {
    this.watcher?.start()
    if (this.#known === undefined) await this.flavour.ask([])
  }

  get isIdle(): boolean {
    return this.handler.isIdle && this.#cache.flights === 0
  }

  /** It serves its last requests, and looks at the database for no other reason. */
  retire(): void {
    this.watcher?.close()
  }

  close(): Promise<void> {
    this.watcher?.close()
    return this.#upstream.close()
  }
}
