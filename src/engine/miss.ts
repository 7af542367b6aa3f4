/** The outcome and the reason of a request that needs the database. */
import { type CoverageRun, countStates } from '../core/coverage-runs.ts'
import type { MissReason } from '../core/decision.ts'
import { countOf, type Intervals } from '../core/interval.ts'
import { askedBy } from './gaps.ts'
import type { CacheRequest } from './trip.ts'

export interface Miss {
  readonly outcome: 'miss' | 'partial'
  readonly reason: MissReason
}

export function missOf(
  runs: readonly CoverageRun[],
  gaps: Intervals,
  { plan, demands }: Pick<CacheRequest, 'plan' | 'demands'>,
): Miss {
  return {
    outcome: countOf(gaps) === countOf(askedBy(plan)) ? 'miss' : 'partial',
    reason: reasonOf(runs, demands.notBefore > Number.NEGATIVE_INFINITY),
  }
}

function reasonOf(runs: readonly CoverageRun[], isDemanding: boolean): MissReason {
  if (runs.some(({ mark }) => mark !== undefined)) return 'purged'
  const { absent, stale } = countStates(runs)
  if (absent > 0) return 'absent'
  if (stale === 0) return 'edge'
  return isDemanding ? 'revalidate' : 'expired'
}
