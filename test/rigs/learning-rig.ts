/** A learner that learns nothing: it gives one policy to every shape, and records its events. */
import type {
  ClassReport,
  LearnedEvent,
  Learning,
  Refetch,
  StalenessSample,
} from '../../src/ttl/learned/learning.ts'
import type { TtlPolicy } from '../../src/ttl/policy.ts'
import { learnedTerms } from './refetches.ts'

/** `policy`, for a rig whose shapes learn. */
export const learned = (policy: TtlPolicy): TtlPolicy => ({ ...policy, learns: learnedTerms })

export class RememberingLearner implements Learning {
  readonly events: LearnedEvent[] = []
  readonly #policy: TtlPolicy

  constructor(policy: TtlPolicy) {
    this.#policy = policy
  }

  policyFor(): TtlPolicy {
    return this.#policy
  }

  observe(event: LearnedEvent): void {
    this.events.push(event)
  }

  report(): readonly ClassReport[] {
    return []
  }

  /** The refetches since the last call. */
  takeRefetches(): Refetch[] {
    return this.events.splice(0).filter((event) => event.kind === 'refetch')
  }

  get samples(): readonly StalenessSample[] {
    return this.events.filter((event) => event.kind === 'sample')
  }
}
