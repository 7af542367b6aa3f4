/**
 * Parts of buckets, each under its question, its bucket and its exact bounds: whoever asks for the same part of the same bucket
 * gets it without a query, under the same rules as buckets (TTLs, marks, witness). They are kept in this process only, in a
 * small memory of their own: windows that move with the clock never ask for a part again, and must not evict buckets.
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

/** What is kept of the edges of one plan. */
export interface KeptParts {
  /** Disjoint, in time order; each holds parts of buckets. */
  readonly panes: readonly Pane[]
  /** Of the answer that the last of them came with. */
  readonly headers: HeaderList
}

/** Of one database in one thread. */
const maxBytes = 16 * 1024 * 1024
/** Requests with many ranges have many edges. */
const longestName = 1024
const overhead = 512

type Asked = Pick<Trip, 'key' | 'plan'>

export class PartMemory {
  readonly #budget: Budget
  readonly #kept: BoundedMap<string, KeptParts>

  constructor(budget: Budget) {
    this.#budget = budget
    this.#kept = new BoundedMap({
      maxWeight: maxBytes,
      weightOf: weightOf,
      onRemoved: (bytes) => budget.release(bytes),
    })
    budget.onPressure(
      (bytes) => this.#kept.evictTo(Math.max(0, this.#kept.weight - bytes)),
      () => this.#kept.weight,
    )
  }

  /** Undefined where nothing was kept of exactly these parts. */
  find(asked: Asked): KeptParts | undefined {
    const name = nameOf(asked)
    return name === undefined ? undefined : this.#kept.use(name)
  }

  /** As `find`, without being a use. */
  peek(asked: Asked): KeptParts | undefined {
    const name = nameOf(asked)
    return name === undefined ? undefined : this.#kept.get(name)
  }

  /** Keeps what lies in `buckets` of fetched panes. Returns whether it kept any. */
  keep(asked: Asked, { panes, headers }: KeptParts, buckets: Intervals): boolean {
    const name = nameOf(asked)
    const fetched = partsOf(panes, intersectAll(asked.plan.edges?.buckets ?? [], buckets))
    if (name === undefined || fetched.length === 0) return false
    const known = this.#kept.get(name)?.panes ?? []
    const kept = { panes: withNewer(known, fetched), headers }
    const weight = weightOf(kept, name)
    // Before it is reserved: what makes room for it must not be what it replaces.
    this.#kept.delete(name)
    if (!this.#budget.reserve(weight)) return false
    this.#kept.set(name, kept)
    return this.#kept.has(name)
  }
}

/** Undefined where the parts may not be kept. */
function nameOf({ key, plan: { edges } }: Asked): string | undefined {
  return edges?.isStorable && edges.parts.length <= longestName ? `${key} ${edges.parts}` : undefined
}

const weightOf = ({ panes }: KeptParts, name: string): number =>
  panes.reduce((sum, pane) => sum + measure(pane), overhead + 2 * name.length)

/** Bucket by bucket the newer. What was fetched is copied: a slice would keep all of the answer that it came with. */
function withNewer(known: readonly Pane[], fetched: readonly Pane[]): readonly Pane[] {
  const fetchedAt = clockIn(fetched[0]!)
  const newer = known.filter((pane) => clockIn(pane) > fetchedAt)
  const older = known.filter((pane) => clockIn(pane) <= fetchedAt)
  const added = partsOf(fetched, subtractAll(fetched, newer)).map((pane) => join([pane]))
  return [...newer, ...partsOf(older, subtractAll(older, fetched)), ...added].sort((a, b) => a.from - b.from)
}

/** All buckets of a pane here were fetched at once. */
const clockIn = (pane: Pane): number => fetchedAtOf(clockOf(pane, pane.from))

export interface CoveredParts {
  readonly panes: readonly Pane[]
  readonly coverage: Coverage
  /** The edges that have to be fetched, if any. */
  readonly lacking: Edges | undefined
}

/** What is fresh of the edges of a plan; parts in another frame than `frame` count as absent. */
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
