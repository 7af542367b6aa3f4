/** The policies that a simulation of staleness compares. */
import { fixed } from '../ttl/fixed.ts'
import { ladder } from '../ttl/ladder.ts'
import { learned } from '../ttl/learned/learned-policy.ts'
import type { LearnedTerms } from '../ttl/learned/learning.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import type { ChangeModel } from './change-models.ts'
import { oraclePolicy } from './oracle-policy.ts'
import type { PolicySpec } from './staleness-case.ts'

export interface PolicyRules {
  readonly model: ChangeModel
  /** Whether the backend takes several intervals per query: buckets need not lapse together then. */
  readonly several: boolean
}

export function policyFrom(spec: PolicySpec, { model, several }: PolicyRules): TtlPolicy {
  switch (spec.kind) {
    case 'ladder':
      return ladder()
    case 'fixed':
      return fixed(1000 * spec.ttlS)
    case 'oracle':
      return oraclePolicy({ model, terms: termsOf(spec.budget), onEpochs: !several })
    case 'learned':
      return learned({ staleness: spec.budget })
  }
}

/** Those of the learned policy. */
export function termsOf(budget: number): LearnedTerms {
  return learned({ staleness: budget }).learns!
}
