/** The intervals of a request that have to be fetched, and why, from the result of its lookup. */
import type { BackendCapabilities, Edges, Plan } from '../backends/backend.ts'
import { cover, type LookupRules } from '../core/coverage.ts'
import { type CoverageRun, countStates, gapOf, gapsOf } from '../core/coverage-runs.ts'
import type { MissReason } from '../core/decision.ts'
import { notOver } from '../core/expiry.ts'
import { countOf, hullOf, type Intervals, intersectAll, nothing, uniteAll } from '../core/interval.ts'
import type { Pane } from '../core/pane.ts'
import type { TtlPolicy } from '../ttl/policy.ts'
import type { CacheRequest } from './trip.ts'

/** A query with more intervals costs the database more than the buckets between them. */
const maxIntervals = 256

interface Asked extends Pick<Plan, 'whole'> {
  /** The edges to fetch. */
  readonly edges?: Edges | undefined
}

/** Nothing on a full hit. */
export function gapsIn(
  plan: Asked,
  runs: readonly CoverageRun[],
  { severalIntervals }: Pick<BackendCapabilities, 'severalIntervals'>,
): Intervals {
  const { edges } = plan
  if (edges === undefined && runs.every(isFresh)) return nothing
  if (!severalIntervals) {
    const gap = gapOf(runs)
    return [hullOf(withEdges(gap === undefined ? nothing : [gap], edges))]
  }
  const gaps = withEdges(gapsOf(runs), edges)
  return gaps.length <= maxIntervals ? gaps : intersectAll([hullOf(gaps)], askedBy(plan))
}

export interface Stored {
  readonly panes: readonly Pane[]
  readonly rules: LookupRules & { readonly policy: TtlPolicy }
}

/**
 * Buckets that a query fetches along, where it can have several intervals: buckets that lapse before the next query
 * could be due. Buckets that were fetched one by one lapse one by one, and every one of them would be a query
 * (simulated: 30 viewers of one panel caused 39 a minute instead of 12; docs/performance.md). Where no edge of the
 * request is kept, every request is a query, and lapsing buckets cost none of their own.
 */
export function lapsingIn(
  { whole, edges }: Asked,
  { panes, rules }: Stored,
  capabilities: Pick<BackendCapabilities, 'severalIntervals'>,
): Intervals {
  if (!capabilities.severalIntervals || edges !== undefined) return nothing
  const now = rules.now + horizonOf(rules.policy)
  const { runs } = cover(whole, panes, { ...rules, now, freshAt: now })
  return gapsIn({ whole }, runs, capabilities)
}

/**
 * Nearly the shortest TTL, since no two queries need be closer to each other than that; less of it where most TTLs are
 * as short, because buckets that lapse late would then be fetched early for nothing.
 */
const horizonOf = (policy: TtlPolicy): number => Math.min(0.8 * policy.ttl(notOver), policy.capMs / 50)

const isFresh = ({ state }: CoverageRun): boolean => state === 'fresh'

const withEdges = (gaps: Intervals, edges: Edges | undefined): Intervals =>
  edges === undefined ? gaps : uniteAll(gaps, edges.buckets)

/** Every bucket that is in the answer, as a whole or in part. */
export const askedBy = ({ whole, edges }: Asked): Intervals =>
  edges === undefined ? whole : uniteAll(whole, edges.buckets)

/** The outcome and the reason of a request that needs the database. */
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
