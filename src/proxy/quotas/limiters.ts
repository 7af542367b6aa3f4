/** The limiters of a server: one for each set of terms, all on the same rows. */
import type { Clock } from '../../core/clock.ts'
import type { Limiter, LimitResolver, ResolvedLimits } from '../../limits/limit.ts'
import { limiter } from '../../limits/limiter.ts'
import type { Cells } from '../../stores/cells.ts'
import type { QuotaTerms } from './terms.ts'

/** Another limiter after a reload: rows are rescaled to changed limits when they are used next. */
export function limitersOver(cells: Cells, clock: Clock): (terms: QuotaTerms) => Limiter {
  const made = new WeakMap<QuotaTerms, Limiter>()
  return (terms) => {
    const known = made.get(terms)
    if (known !== undefined) return known
    const { multiplier, onUnavailable } = terms
    const fresh = limiter(cells, { clock, resolver: configuredLimits(terms), multiplier, onUnavailable })
    made.set(terms, fresh)
    return fresh
  }
}

/** Those of the configuration: a backend's own limits replace those of the system. */
export function configuredLimits({ resource, system }: QuotaTerms): LimitResolver {
  const resolved: ResolvedLimits | undefined =
    resource !== undefined
      ? { source: 'resource', limits: resource }
      : system && { source: 'system', limits: system }
  return { resolve: () => resolved }
}
