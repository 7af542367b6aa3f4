/** The memory store's entry for one key, and its size. */
import type { EpochMs } from '../../core/clock.ts'
import { type Interval, lengthOf } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { clockOf, measure, objectOverhead, type Pane, slice } from '../../core/pane.ts'
import type { StoreRules } from '../kind.ts'
import type { Found, ShapeRecord } from '../store.ts'
import { clip, countBuckets } from '../tile.ts'
import { type ColdPanes, coldBytes } from './cold.ts'

export interface Slot extends Content {
  readonly bytes: number
  /** On the clock for durations. */
  usedAt: number
  /** Read or fetched again since it was stored: other entries are evicted soon, and are not worth compressing. */
  isWanted: boolean
  /** Compressing does not make it shorter. */
  isDense: boolean
}

interface Content {
  readonly key: Key
  /** Empty where `cold` has them. */
  readonly panes: readonly Pane[]
  readonly cold: ColdPanes | undefined
  readonly shape: ShapeRecord
  readonly writtenAt: EpochMs
}

/** `threads`: how many hold objects of their own around the same bytes. */
export function slotOf(content: Content & Pick<Slot, 'usedAt' | 'isWanted'>, threads: number): Slot {
  const { key, panes, cold, shape, writtenAt, usedAt, isWanted } = content
  const bytes = recordBytes(key, shape) + (cold === undefined ? paneBytes(panes, threads) : coldBytes(cold))
  return { key, panes, cold, shape, writtenAt, bytes, usedAt, isWanted, isDense: false }
}

export const within = ({ panes, shape }: Slot, interval: Interval): Found => ({
  panes: clip(panes, interval),
  shape,
})

type Bounds = Pick<StoreRules, 'retentionMs' | 'maxBucketsPerShape'>

/** Without panes that are older than the retention, and without the oldest buckets where there are too many. */
export function bounded(
  panes: readonly Pane[],
  now: EpochMs,
  { retentionMs, maxBucketsPerShape }: Bounds,
): { readonly kept: readonly Pane[]; readonly surplus: number } {
  const kept = panes.filter((pane) => hasClockAfter(pane, now - retentionMs))
  const surplus = Math.max(0, countBuckets(kept) - maxBucketsPerShape)
  for (let left = surplus; left > 0; ) {
    const first = kept.shift()!
    const rest = slice(first, { from: first.from + left, to: first.to })
    if (rest.from < rest.to) kept.unshift(rest)
    left -= lengthOf(first) - lengthOf(rest)
  }
  return { kept, surplus }
}

/** Looks from the end, where the newest clock usually is. */
function hasClockAfter(pane: Pane, instant: EpochMs): boolean {
  for (let bucket = pane.to - 1; bucket >= pane.from; bucket--)
    if (clockOf(pane, bucket) > instant) return true
  return false
}

/** The slot, its map entry, its arrays and its record, as far as they do not grow with the texts in it. */
const slotOverhead = 768

function recordBytes(key: Key, shape: ShapeRecord): number {
  let bytes = slotOverhead + key.length + shape.text.length + shape.query.length + shape.identity.length
  for (const text of shape.sources) bytes += text.length + 16
  for (const text of shape.headers) bytes += text.length + 16
  return bytes
}

function paneBytes(panes: readonly Pane[], threads: number): number {
  let bytes = (threads - 1) * (slotOverhead + panes.length * objectOverhead)
  const bodies = new Set<Pane['body']>()
  for (const pane of panes) {
    if (!bodies.has(pane.body)) bytes += measure(pane)
    bodies.add(pane.body)
  }
  return bytes
}
