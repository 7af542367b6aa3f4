/**
 * What a house is given where several threads serve requests. One thread is the keeper: it has the stores, the marks and
 * everything that looks on, and serves no requests. The others have a house each, with what they need from the keeper in
 * the place of stores of their own.
 */
import type { Flavour } from '../../backends/backend.ts'
import type { Budget } from '../../core/budget.ts'
import type { Key } from '../../core/key.ts'
import type { Mark } from '../../core/mark.ts'
import type { Vouched } from '../../core/witness.ts'
import type { Claims } from '../../engine/claims.ts'
import type { ShadowLog } from '../../engine/shadow/log.ts'
import type { Store } from '../../stores/store.ts'
import type { Listener } from '../front/listener.ts'
import type { Mode } from '../request/settings.ts'
import type { UpstreamState } from '../upstream/endpoint.ts'
import type { Site } from './site.ts'
import type { Storage, Tiers } from './tiers.ts'

/** What is going on at a database, in all threads together. */
export interface SiteFigures {
  readonly flights: number
  readonly requests: number
  readonly upstreams: readonly UpstreamState[]
}

/** The house of the keeper. */
export interface KeeperParts {
  /** Of which a part is left for the threads: they can take what is free, but not evict. */
  readonly budget: Budget
  /** Threads that read panes, the keeper included. */
  readonly threads: number
  /** Memory has another thing of a key than before. */
  readonly onChange: (key: Key) => void
  /** Resolves when all threads know. */
  readonly onMarks: (store: string, marks: readonly Mark[]) => Promise<void>
  readonly onVouched: (backend: string, vouched: Vouched) => Promise<void>
  readonly onMode: (backend: string, mode: Mode) => Promise<void>
  /** Starts the threads, which listen; closing what it gives ends them. */
  readonly front: (inside: Inside) => Promise<ReadonlyMap<string, Listener>>
  readonly figures: (backend: string) => SiteFigures
}

/** What the threads are served from. */
export interface Inside {
  readonly tiers: Tiers
  readonly memory: Store
  readonly sites: readonly Site[]
  readonly via: string
  readonly shadowLog: ShadowLog
}

/** The house of a thread that serves requests. */
export interface ThreadParts {
  readonly budget: Budget
  readonly storage: Storage
  readonly claims: Claims
  /** All threads of a process call themselves the same: a loop may lead to another one. */
  readonly via: string
  readonly shadowLog: ShadowLog
  /** What the keeper knows about the databases; by name. */
  readonly flavours: ReadonlyMap<string, Flavour>
  /** What the keeper vouches for; by name. */
  readonly vouched: ReadonlyMap<string, Vouched>
  readonly onFlavour: (backend: string, flavour: Flavour) => void
}
