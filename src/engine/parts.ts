/**
 * Keeps parts of buckets under key, bucket and exact bounds. A request for the same part of the same bucket gets it without a
 * query, under the same rules as whole buckets (TTLs, marks, witness). Parts are kept per thread, in a small memory of their
 * own and not in the store: windows that move with the clock never request a part twice, and must not evict buckets.
 */
import type { Edges, HeaderList, Plan } from '../backends/backend.ts'
import { BoundedMap } from '../core/bounded-map.ts'
import type { Budget } from '../core/budget.ts'
import { type Coverage, cover, type LookupRules } from '../core/coverage.ts'
import { gapsOf } from '../core/coverage-runs.ts'
import { type Intervals, intersectAll, subtractAll } from '../core/interval.ts'
import { fetchedAtOf } from '../core/lifetime.ts'
import { clockOf, measure, type Pane } from '../core/pane.ts'
import { haveSameFrame, join } from '../core/pane-join.ts'
import { partsOf } from './stored.ts'
import type { Trip } from './trip.ts'

/** The kept parts of the edges of one plan. */
export interface KeptParts {
  /** Disjoint, in time order. */
  readonly panes: readonly Pane[]
  /** The response headers of the newest part. */
  readonly headers: HeaderList
}

/** Per backend and thread. */
const maxBytes = 16 * 1024 * 1024
/** Requests with many ranges have many edges, and are not kept. */
const longestName = 1024
const overhead = 512

type Asked = Pick<Trip, 'key' | 'plan'>

export class PartMemory {
  readonly #kept: BoundedMap<string, KeptParts>

  constructor(budget: Budget) {
    this.#kept = new BoundedMap({ maxWeight: maxBytes, weightOf, budget })
  }

  /** Returns undefined where no part with exactly these bounds is kept. */
  find(asked: Asked): KeptParts | undefined {
    const name = nameOf(asked)
    return name === undefined ? undefined : this.#kept.use(name)
  }

  /** As `find`, without an effect on eviction. */
  peek(asked: Asked): KeptParts | undefined {
    const name = nameOf(asked)
    return name === undefined ? undefined : this.#kept.get(name)
  }

  /** Keeps the parts that lie in `buckets`. Returns whether it kept any. */
  keep(asked: Asked, { panes, headers }: KeptParts, buckets: Intervals): boolean {
    const name = nameOf(asked)
    const fetched = partsOf(panes, intersectAll(asked.plan.edges?.buckets ?? [], buckets))
    if (name === undefined || fetched.length === 0) return false
    const known = this.#kept.get(name)?.panes ?? []
    return this.#kept.set(name, { panes: withNewer(known, fetched), headers }).has(name)
  }
}

/** Returns undefined where the parts must not be kept. */
function nameOf({ key, plan: { edges } }: Asked): string | undefined {
  return edges?.isStorable && edges.parts.length <= longestName ? `${key} ${edges.parts}` : undefined
}

const weightOf = ({ panes }: KeptParts, name: string): number =>
  panes.reduce((sum, pane) => sum + measure(pane), overhead + 2 * name.length)

/** The newer copy of each bucket. Fetched parts are copied: a slice would keep the whole response in memory. */
function withNewer(known: readonly Pane[], fetched: readonly Pane[]): readonly Pane[] {
  const fetchedAt = clockIn(fetched[0]!)
  const newer = known.filter((pane) => clockIn(pane) > fetchedAt)
  const older = known.filter((pane) => clockIn(pane) <= fetchedAt)
  const added = partsOf(fetched, subtractAll(fetched, newer)).map((pane) => join([pane]))
  return [...newer, ...partsOf(older, subtractAll(older, fetched)), ...added].sort((a, b) => a.from - b.from)
}

/** All buckets of a kept pane were fetched by one query. */
const clockIn = (pane: Pane): number => fetchedAtOf(clockOf(pane, pane.from))

export interface CoveredParts {
  readonly panes: readonly Pane[]
  readonly coverage: Coverage
  /** The edges that are not fresh, if any. */
  readonly lacking: Edges | undefined
}

/** The coverage of a plan's edges; parts in another frame than `frame` count as absent. */
export function coverParts(
  { edges }: Pick<Plan, 'edges'>,
  kept: KeptParts | undefined,
  { rules, frame }: { readonly rules: LookupRules; readonly frame: Pane | undefined },
): CoveredParts | undefined {
  if (edges === undefined) return undefined
  const [first] = kept?.panes ?? []
  const panes = kept?.panes.filter((pane) => haveSameFrame(pane, frame ?? first!)) ?? []
  const coverage = cover(edges.buckets, panes, rules)
  const buckets = gapsOf(coverage.runs)
  return { panes, coverage, lacking: buckets.length === 0 ? undefined : { ...edges, buckets } }
}
