/**
 * The learner of this thread for one backend. It belongs to no settings, so that it outlives reloads and changes of
 * mode. All threads of a process exchange their observations; the thread that has the store keeps the evidence there.
 */
import type { Backend } from '../../backends/backend.ts'
import type { Clock } from '../../core/clock.ts'
import {
  type EvidenceFigures,
  type EvidenceHolder,
  SharedEvidence,
} from '../../engine/learning/shared-evidence.ts'
import type { Cells } from '../../stores/cells.ts'
import { type EvidenceRow, Learner } from '../../ttl/learned/learner.ts'
import { countChanged, type LearnedEvent } from '../../ttl/learned/learning.ts'

/** The evidence of a learner: threads that start later begin with it. */
export interface LearnerEvidence {
  readonly own: readonly EvidenceRow[]
  /** Of other nodes. */
  readonly foreign: readonly EvidenceRow[]
}

/** A change that came from the store: the evidence of other nodes, rows that are this node's now, or rows that were and are another's now. */
export type EvidenceChange =
  | Pick<LearnerEvidence, 'foreign'>
  | { readonly adopted: readonly EvidenceRow[] }
  | { readonly disowned: readonly EvidenceRow[] }

export interface LearningHooks {
  /** Called with the observations of this thread. */
  readonly onLearned?: (backend: string, event: LearnedEvent) => void
  readonly onEvidence?: (backend: string, change: EvidenceChange) => void
}

export interface BackendLearningOptions {
  readonly name: string
  readonly backend: Pick<Backend, 'capabilities'>
  readonly clock: Clock
  readonly hooks: LearningHooks
  /** Where evidence is kept; in memory only without. */
  readonly cells?: Cells | undefined
  /** The evidence of other threads so far. */
  readonly evidence?: LearnerEvidence | undefined
}

export interface LearningCounts {
  /** Stored buckets that were fetched again since the start, by result. */
  readonly refetched: { readonly same: number; readonly changed: number }
  /** Events that were not sent to other threads, because the main thread was behind. */
  readonly dropped: number
}

export interface LearningFigures extends LearningCounts {
  /** Observed since the start. */
  readonly events: number
  /** Shapes and data sources with evidence of this node. */
  readonly shapes: number
  readonly sources: number
  /** In the store. */
  readonly rows: EvidenceFigures
}

export class BackendLearning {
  readonly learner: Learner
  readonly #options: BackendLearningOptions
  readonly #shared: SharedEvidence | undefined
  #foreign: readonly EvidenceRow[] = []
  #events = 0
  #dropped = 0
  readonly #refetched = { same: 0, changed: 0 }

  constructor(options: BackendLearningOptions) {
    const { name, backend, clock, hooks, cells, evidence } = options
    this.#options = options
    this.learner = new Learner({
      clock,
      lapsesOnEpochs: !backend.capabilities.severalIntervals,
      onEvent: (event) => {
        this.#count(event)
        hooks.onLearned?.(name, event)
      },
    })
    this.#shared = cells && new SharedEvidence({ cells, clock, backend: name, learner: this.#holder() })
    if (evidence === undefined) return
    this.learner.adopt(evidence.own)
    this.follow(evidence)
  }

  /** Another thread has observed it. */
  apply(event: LearnedEvent): void {
    this.#count(event)
    this.learner.apply(event)
  }

  noteDropped(events: number): void {
    this.#dropped += events
  }

  /** The thread that has the store has read it there. */
  follow(change: EvidenceChange): void {
    if ('adopted' in change) this.learner.adopt(change.adopted)
    else if ('disowned' in change) this.learner.disown(change.disowned)
    else {
      this.#foreign = change.foreign
      this.learner.setForeign(change.foreign)
    }
  }

  get evidence(): LearnerEvidence {
    return { own: this.learner.own(), foreign: this.#foreign }
  }

  figures(): LearningFigures {
    const own = this.learner.own()
    const count = (level: EvidenceRow['level']) => own.filter((row) => row.level === level).length
    return {
      ...{ events: this.#events, shapes: count('shape'), sources: count('source') },
      rows: this.#shared?.figures ?? { own: 0, foreign: 0 },
      ...this.counts(),
    }
  }

  /** Without the figures that need a pass over all evidence. */
  counts(): LearningCounts {
    return { refetched: { ...this.#refetched }, dropped: this.#dropped }
  }

  /** Resolves when the evidence in the store has been taken in, or cannot be read. */
  async load(): Promise<void> {
    await this.#shared?.load()
  }

  /** Await before the store is closed. */
  async close(): Promise<void> {
    await this.#shared?.close()
  }

  #count(event: LearnedEvent): void {
    this.#events++
    if (event.kind !== 'refetch' || event.isHistory) return
    const changed = countChanged(event)
    this.#refetched.changed += changed
    this.#refetched.same += event.changed.length - changed
  }

  /** All threads take in the changes that come from the store. */
  #holder(): EvidenceHolder {
    const { name, hooks } = this.#options
    const publish = (change: EvidenceChange) => {
      this.follow(change)
      hooks.onEvidence?.(name, change)
    }
    return {
      own: () => this.learner.own(),
      setForeign: (foreign) => publish({ foreign }),
      adopt: (adopted) => publish({ adopted }),
      disown: (disowned) => publish({ disowned }),
    }
  }
}
