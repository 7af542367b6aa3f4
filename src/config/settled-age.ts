/** Settings of a database whose data changes later than policies assume. */
import type { Settings, Terms } from '../proxy/request/settings.ts'
import { stretched } from '../ttl/stretched.ts'

/** The same object for the same settings: a change of settings is seen by that. */
export function withSettledAge(configured: () => Settings, settledAgeMs: number): () => Settings {
  if (settledAgeMs === 0) return configured
  let seen: Settings | undefined
  let changed: Settings
  return () => {
    const settings = configured()
    if (settings !== seen) {
      const rules = settings.rules.map((rule) => ({ ...rule, terms: settledTerms(rule.terms, settledAgeMs) }))
      changed = { ...settings, terms: settledTerms(settings.terms, settledAgeMs), rules }
      seen = settings
    }
    return changed
  }
}

const settledTerms = <T extends Partial<Terms>>(terms: T, settledAgeMs: number): T =>
  terms.policy === undefined ? terms : { ...terms, policy: stretched(terms.policy, settledAgeMs) }
