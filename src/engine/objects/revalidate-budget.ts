/**
 * How long whole answers stay fresh where the operator gives a staleness budget instead of a time. Every regeneration shows
 * whether an answer has changed since the version before it; answers of one endpoint are judged together.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import { type ChangeObservation, estimateRate } from '../../ttl/change-rate.ts'
import { computeTtl } from '../../ttl/staleness-budget.ts'
import type { ObjectTerms, Regenerated } from './objects.ts'

/** Of fewer regenerations nothing is concluded: the usual terms hold. */
const minObserved = 10
const maxObserved = 256
const maxEndpoints = 100
/** However seldom answers change, they are not used longer than this before they are fetched again. */
export const longestSeconds = 3600

interface Evidence {
  readonly observed: ChangeObservation[]
  /** The upper bound of the rate at 95 % confidence, in changes per second; undefined until it is needed. */
  upper: number | undefined
}

export class RevalidateBudget {
  readonly #evidence = new BoundedMap<string, Evidence>({ maxEntries: maxEndpoints })

  observe(endpoint: string, { gapMs, isChanged }: Regenerated): void {
    if (!(gapMs > 0)) return
    const known = this.#evidence.get(endpoint)
    const evidence = known ?? { observed: [], upper: undefined }
    if (known === undefined) this.#evidence.set(endpoint, evidence)
    evidence.observed.push({ gap: gapMs / 1000, changed: isChanged })
    if (evidence.observed.length > maxObserved) evidence.observed.shift()
    evidence.upper = undefined
  }

  /**
   * The terms with the longest use that keeps the budget: for half of it an answer is fresh, for the other half it is served
   * while it is fetched again.
   */
  termsFor(endpoint: string, budget: number, terms: Required<ObjectTerms>): Required<ObjectTerms> {
    const evidence = this.#evidence.get(endpoint)
    if (evidence === undefined || evidence.observed.length < minObserved) return terms
    evidence.upper ??= estimateRate(evidence.observed).upper95
    const seconds = Math.max(1, Math.floor(Math.min(longestSeconds, computeTtl(evidence.upper, budget))))
    const revalidateSeconds = Math.ceil(seconds / 2)
    return { ...terms, revalidateSeconds, staleWhileRevalidateSeconds: seconds - revalidateSeconds }
  }
}
