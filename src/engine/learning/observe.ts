/**
 * Observes whether buckets that were stored before have changed in an answer of the database. Old and new copies are
 * compared just before the new ones are written, because nothing else sees both. This folder holds the engine's part of
 * learned TTLs: it observes refetches, refreshes settled buckets before they lapse, and fetches samples again;
 * ttl/learned computes TTLs from it.
 *
 * Only whole buckets that are written back are observed. Trailing empty buckets that are not settled have the floor whatever
 * is known, so they teach nothing: they are not observed.
 */
import type { Plan } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import { endOf } from '../../core/grid.ts'
import { fetchedAtOf, hasFloorTtl } from '../../core/lifetime.ts'
import { type BucketMark, markedRun } from '../../core/mark.ts'
import { clockOf, type Pane } from '../../core/pane.ts'
import { compare } from '../../core/pane-compare.ts'
import { haveSameFrame } from '../../core/pane-join.ts'
import { readNear } from '../../stores/peek.ts'
import type { Found, MaybePromise } from '../../stores/store.ts'
import { partsOf, readRuns } from '../stored.ts'
import type { IntervalCacheOptions, Trip } from '../trip.ts'

type Options = Pick<IntervalCacheOptions, 'store' | 'clock' | 'marks'>
type Observed = Pick<Trip, 'key' | 'plan' | 'policy' | 'learning'>

/**
 * To be called before `fetched` is written. Writing does not wait for it: a store that reads late is heard later. It
 * may read the new copies by then; these have the same clock and reveal nothing.
 */
export function observeRefetch(options: Options, trip: Observed, fetched: readonly Pane[]): void {
  const { learning, key, plan } = trip
  if (learning === undefined || fetched.length === 0) return
  const first = fetched[0]!
  const at = fetchedAtOf(clockOf(first, first.from))
  const marks = options.marks.marksFor(key, plan)
  const isOwn = (mark: BucketMark): boolean => learning.hasMarked?.(mark.at) === true
  const compareWith = (found: Found | undefined): void => {
    const rows = found && rowsOf(found.panes, fetched, { plan, marks, isOwn })
    if (rows === undefined || rows.changed.length === 0) return
    const shape = { key, sources: plan.sources }
    const oldAges = Float64Array.from(rows.oldAges)
    const newAges = Float64Array.from(rows.newAges)
    const changed = Uint8Array.from(rows.changed)
    learning.observe({ kind: 'refetch', shape, at, oldAges, newAges, changed }, trip, rows.markedAt)
  }
  try {
    const found: MaybePromise<Found | undefined> = readRuns(fetched, (run) =>
      readNear(options.store, key, run),
    )
    if (found instanceof Promise) found.then(compareWith).catch(() => {})
    else compareWith(found)
  } catch {
    // A store that fails, or a learner that does, must not keep the answer from being stored.
  }
}

interface Context {
  readonly plan: Pick<Plan, 'grid' | 'sources' | 'lookaheadMs'>
  /** Buckets under a mark do not teach: the mark reports a change, whose cause is not their age. */
  readonly marks: readonly BucketMark[]
  /** Except marks that the learner itself made. */
  readonly isOwn: (mark: BucketMark) => boolean
}

/** The buckets that have an older copy, in columns. */
interface RefetchRows {
  readonly oldAges: number[]
  readonly newAges: number[]
  readonly changed: number[]
  /** Of the last own mark that buckets are under. */
  markedAt: EpochMs | undefined
}

function rowsOf(stored: readonly Pane[], fetched: readonly Pane[], context: Context): RefetchRows {
  const rows: RefetchRows = { oldAges: [], newAges: [], changed: [], markedAt: undefined }
  for (const pane of fetched) {
    for (const old of partsOf(stored, [pane])) {
      if (haveSameFrame(old, pane)) addRows(rows, [old, pane], context)
    }
  }
  return rows
}

/** `old` lies within `pane`. */
function addRows(rows: RefetchRows, [old, pane]: readonly [Pane, Pane], context: Context): void {
  const { grid, lookaheadMs = 0 } = context.plan
  let differing: readonly number[] | undefined
  let next = 0
  for (let bucket = old.from; bucket < old.to; bucket++) {
    const clock = clockOf(old, bucket)
    const newClock = clockOf(pane, bucket)
    const [oldAt, newAt] = [fetchedAtOf(clock), fetchedAtOf(newClock)]
    // False also where one of them is absent.
    if (!(oldAt < newAt) || hasFloorTtl(clock) || hasFloorTtl(newClock)) continue
    const mark = context.marks.length === 0 ? undefined : markedRun(bucket, clock, context.marks).mark
    if (mark !== undefined && !context.isOwn(mark)) continue
    if (mark !== undefined) rows.markedAt = mark.at
    differing ??= compare(old, pane)
    while (next < differing.length && differing[next]! < bucket) next++
    const end = endOf(grid, bucket) + lookaheadMs
    rows.oldAges.push(oldAt - end)
    rows.newAges.push(newAt - end)
    rows.changed.push(differing[next] === bucket ? 1 : 0)
  }
}
