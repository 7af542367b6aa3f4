/** Windowpane as a library: one proxy in front of one database. */
import type { Backend, Flavour } from '../../backends/backend.ts'
import type { Budget } from '../../core/budget.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { allOn, type RuntimeSwitches } from '../../core/runtime.ts'
import type { Identity } from '../../engine/http/identity.ts'
import { usualWholeSettings, type WholeSettings } from '../../engine/objects/whole-terms.ts'
import type { RewriteTerms } from '../../engine/rewrites.ts'
import type { Store } from '../../stores/store.ts'
import { ladder } from '../../ttl/ladder.ts'
import type { TtlPolicy } from '../../ttl/policy.ts'
import { stretched } from '../../ttl/stretched.ts'
import { type Limits, limitsOf } from '../limits.ts'
import type { Settings } from '../request/settings.ts'
import { startServer } from './server.ts'

export interface WindowpaneOptions extends Pick<RewriteTerms, 'edges' | 'align'> {
  /** The database's URL. */
  readonly upstream: string
  readonly backend: Backend
  /** host:port; port 0 takes a free one. */
  readonly listen?: string
  readonly policy?: TtlPolicy
  readonly identity?: Identity
  /** How answers are cached as a whole; `false`: none are. */
  readonly objects?: WholeSettings | false
  readonly limits?: Partial<Limits>
  /** Features that may rely on internals of Node and V8; all of them by default. */
  readonly runtime?: RuntimeSwitches
  readonly clock?: Clock
  /** Instead of the memory store. */
  readonly store?: (budget: Budget) => Store
}

export interface Windowpane {
  readonly url: string
  /** The flavour of the database; unknown while it cannot be queried. */
  readonly flavour: Flavour
  /** Stops listening, lets requests under way finish within the drain limit, then closes everything. */
  close(): Promise<void>
}

/** Windowpane in front of one database, with the same settings as long as it runs. */
export async function startWindowpane(options: WindowpaneOptions): Promise<Windowpane> {
  const limits = limitsOf(options.limits)
  const { identity = 'separate', runtime = allOn, store } = options
  const { objects = usualWholeSettings, edges = 'exact', align = false } = options
  const policy = stretched(options.policy ?? ladder(), options.backend.capabilities.settledAgeMs)
  const terms = { mode: 'on', identity, policy, maxStaleMs: limits.maxStaleMs, edges, align } as const
  const whole = objects === false ? undefined : objects
  const settings: Settings = { terms, rules: [], whole }
  const server = await startServer({
    listen: options.listen ?? '127.0.0.1:9191',
    limits,
    runtime,
    clock: options.clock ?? systemClock,
    databases: [
      {
        name: 'main',
        backend: options.backend,
        upstream: { urls: [options.upstream] },
        settings: () => settings,
      },
    ],
    ...(store && { store: ({ budget }) => store(budget) }),
  })
  return {
    url: server.url,
    get flavour() {
      return server.databases[0]!.flavour
    },
    close: () => server.close(),
  }
}
