/**
 * Token buckets, as pure functions of the row that is there. All numbers are integers below 2^53, so that no credit is lost
 * or gained to rounding, however often a bucket is polled. A row that should have been collected is credited up to now like
 * any other: it is refilled, and its debt is not forgiven.
 */
import { noBytes } from '../core/bytes.ts'
import type { EpochMs } from '../core/clock.ts'
import { type Rows, refusalOfId } from './cell-rules.ts'
import {
  type BucketLevel,
  type BucketLimit,
  type Cell,
  type CellId,
  type CellRefusal,
  type EpochSeconds,
  type LimitCost,
  limitName,
  maxLimits,
  type Take,
  type TakeOutcome,
  type TokenAdjust,
  type TokenTake,
} from './cells.ts'

const bucketKind = 'bucket'
const bucketSchema = 2

export function takeFrom(rows: Rows, id: CellId, take: Take): TakeOutcome {
  const reason = refusalOfId(id) ?? refusalOfTake(take)
  if (reason !== undefined) return { ok: false, reason }
  const { now } = rows
  const bucket = bucketIn(rows.stored(id), now)
  const { outcome, row } = take.kind === 'adjust' ? planAdjust(bucket, take) : planTake(bucket, take, now)
  if (row !== undefined) rows.store(id, row)
  return outcome
}

interface TakePlan {
  readonly outcome: TakeOutcome
  /** The row to store; undefined where nothing changes. */
  readonly row?: Omit<Cell, 'rev'>
}

/** A bucket that is stored, credited up to now in the parameters that it was counted in. */
interface Bucket {
  readonly levels: readonly BucketLevel[]
  /** Never goes back: a clock that does credits nothing, and nothing twice. */
  readonly refilledAt: EpochMs
  readonly collectAt: EpochSeconds | 'never'
}

function bucketIn(cell: Cell | undefined, now: EpochMs): Bucket | undefined {
  if (cell?.kind !== bucketKind || cell.v !== bucketSchema) return undefined
  if (cell.levels === undefined || cell.levels.length === 0) return undefined
  const since = cell.clocks.refilledAt ?? now
  const elapsed = Math.max(0, now - since)
  const levels =
    elapsed === 0 ? cell.levels : cell.levels.map((one) => withLevel(one, creditedLevel(one, elapsed)))
  return { levels, refilledAt: Math.max(now, since), collectAt: cell.collectAt }
}

function creditedLevel(stored: BucketLevel, elapsedMs: number): number {
  const missing = fullLevel(stored) - stored.level
  const credit = elapsedMs * stored.creditPerMs
  return credit >= missing ? stored.level + missing : stored.level + credit
}

const fullLevel = ({ capacity, unitsPerToken }: BucketLimit): number => capacity * unitsPerToken

const withLevel = (limit: BucketLimit, level: number): BucketLevel => ({
  name: limit.name,
  level,
  capacity: limit.capacity,
  unitsPerToken: limit.unitsPerToken,
  creditPerMs: limit.creditPerMs,
})

/** Debt has a bound, so that the distance to full stays an exact integer. */
const atLeastLowest = (limit: BucketLimit, level: number): number =>
  Math.max(level, fullLevel(limit) - Number.MAX_SAFE_INTEGER)

function planTake(bucket: Bucket | undefined, take: TokenTake, now: EpochMs): TakePlan {
  const levels = take.limits.map((limit) => levelNow(bucket, limit))
  if (take.kind === 'peek')
    return { outcome: { ok: true, levels, ...(bucket && { collectAt: bucket.collectAt }) } }
  const refilledAt = bucket?.refilledAt ?? now
  if (take.limits.some((limit, i) => isShort(limit, levels[i]!))) {
    const exceeded = take.limits.filter((limit, i) => isShort(limit, levels[i]!))
    const outcome = { ok: false, levels, exceeded: exceeded.map(({ name }) => name) } as const
    const retryAfterMs = waitFor(exceeded, levels)
    // Other parameters hold from now on: without a write the row would be credited in the old ones until it admits.
    const row = isOutdated(bucket, take) ? takenRow(levels, refilledAt, take) : undefined
    return { outcome: { ...outcome, retryAfterMs }, ...(row && { row }) }
  }
  const left = levels.map((one, i) => withoutTokens(one, take.limits[i]!.cost))
  const row = takenRow(left, refilledAt, take)
  return { outcome: { ok: true, levels: left, collectAt: row.collectAt }, row }
}

const withoutTokens = (one: BucketLevel, cost: number): BucketLevel =>
  cost === 0 ? one : withLevel(one, one.level - cost * one.unitsPerToken)

/** In the parameters of the take. */
function levelNow(bucket: Bucket | undefined, limit: BucketLimit): BucketLevel {
  const stored = bucket?.levels.find(({ name }) => name === limit.name)
  if (stored === undefined) return withLevel(limit, fullLevel(limit))
  if (isSame(stored, limit)) return stored
  const level = Math.min(fullLevel(limit), rescaled(stored, limit.unitsPerToken))
  return withLevel(limit, atLeastLowest(limit, level))
}

const isSame = (a: BucketLimit, b: BucketLimit): boolean =>
  a.capacity === b.capacity && a.unitsPerToken === b.unitsPerToken && a.creditPerMs === b.creditPerMs

