/** Selects the fetched panes to store, and their record. */

import type { Backend, HeaderList, Plan } from '../backends/backend.ts'
import type { EpochMs } from '../core/clock.ts'
import { inTime } from '../core/deadline.ts'
import { notOver } from '../core/expiry.ts'
import { firstYoungerThan } from '../core/grid.ts'
import { type Intervals, intersectAll, nothing, subtractAll } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import { fetchedAtOf, withFloorTtl } from '../core/lifetime.ts'
import { type BucketMark, markedRun } from '../core/mark.ts'
import { type MaybePromise, orElse } from '../core/maybe.ts'
import { clockOf, filledUntil, type Pane, setClocks, slice } from '../core/pane.ts'
import type { EmptyEnd, ShapeRecord } from '../stores/store.ts'
import type { FetchedPanes } from './fetch.ts'
import { type AnswerTerms, termsOf } from './http/answer-terms.ts'
import { keptHeaders } from './kept-headers.ts'
import { observeRefetch } from './learning/observe.ts'
import type { PartMemory } from './parts.ts'
import { partsOf } from './stored.ts'
import type { IntervalCacheOptions, Trip } from './trip.ts'

/** The permissions of an answer's headers and, where storing is forbidden, the reason: it is reported to the client. */
export function termsFor(
  { plan, request, decision }: Trip,
  { capabilities }: Pick<Backend, 'capabilities'>,
  fetchedAt: EpochMs,
): (headers: HeaderList) => AnswerTerms {
  const { encodingHeaders = [] } = capabilities
  const client = { headers: plan.request.headers, partition: request.partition, encodingHeaders }
  return (headers) => {
    const terms = termsOf(headers, client, fetchedAt)
    decision.unstored = terms.forbidden?.reason
    if (terms.forbidden !== undefined) decision.detail ??= terms.forbidden.detail
    return terms
  }
}

/** Resolves to whether it was kept. A store that fails costs the next request a fetch, never this one its answer. */
export async function writeBack(
  options: IntervalCacheOptions,
  trip: Trip,
  fetched: FetchedPanes,
): Promise<boolean> {
  const { store, name, clock, storeTimeoutMs } = options
  const { key, plan, request } = trip
  const whole = intersectAll(plan.whole, fetched.panes)
  if (!fetched.storable || whole.length === 0) return false
  const worthKeeping = intersectAll(whole, keptBuckets(trip, fetched.panes))
  const marks = options.marks.marksFor(key, plan)
  const parts = partsOf(fetched.panes, worthKeeping).flatMap((pane) => withoutPurged(pane, marks))
  observeRefetch(options, trip, parts)
  const first = fetched.panes[0]!
  // Without any bucket it is still worth knowing that they were empty.
  if (worthKeeping.length === 0) parts.push(slice(first, { from: first.from, to: first.from }))
  const record = recordOf(options, key)
  // The memory of this process is written in this turn: a repeated request finds it.
  const known = record instanceof Promise ? await record : record
  const emptyEnds = knownEmpty(known?.emptyEnds, whole, {
    runs: subtractAll(whole, worthKeeping),
    at: clockOf(first, first.from),
  })
  const shape: ShapeRecord = {
    backend: name,
    text: plan.shape,
    query: plan.text,
    sources: plan.sources,
    knowsAllSources: plan.knowsAllSources,
    lookbackMs: plan.lookbackMs,
    ...(plan.lookaheadMs !== undefined && { lookaheadMs: plan.lookaheadMs }),
    grid: plan.grid,
    identity: request.identity,
    headers: keptHeaders(fetched.headers, options.backend.capabilities),
    ...(emptyEnds.length > 0 && { emptyEnds }),
  }
  try {
    let isKept = parts.length > 0
    for (const pane of parts)
      isKept = (await inTime(store.write(key, { pane, shape }), clock, storeTimeoutMs)) && isKept
    return isKept
  } catch {
    return false
  }
}

/** Keeps parts of buckets. Returns whether it kept any. */
export function keepParts(
  { backend }: Pick<IntervalCacheOptions, 'backend'>,
  trip: Trip,
  { memory, fetched }: { readonly memory: PartMemory; readonly fetched: FetchedPanes },
): boolean {
  if (!fetched.storable || trip.plan.edges === undefined) return false
  const headers = keptHeaders(fetched.headers, backend.capabilities)
  return memory.keep(trip, { panes: fetched.panes, headers }, keptBuckets(trip, fetched.panes))
}

/** A store that fails or is late costs the knowledge of empty buckets. */
function recordOf(
  { store, clock, storeTimeoutMs }: IntervalCacheOptions,
  key: Key,
): MaybePromise<ShapeRecord | undefined> {
  return orElse(
    () => inTime(store.record(key), clock, storeTimeoutMs),
    () => undefined,
  )
}

/** Views of one question end at different times, but seldom at many. */
const maxEmptyEnds = 8

/** Earlier knowledge of other buckets, and the knowledge of the buckets fetched now, the newest last. */
function knownEmpty(
  known: readonly EmptyEnd[] | undefined,
  fetched: Intervals,
  { runs, at }: { runs: Intervals; at: EpochMs },
): readonly EmptyEnd[] {
  const older = (known ?? []).flatMap((end) =>
    subtractAll([end], fetched).map(({ from, to }) => ({ from, to, at: end.at })),
  )
  return [...older, ...runs.map(({ from, to }) => ({ from, to, at }))].slice(-maxEmptyEnds)
}

/** A bucket that was purged during its fetch would be ignored at the next lookup anyway. */
function withoutPurged(pane: Pane, marks: readonly BucketMark[]): readonly Pane[] {
  if (marks.length === 0) return [pane]
  const parts: Pane[] = []
  let { from } = pane
  while (from < pane.to) {
    const { mark, to } = markedRun(from, clockOf(pane, from), marks)
    if (mark?.kind !== 'purge') parts.push(slice(pane, { from, to }))
    from = to
  }
  return parts
}

/** Trailing empty buckets that are not settled: their data may only be late. */
function unsettledEnd(panes: readonly Pane[], { grid }: Plan, settledAgeMs: number): Intervals {
  const [first, last] = [panes[0]!, panes.at(-1)!]
  const settledUntil = firstYoungerThan(grid, settledAgeMs, fetchedAtOf(clockOf(first, first.from)))
  const filled = panes.findLast((pane) => filledUntil(pane) > pane.from)
  const from = Math.max(settledUntil, filled === undefined ? first.from : filledUntil(filled))
  return from < last.to ? [{ from, to: last.to }] : nothing
}

/**
 * Returns the buckets to keep. Trailing empty buckets that are not settled get the floor as their TTL, or are left out: their
 * data may only be late. Call before another reader has the panes.
 */
function keptBuckets({ plan, policy, request }: Trip, panes: readonly Pane[]): Intervals {
  const end = unsettledEnd(panes, plan, policy.settledAgeMs)
  if (request.trailingEmpty === 'off') return subtractAll(panes, end)
  const floorMs = policy.ttl(notOver)
  for (const part of partsOf(panes, end)) setClocks(part, part, (clock) => withFloorTtl(clock, floorMs))
  return panes
}
