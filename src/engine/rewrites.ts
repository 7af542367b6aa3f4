/**
 * Opt-in exceptions from "the same answer": the plan of a request is replaced by the plan of a slightly different request that
 * shares more buckets with others. The answer equals the database's answer to that request; `Plan.rewritten` names the exception.
 */
import type { Backend, Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { notOver } from '../core/expiry.ts'
import { bucketAt, endOf, type Grid, isSameGrid, startOf } from '../core/grid.ts'
import { uniteAll } from '../core/interval.ts'
import type { TimeSpan } from '../core/witness.ts'
import type { TtlPolicy } from '../ttl/policy.ts'

/**
 * `exact`: the window stays as requested. `whole`: the window is widened to whole buckets. `now`: a window that ends now gets
 * a whole last bucket, and begins at most one floor of the policy earlier.
 */
export const edgeTreatments = ['exact', 'whole', 'now'] as const
export type EdgeTreatment = (typeof edgeTreatments)[number]

export interface RewriteTerms {
  readonly edges?: EdgeTreatment
  /** Start and end of a range on a grid of points are floored to multiples of the step. */
  readonly align?: boolean
  readonly policy: TtlPolicy
}

/** Returns the plan unchanged where no exception applies, or where the other request is not eligible. */
export function rewritePlan(
  backend: Pick<Backend, 'over'>,
  plan: Plan,
  { terms, now }: { readonly terms: RewriteTerms; readonly now: EpochMs },
): Plan {
  const exception = backend.over && exceptionFor(plan, terms, now)
  if (exception === undefined || areEqual(exception.asked, plan.asked!)) return plan
  const { asked, rewritten } = exception
  const other = backend.over!(plan, asked, now)
  if ('bypass' in other) return plan
  // The bounds were computed on the grid of the client's own request.
  if (plan.grid.kind === 'cell' && !isSameGrid(other.grid, plan.grid)) return plan
  return { ...other, rewritten }
}

const areEqual = (some: readonly TimeSpan[], others: readonly TimeSpan[]): boolean =>
  some.length === others.length &&
  some.every(({ from, to }, i) => from === others[i]!.from && to === others[i]!.to)

interface Exception {
  readonly asked: readonly TimeSpan[]
  readonly rewritten: string
}

function exceptionFor(plan: Plan, terms: RewriteTerms, now: EpochMs): Exception | undefined {
  const { grid, asked, edges } = plan
  if (asked === undefined) return undefined
  if (grid.kind === 'point') {
    return terms.align === true && grid.origin !== 0
      ? { asked: asked.map((span) => floored(span, grid.step)), rewritten: 'align' }
      : undefined
  }
  if (edges === undefined || terms.edges === undefined || terms.edges === 'exact') return undefined
  if (terms.edges === 'whole') return { asked: widened(asked, grid, noLimit), rewritten: 'edges=whole' }
  const floorMs = terms.policy.ttl(notOver)
  const isLive = floorMs > 0 && isUpToNow(asked, now, floorMs)
  return isLive ? { asked: widened(asked, grid, floorMs), rewritten: 'edges=now' } : undefined
}

/** As a quantum: only its bucket limits how far a bound moves. */
const noLimit = Number.POSITIVE_INFINITY

const floorTo = (instant: EpochMs, step: number): EpochMs =>
  step === noLimit ? Number.NEGATIVE_INFINITY : Math.floor(instant / step) * step
const ceilTo = (instant: EpochMs, step: number): EpochMs =>
  step === noLimit ? noLimit : Math.ceil(instant / step) * step

const floored = ({ from, to }: TimeSpan, step: number): TimeSpan => ({
  from: floorTo(from, step),
  to: floorTo(to, step),
})

/** The end of a span is exclusive. A request without an end counts as one that ends now. */
function isUpToNow(asked: readonly TimeSpan[], now: EpochMs, floorMs: number): boolean {
  const { to } = asked.at(-1)!
  return to === Number.POSITIVE_INFINITY || (to >= now - floorMs && to - 1 <= now)
}

/**
 * Moves every bound outwards to a multiple of `quantum`, but not beyond its bucket; the last bound moves to the end of its
 * bucket. Windows that move with the clock therefore keep the same bounds for one quantum.
 */
function widened(asked: readonly TimeSpan[], grid: Grid, quantum: number): readonly TimeSpan[] {
  const last = asked.at(-1)!
  const spans = asked.map((span) => ({
    from: Math.max(startOf(grid, bucketAt(grid, span.from)), floorTo(span.from, quantum)),
    to: endOfPart(span.to, grid, span === last ? noLimit : quantum),
  }))
  return uniteAll(spans, [])
}

function endOfPart(to: EpochMs, grid: Grid, quantum: number): EpochMs {
  if (to === Number.POSITIVE_INFINITY) return to
  return Math.min(endOf(grid, bucketAt(grid, to - 1)), ceilTo(to, quantum))
}
