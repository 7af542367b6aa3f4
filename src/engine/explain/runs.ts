/** The description of runs of buckets: their age, their remaining freshness, and the TTLs of a fetch now. */
import type { EpochMs } from '../../core/clock.ts'
import type { LookupRules } from '../../core/coverage.ts'
import type { CoverageRun } from '../../core/coverage-runs.ts'
import { expiryOf } from '../../core/expiry.ts'
import { endOf } from '../../core/grid.ts'
import type { Interval } from '../../core/interval.ts'
import { fetchedAtOf } from '../../core/lifetime.ts'
import { clockOf, type Pane } from '../../core/pane.ts'
import { vouchedUntil } from '../../core/witness.ts'
import type { TtlPolicy } from '../../ttl/policy.ts'

export interface Spread {
  readonly min: number
  readonly max: number
}

export interface FreshnessRules extends Pick<LookupRules, 'grid' | 'now' | 'vouched'> {
  readonly policy: TtlPolicy
}

export interface RunClocks {
  /** Since the buckets were fetched. */
  readonly fetchAgeMs?: Spread
  /** Until they stop being fresh; negative: since they did. */
  readonly ttlLeftMs?: Spread
}

/** Ages and remaining TTLs of a run's buckets; nothing of absent ones. */
export function clocksOf(
  run: CoverageRun,
  panes: readonly Pane[],
  { grid, policy, now, vouched }: FreshnessRules,
): RunClocks {
  if (run.state === 'absent') return {}
  const [ages, left]: [number[], number[]] = [[], []]
  const word = run.vouched && vouched?.()
  for (const pane of panes) {
    const to = Math.min(pane.to, run.to)
    for (let bucket = Math.max(pane.from, run.from); bucket < to; bucket++) {
      const clock = clockOf(pane, bucket)
      ages.push(now - fetchedAtOf(clock))
      const expiry = word ? vouchedUntil(word, clock) : expiryOf(clock, bucket, { grid, policy })
      left.push(expiry - now)
    }
  }
  return { fetchAgeMs: spreadOf(ages), ttlLeftMs: spreadOf(left) }
}

const spreadOf = (values: readonly number[]): Spread => ({
  min: values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
  max: values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
})

export interface Ttls {
  readonly ttlMs: Spread
  /** When they would lapse, where the policy lets buckets lapse together, before their TTLs are over. */
  readonly lapsesInMs?: Spread
}

type TtlRun = Interval & Ttls

const maxTtlRuns = 32

/** The TTLs that buckets fetched now would get, in runs of equal ones; where those are many, neighbours are put together. */
export function ttlsOf(interval: Interval, { grid, policy, now }: FreshnessRules): TtlRun[] {
  const equal: { from: number; to: number; ttl: number }[] = []
  for (let bucket = interval.from; bucket < interval.to; bucket++) {
    const ttl = policy.ttl(now - endOf(grid, bucket))
    const last = equal.at(-1)
    if (last?.ttl === ttl) last.to = bucket + 1
    else equal.push({ from: bucket, to: bucket + 1, ttl })
  }
  const runs: TtlRun[] = []
  const width = Math.ceil(equal.length / maxTtlRuns)
  for (let i = 0; i < equal.length; i += width) {
    const group = equal.slice(i, i + width)
    const ttls = group.map(({ ttl }) => ttl)
    runs.push({ from: group[0]!.from, to: group.at(-1)!.to, ...spreadsOf(ttls, policy, now) })
  }
  return runs
}

/** Buckets of one TTL that are fetched together lapse together. */
function spreadsOf(ttls: readonly number[], { plateaus }: TtlPolicy, now: EpochMs): Ttls {
  const ttlMs = spreadOf(ttls)
  if (plateaus === undefined) return { ttlMs }
  return { ttlMs, lapsesInMs: spreadOf(ttls.map((ttl) => plateaus.lapseOf(now, ttl) - now)) }
}
