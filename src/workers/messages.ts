/** All messages between the main thread and the threads that serve requests. */
import type { Flavour } from '../backends/backend.ts'
import type { DetectedKinds } from '../config/detect.ts'
import type { LoadOptions } from '../config/load.ts'
import type { Key } from '../core/key.ts'
import type { Mark } from '../core/mark.ts'
import type { Vouched } from '../core/witness.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../engine/learning/sampling.ts'
import type { ShadowLog } from '../engine/shadow/log.ts'
import type { LimitTarget } from '../limits/registry-rows.ts'
import type { EvidenceChange } from '../proxy/assembly/backend-learning.ts'
import type { BackendRuntimeFigures } from '../proxy/assembly/backend-runtime.ts'
import type { KnownDatabase } from '../proxy/assembly/parts.ts'
import type { Mode } from '../proxy/request/settings.ts'
import type { ThreadFigures } from '../telemetry/process-figures.ts'
import type { ToMainThread, ToReplica } from './cache/messages.ts'
import type { FromCells, KnownCells, ToCells } from './cells.ts'
import type { FromClaimTable, ToClaimTable } from './claims.ts'
import type { LearnedBatch, NamedEvent } from './learned-relay.ts'
import type { FromPieceMaker, ToPieceMaker } from './pieces.ts'
import type { Batch, Topic } from './relay.ts'
import type { MeterCells } from './shared-meter.ts'

/** The initial state of a worker. Later changes arrive as commands, in the order of the changes. */
export interface WorkerInit {
  /** The worker's place in everything that is divided among all. */
  readonly place: number
  readonly workers: number
  /** The sources of the configuration: every thread reads its own, secrets included. */
  readonly given: LoadOptions
  /** The kinds of the databases, detected by the main thread. */
  readonly kinds: DetectedKinds
  /** The actual listen addresses instead of the configured ones, which may mean "a free port". */
  readonly addresses: ReadonlyMap<string, string>
  readonly via: string
  /** Of the stores behind memory. */
  readonly farStores: readonly string[]
  /** By store, where a store has cells. */
  readonly cells: ReadonlyMap<string, KnownCells>
  readonly marks: ReadonlyMap<string, readonly Mark[]>
  /** Modes that were set while running. */
  readonly modes: ReadonlyMap<string, Mode>
  /** The main thread's knowledge of the databases. */
  readonly known: ReadonlyMap<string, KnownDatabase>
  readonly meter: MeterCells
}

/** The state that a worker needs for another configuration. */
export type PreparedState = Pick<
  WorkerInit,
  'given' | 'kinds' | 'addresses' | 'farStores' | 'cells' | 'marks' | 'known'
>

/** The result: the URLs of the addresses that were opened, or why it failed. */
export type Readiness = { readonly urls: ReadonlyMap<string, string> } | WorkerFailure

export interface WorkerFailure {
  readonly code: string
  readonly message: string
  readonly remedy: string
}

export type WorkerCommand =
  | { readonly is: 'marks'; readonly store: string; readonly marks: readonly Mark[] }
  | { readonly is: 'mode'; readonly backend: string; readonly mode: Mode }
  /** Stored limits have changed. */
  | { readonly is: 'limits'; readonly target: LimitTarget }
  /** Make another configuration ready, without serving it. */
  | (PreparedState & { readonly is: 'prepare' })
  /** Serve the prepared state. */
  | { readonly is: 'commit' }
  /** Discard the prepared state. */
  | { readonly is: 'discard' }
  | { readonly is: 'flavour'; readonly backend: string; readonly flavour: Flavour }
  | { readonly is: 'vouched'; readonly backend: string; readonly vouched: Vouched }
  | { readonly is: 'evidence'; readonly backend: string; readonly change: EvidenceChange }
  /** Which of its shapes can be sampled? */
  | { readonly is: 'sampled-keys'; readonly backend: string }
  | { readonly is: 'sample'; readonly backend: string; readonly order: SamplingOrder }
  /** Drain, and end. */
  | { readonly is: 'close' }

/** The answers of a worker that has carried out a command; commands that are not here have none. */
interface CommandAnswers {
  readonly prepare: Readiness
  readonly 'sampled-keys': readonly Key[]
  readonly sample: Sampled | NotSampled
}

export type CommandAnswer = CommandAnswers[keyof CommandAnswers] | undefined

export type AnswerTo<C extends WorkerCommand> = C['is'] extends keyof CommandAnswers
  ? CommandAnswers[C['is']]
  : undefined

export type ToWorker =
  | ToReplica
  | FromClaimTable
  | FromCells
  | FromPieceMaker
  | { readonly kind: 'command'; readonly id: number; readonly command: WorkerCommand }
  /** A batch was taken. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'learned-taken' }
  /** Other threads have observed it. */
  | { readonly kind: 'learned'; readonly events: readonly NamedEvent[] }

type ShadowCalls = Pick<ShadowLog, 'equal' | 'skip' | 'mismatch'>

/** A finding of shadow mode, as the call of the log that it becomes. */
export type ShadowFinding = {
  [Name in keyof ShadowCalls]: {
    readonly kind: 'shadow'
    readonly call: Name
    readonly given: Parameters<ShadowCalls[Name]>
  }
}[keyof ShadowCalls]

export interface WorkerFigures {
  readonly databases: ReadonlyMap<string, BackendRuntimeFigures>
  /** Undefined until the first report. */
  readonly thread: ThreadFigures | undefined
  readonly spans: { readonly sent: number; readonly dropped: number } | undefined
}

export type FromWorker =
  | ToMainThread
  | ToClaimTable
  | ToCells
  | ToPieceMaker
  | Batch
  | LearnedBatch
  | Topic
  | ShadowFinding
  /** It listens; where each database is reached. */
  | { readonly kind: 'ready'; readonly urls: ReadonlyMap<string, string> }
  | (WorkerFailure & { readonly kind: 'failed' })
  | { readonly kind: 'done'; readonly id: number; readonly answer: CommandAnswer }
  | { readonly kind: 'figures'; readonly figures: WorkerFigures }
  | { readonly kind: 'flavour'; readonly backend: string; readonly flavour: Flavour }
  /** A mark that it made, for all threads. */
  | { readonly kind: 'mark'; readonly store: string; readonly mark: Mark }
  /** Little memory is left: the main thread is to evict. */
  | { readonly kind: 'tight' }
