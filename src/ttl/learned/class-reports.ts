/** The learned curve, class by class, as operators see it. */
import { ageBorders, endOfClass } from './age-classes.ts'
import { oneSided95 } from './bounds.ts'
import { beliefOf, type Chain } from './hierarchy.ts'
import { tablePolicy } from './learned-policy.ts'
import type { ClassReport, MeasuredStaleness } from './learning.ts'
import type { Belief } from './level.ts'
import { plateauAges, type TableRules, tableOf, ttlWithin } from './ttl-table.ts'

export interface ReportRules extends TableRules {
  readonly prior: Belief
  readonly measured: (ageMs: number) => MeasuredStaleness
}

export function reportOf(chain: Chain, rules: ReportRules): readonly ClassReport[] {
  const { terms, prior, measured } = rules
  const { floorMs, capMs } = terms
  const belief = beliefOf(chain, prior)
  const { uppers: uppers95 } = beliefOf(chain, prior, oneSided95)
  const policy = tablePolicy(tableOf(belief, rules), terms)
  return Array.from(ageBorders, (fromMs, at) => {
    const toMs = endOfClass(ageBorders, at)
    // Open buckets have the floor, whatever their rate. It binds where that is too high for it.
    const isOpen = fromMs < 0
    const ages = isOpen ? [-floorMs] : plateauAges(at)
    const asked = Math.min(...ages.map((age) => ttlWithin(rules, { at, age }, belief)))
    return {
      fromMs,
      toMs,
      rate: belief.rates[at]!,
      rateUpper95: uppers95[at]!,
      observations: belief.observations[at]!,
      ttlMs: Math.min(...ages.map(policy.ttl)),
      source: belief.origins[at]!,
      boundBy: asked < floorMs ? 'floor' : asked >= capMs && !isOpen ? 'cap' : undefined,
      // Most ages of the last class are in the last group, although it begins in the one before.
      staleness: measured(toMs === Number.POSITIVE_INFINITY ? toMs : ages[0]!),
    }
  })
}
