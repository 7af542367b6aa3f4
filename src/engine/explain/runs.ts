/** The description of runs of buckets: their age, their remaining freshness, and the TTLs of a fetch now. */
import type { EpochMs } from '../../core/clock.ts'
import type { CoverageRun } from '../../core/coverage-runs.ts'
import { expiryOf } from '../../core/expiry.ts'
import { endOf, type Grid } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { fetchedAtOf } from '../../core/lifetime.ts'
import { clockOf, type Pane } from '../../core/pane.ts'
import { type VouchedBuckets, vouchedUntil } from '../../core/witness.ts'
import type { TtlPolicy } from '../../ttl/policy.ts'

export interface Spread {
  readonly min: number
  readonly max: number
}

export interface Freshness {
  readonly grid: Grid
  readonly policy: TtlPolicy
  readonly now: EpochMs
  readonly vouched?: (() => VouchedBuckets | undefined) | undefined
}

/** Ages and remaining TTLs of a run's buckets; nothing of absent ones. */
export function clocksOf(
  run: CoverageRun,
  panes: readonly Pane[],
  { grid, policy, now, vouched }: Freshness,
): { fetchAgeMs?: Spread; ttlLeftMs?: Spread } {
  if (run.state === 'absent') return {}
  const [ages, left] = [new Range(), new Range()]
  const word = run.vouched && vouched?.()
  for (const pane of panes) {
    const to = Math.min(pane.to, run.to)
    for (let bucket = Math.max(pane.from, run.from); bucket < to; bucket++) {
      const clock = clockOf(pane, bucket)
      ages.add(now - fetchedAtOf(clock))
      const expiry = word ? vouchedUntil(word, clock) : expiryOf(clock, bucket, { grid, policy })
      left.add(expiry - now)
    }
  }
  return { fetchAgeMs: ages.spread, ttlLeftMs: left.spread }
}

class Range {
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY

  add(value: number): void {
    this.#min = Math.min(this.#min, value)
    this.#max = Math.max(this.#max, value)
  }

  get spread(): Spread {
    return { min: this.#min, max: this.#max }
  }
}

interface TtlRun extends Interval {
  readonly ttlMs: Spread
  readonly lapsesInMs?: Spread
}

const maxTtlRuns = 32

/** The TTLs that buckets fetched now would get, in runs of equal ones; where those are many, neighbours are put together. */
export function ttlsOf(interval: Interval, { grid, policy, now }: Freshness): TtlRun[] {
  const runs: TtlRun[] = []
  for (let bucket = interval.from; bucket < interval.to; bucket++) {
    const ttl = policy.ttl(now - endOf(grid, bucket))
    const last = runs.at(-1)
    if (last?.ttlMs.max === ttl) runs[runs.length - 1] = { ...last, to: bucket + 1 }
    else
      runs.push({ from: bucket, to: bucket + 1, ttlMs: { min: ttl, max: ttl }, ...lapseOf(ttl, policy, now) })
  }
  return together(runs, Math.ceil(runs.length / maxTtlRuns))
}

/** Buckets of one TTL that are fetched together lapse together. */
function lapseOf(ttl: number, { plateaus }: TtlPolicy, now: EpochMs): Pick<TtlRun, 'lapsesInMs'> {
  if (plateaus === undefined) return {}
  const left = plateaus.lapseOf(now, ttl) - now
  return { lapsesInMs: { min: left, max: left } }
}

function together(runs: readonly TtlRun[], width: number): TtlRun[] {
  if (width <= 1) return [...runs]
  const wide: TtlRun[] = []
  for (let i = 0; i < runs.length; i += width) {
    const group = runs.slice(i, i + width)
    const [ttls, lapses] = [new Range(), new Range()]
    for (const { ttlMs, lapsesInMs } of group) {
      ttls.add(ttlMs.min)
      if (lapsesInMs !== undefined) lapses.add(lapsesInMs.min)
    }
    const { from, lapsesInMs } = group[0]!
    const to = group.at(-1)!.to
    wide.push({ from, to, ttlMs: ttls.spread, ...(lapsesInMs && { lapsesInMs: lapses.spread }) })
  }
  return wide
}
