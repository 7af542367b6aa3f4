/**
 * The parts of a server that a process with several servers shares between them. Each part is independent; without any,
 * a server creates its own.
 */
import type { Flavour } from '../../backends/backend.ts'
import type { Budget } from '../../core/budget.ts'
import type { GarbageWatch } from '../../core/garbage.ts'
import type { Mark } from '../../core/mark.ts'
import type { Vouched } from '../../core/witness.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../../engine/learning/sampling.ts'
import type { ShadowLog } from '../../engine/shadow/log.ts'
import type { LimitTarget } from '../../limits/registry-rows.ts'
import type { PieceMaker } from '../compression/pieces-maker.ts'
import type { Mode } from '../request/settings.ts'
import type { LearnerEvidence, LearningHooks } from './backend-learning.ts'
import type { BackendRuntime, BackendRuntimeFigures } from './backend-runtime.ts'
import type { Listeners } from './listeners.ts'
import type { Storage } from './tiers.ts'

export interface ServerParts {
  readonly budget?: Budget
  /** Counts the buffers that this server makes. */
  readonly garbage?: GarbageWatch | undefined
  /** How many servers share the limits of the process. */
  readonly servers?: number
  /** Instead of a thread of its own. */
  readonly pieceMaker?: PieceMaker
  /** Instead of memory and far stores of its own. */
  readonly storage?: Storage
  readonly via?: string
  readonly shadowLog?: ShadowLog
  /** The known databases, by name. Their segments are watched elsewhere. */
  readonly known?: ReadonlyMap<string, KnownDatabase>
  /** Others listen on the same addresses. */
  readonly reusePort?: boolean
  /** False: another thread opens the unix sockets, which threads cannot share. */
  readonly opensSockets?: boolean
  /** Instead of listeners of its own. `internals`: the parts of the server once they are open. */
  readonly listeners?: (internals: () => ServerInternals) => Listeners
  /** The figures of a database, where others serve its requests too. */
  readonly figures?: (backend: string) => BackendRuntimeFigures
  /** Where others serve the requests of a database: only they know the shapes that can be sampled. */
  readonly sample?: (backend: string, order: SamplingOrder) => Promise<Sampled | NotSampled>
  readonly hooks?: ServerHooks
  /** Awaited when no request is under way any more, while the stores are still open. */
  readonly beforeStoresClose?: () => Promise<void>
}

export interface KnownDatabase {
  readonly flavour: Flavour
  readonly vouched: Vouched | undefined
  /** The evidence of other threads about it so far. */
  readonly evidence: LearnerEvidence
}

/** Called on changes; a promise is awaited before the change counts as made. */
export interface ServerHooks extends LearningHooks {
  /** `store`: the name of a far store; '' is memory alone. */
  readonly onMarks?: (store: string, marks: readonly Mark[]) => Promise<void>
  /** Called with a mark that was made in this thread, where another one keeps the marks. */
  readonly onMark?: (store: string, mark: Mark) => void
  readonly onVouched?: (backend: string, vouched: Vouched) => Promise<void>
  readonly onMode?: (backend: string, mode: Mode) => Promise<void>
  readonly onFlavour?: (backend: string, flavour: Flavour) => void
  /** Stored limits have changed: threads that have them cached are to read them again. */
  readonly onLimits?: (target: LimitTarget) => Promise<void>
}

/** The running parts of a server, for the threads that serve its requests. */
export interface ServerInternals {
  readonly storage: Storage
  readonly backendRuntimes: readonly BackendRuntime[]
  readonly via: string
  readonly shadowLog: ShadowLog
}
