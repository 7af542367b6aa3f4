/** Input and output of a simulation of staleness: values only, so that other processes can run it. */
import type { ClassReport, MeasuredStaleness } from '../../src/ttl/learned/learning.ts'
import type { ChangeModelName } from './change-models.ts'
import type { Shown } from './staleness-tally.ts'

export type PolicySpec =
  | { readonly kind: 'ladder' }
  | { readonly kind: 'fixed'; readonly ttlS: number }
  | { readonly kind: 'oracle' | 'learned'; readonly budget: number }

export interface StalenessCase {
  /** Panels read from one source for each of these models, in turn. */
  readonly models: readonly ChangeModelName[]
  /** Panels have these policies in turn: there are more than one only to see whether they get along. */
  readonly policies: readonly PolicySpec[]
  readonly seed: number
  readonly windowHours: number
  /** Each looks at one panel, every ten seconds, at a random phase. */
  readonly viewers: number
  /** Whether the backend takes several intervals per query. */
  readonly several: boolean
  readonly warmUpHours: number
  readonly measuredHours: number
  /** How long a query takes. */
  readonly latencyMs?: number
  readonly panels?: number
  /** The last panels are first looked at in an hour of the simulation. */
  readonly late?: { readonly panels: number; readonly fromHour: number }
  /** Whether buckets are read from the text of every answer, to check them against their clocks. */
  readonly checksText?: boolean
}

export interface HourlyCost {
  queries: number
  buckets: number
}

/** Panels with the same model and the same policy. */
export interface CohortRun {
  readonly model: ChangeModelName
  readonly policy: PolicySpec
  readonly isLate: boolean
  /** Over the measured hours, by class of age (`tallyAges`). */
  readonly classes: readonly Shown[]
  /** The same for every hour, the warm-up included, by group of age (`ageGroups`). */
  readonly hours: readonly (readonly (number | undefined)[])[]
}

/** The staleness that the learner measured in one group of ages, and the one it should have: the truth, forgotten as fast as samples are. */
export interface MeasuredGroup extends MeasuredStaleness {
  readonly truth: number | undefined
}

export interface StalenessRun {
  readonly case: StalenessCase
  readonly requests: number
  /** Per hour, over the measured ones. */
  readonly queriesPerHour: number
  readonly bucketsPerHour: number
  /** Of every hour, the warm-up included. */
  readonly costs: readonly HourlyCost[]
  readonly cohorts: readonly CohortRun[]
  /** By group of age; nothing where no policy learns. */
  readonly measured: readonly MeasuredGroup[]
  /** The learned curve of the first policy that learns, at the end. */
  readonly curve: readonly ClassReport[]
}
