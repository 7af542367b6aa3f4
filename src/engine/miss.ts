/** What a request is called that needs the database, and why it does. */
import { type CoverageRun, countStates } from '../core/coverage.ts'
import type { MissReason } from '../core/decision.ts'
import { type Interval, lengthOf } from '../core/interval.ts'
import type { CacheRequest } from './trip.ts'

export interface Miss {
  readonly outcome: 'miss' | 'partial'
  readonly reason: MissReason
}

export function missOf(
  runs: readonly CoverageRun[],
  gap: Interval,
  { plan, demands }: Pick<CacheRequest, 'plan' | 'demands'>,
): Miss {
  return {
    outcome: lengthOf(gap) === lengthOf(plan.window) ? 'miss' : 'partial',
    reason: reasonOf(runs, demands.notBefore > Number.NEGATIVE_INFINITY),
  }
}

function reasonOf(runs: readonly CoverageRun[], isDemanding: boolean): MissReason {
  if (runs.some(({ mark }) => mark !== undefined)) return 'purged'
  if (countStates(runs).absent > 0) return 'absent'
  return isDemanding ? 'revalidate' : 'expired'
}
