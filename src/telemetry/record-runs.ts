/** The sources of a request's buckets, in runs, where one gap in one window does not describe them. */
import type { Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { startOf } from '../core/grid.ts'
import { countOf, type Intervals, intersectAll, nothing, subtractAll, uniteAll } from '../core/interval.ts'

export type BucketSource = 'cache' | 'origin' | 'missing'

export interface RecordRun {
  readonly source: BucketSource
  readonly from: EpochMs
  readonly to: EpochMs
}

/** Beyond this, runs are merged into one. */
const maxPieces = 32

/** All buckets of a request, including buckets of which it needs a part. */
export const bucketsAsked = ({ whole, edges }: Plan): number =>
  countOf(whole) + (edges === undefined ? 0 : countOf(edges.buckets))

/** In time order; undefined where there is one gap at most, in one window, or where there are too many pieces. */
export function piecesOf(plan: Plan, decision: Decision): readonly RecordRun[] | undefined {
  const { gaps = nothing, known, outcome } = decision
  const { whole, edges, grid } = plan
  if (gaps.length <= 1 && edges === undefined && whole.length <= 1) return undefined
  const asked = uniteAll(whole, edges?.buckets ?? nothing)
  const origin = outcome === 'bypass' ? asked : intersectAll(asked, gaps)
  const missing = known === undefined ? nothing : subtractAll(asked, [known])
  const cache = subtractAll(subtractAll(asked, origin), missing)
  const runsOf = (source: BucketSource, runs: Intervals): RecordRun[] =>
    runs.map((run) => ({ source, from: startOf(grid, run.from), to: startOf(grid, run.to) }))
  const pieces = [...runsOf('cache', cache), ...runsOf('origin', origin), ...runsOf('missing', missing)]
  return pieces.length > maxPieces ? undefined : pieces.sort((a, b) => a.from - b.from)
}
