/** Whether it is safe to switch a cache on, as far as shadow mode has measured, in one plain sentence. */
import type { Figures } from './log.ts'

export interface ShadowVerdict {
  readonly verdict: 'safe' | 'wait' | 'unsafe'
  readonly sentence: string
}

/** Fewer are inconclusive; and this many of them must have been about stored buckets. */
export const neededComparisons = 1000
export const neededFromCache = 100

export function verdictOf(figures: Readonly<Figures>): ShadowVerdict {
  const { comparisons, unexplained, explained } = figures
  const { hit, partial } = figures.wouldBe
  const fromCache = hit + partial
  if (unexplained > 0) {
    const sentence = `Not safe: ${answers(unexplained)} of ${comparisons} would have differed from the database's own in a way that staleness does not explain; look at the mismatches.`
    return { verdict: 'unsafe', sentence }
  }
  const missing = missingOf(comparisons, fromCache)
  if (missing.length > 0) return { verdict: 'wait', sentence: `Wait: ${missing.join(', and ')}.` }
  const stale =
    explained === 0
      ? 'none differed from the database'
      : `${answers(explained)} differed from the database's own only by the staleness that the policy permits`
  const sentence = `Safe: of ${answers(comparisons)}, ${fromCache} would have come from the cache in whole or in part, and ${stale}.`
  return { verdict: 'safe', sentence }
}

function missingOf(comparisons: number, fromCache: number): string[] {
  const missing: string[] = []
  const more = neededComparisons - comparisons
  if (more > 0)
    missing.push(`${comparisons} of ${neededComparisons} comparisons are done, ${more} are missing`)
  if (fromCache === 0) missing.push('no query has come twice while its buckets were fresh')
  else if (fromCache < neededFromCache) {
    missing.push(`only ${answers(fromCache)} would have come from the cache, ${neededFromCache} are needed`)
  }
  return missing
}

const answers = (count: number): string => `${count} ${count === 1 ? 'answer' : 'answers'}`