/** Units of the old parameters, as units of the new ones, rounded down. The product may exceed 2^53. */
function rescaled({ level, unitsPerToken: from }: BucketLevel, to: number): number {
  if (from === to) return level
  const product = BigInt(level) * BigInt(to)
  const quotient = product / BigInt(from)
  const isRoundedUp = product < 0n && product % BigInt(from) !== 0n
  return Number(isRoundedUp ? quotient - 1n : quotient)
}

const isShort = (limit: BucketLimit & LimitCost, { level }: BucketLevel): boolean =>
  limit.cost > 0 && (limit.cost > limit.capacity || limit.cost * limit.unitsPerToken > level)

/** Until the last of the limits has enough; undefined where one of them can never hold it. */
function waitFor(
  exceeded: readonly (BucketLimit & LimitCost)[],
  levels: readonly BucketLevel[],
): number | undefined {
  if (exceeded.some(({ cost, capacity }) => cost > capacity)) return undefined
  const waits = exceeded.map(({ name, cost, unitsPerToken, creditPerMs }) => {
    const { level } = levels.find((one) => one.name === name)!
    return Math.ceil((cost * unitsPerToken - level) / creditPerMs)
  })
  return Math.max(...waits)
}

/** Whether a row was written with other limits than those of the take, or is kept for another reason. */
function isOutdated(bucket: Bucket | undefined, { limits, keepMs }: TokenTake): boolean {
  if (bucket === undefined) return false
  if ((keepMs === 'forever') !== (bucket.collectAt === 'never')) return true
  if (bucket.levels.length !== limits.length) return true
  return limits.some((limit) => {
    const stored = bucket.levels.find(({ name }) => name === limit.name)
    return stored === undefined || !isSame(stored, limit)
  })
}

function takenRow(levels: readonly BucketLevel[], refilledAt: EpochMs, { keepMs }: TokenTake) {
  if (keepMs === 'forever') return bucketRow(levels, refilledAt, 'never')
  return bucketRow(levels, refilledAt, secondsOf(Math.max(refilledAt + keepMs, fullAt(levels, refilledAt))))
}

function planAdjust(bucket: Bucket | undefined, { costs }: TokenAdjust): TakePlan {
  if (bucket === undefined) return { outcome: { ok: true, levels: [] } }
  const { refilledAt, collectAt } = bucket
  const isConcerned = costs.some(
    ({ name, cost }) => cost !== 0 && bucket.levels.some((one) => one.name === name),
  )
  if (!isConcerned) return { outcome: { ok: true, levels: bucket.levels, collectAt } }
  const levels = bucket.levels.map((one) => {
    const cost = costs.reduce((sum, { name, cost }) => (name === one.name ? sum + cost : sum), 0)
    const level = Math.min(fullLevel(one), one.level - cost * one.unitsPerToken)
    return withLevel(one, atLeastLowest(one, level))
  })
  const until = collectAt === 'never' ? collectAt : Math.max(collectAt, secondsOf(fullAt(levels, refilledAt)))
  return { outcome: { ok: true, levels, collectAt: until }, row: bucketRow(levels, refilledAt, until) }
}

/** When every limit is full: from then on this bucket equals a new one. */
function fullAt(levels: readonly BucketLevel[], refilledAt: EpochMs): EpochMs {
  let longest = 0
  for (const one of levels) {
    const ms = Math.ceil((fullLevel(one) - one.level) / one.creditPerMs)
    if (ms > longest) longest = ms
  }
  return refilledAt + longest
}

const secondsOf = (at: EpochMs): EpochSeconds => Math.max(1, Math.ceil(at / 1000))

const bucketRow = (
  levels: readonly BucketLevel[],
  refilledAt: EpochMs,
  collectAt: EpochSeconds | 'never',
): Omit<Cell, 'rev'> => ({
  kind: bucketKind,
  v: bucketSchema,
  clocks: { refilledAt },
  collectAt,
  value: noBytes,
  levels,
})

function refusalOfTake(take: Take): CellRefusal | undefined {
  if (take.kind === 'adjust')
    return take.costs.every(({ cost }) => Number.isSafeInteger(cost)) ? undefined : 'limits'
  const { limits, keepMs } = take
  const isKept = keepMs === 'forever' || (keepMs >= 0 && Number.isFinite(keepMs))
  const isCount = limits.length > 0 && limits.length <= maxLimits
  return isKept && isCount && limits.every((limit, i) => isUsable(limit) && isFirst(limits, i))
    ? undefined
    : 'limits'
}

const isFirst = (limits: readonly BucketLimit[], index: number): boolean =>
  limits.findIndex(({ name }) => name === limits[index]!.name) === index

const isPositive = (value: number): boolean => Number.isSafeInteger(value) && value > 0

function isUsable(limit: BucketLimit & LimitCost): boolean {
  const { capacity, unitsPerToken, creditPerMs, cost } = limit
  const areWhole = isPositive(capacity) && isPositive(unitsPerToken) && isPositive(creditPerMs)
  const isCost = Number.isSafeInteger(cost) && cost >= 0
  return areWhole && isCost && Number.isSafeInteger(fullLevel(limit)) && limitName.test(limit.name)
}
