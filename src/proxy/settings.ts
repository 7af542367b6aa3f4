/**
 * What may be changed while requests are under way: how one database is cached, and the rules that make exceptions.
 * Settings are values; a reload replaces them, and every request uses those it found when it came.
 */
import type { HeaderList } from '../backends/backend.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import type { Identity } from './identity.ts'

export interface Terms {
  /** `off`: everything is passed on. */
  readonly mode: 'off' | 'on'
  readonly identity: Identity
  readonly policy: TtlPolicy
  readonly maxStaleMs: number
}

/** What rules can see of a request. */
export interface RuleSubject {
  readonly path: string
  readonly headers: HeaderList
  /** The text of the query. */
  readonly query: string
}

export interface Rule {
  readonly terms: Partial<Terms>
  matches(subject: RuleSubject): boolean
}

export interface Settings {
  readonly terms: Terms
  readonly rules: readonly Rule[]
}

/** The first rule that matches decides; what it does not say is as for everybody. */
export function termsFor({ terms, rules }: Settings, subject: RuleSubject): Terms {
  if (rules.length === 0) return terms
  const rule = rules.find((each) => each.matches(subject))
  return rule === undefined ? terms : { ...terms, ...rule.terms }
}
