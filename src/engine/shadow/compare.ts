/**
 * Compares the answer of the cache with the answer of the database, and finds the cause of a difference. Pure. Where
 * bytes differ, the differing buckets are examined one by one; a difference that no bucket explains is a fault.
 */
import type { Backend } from '../../backends/backend.ts'
import type { EpochMs } from '../../core/clock.ts'
import { endOf, type Grid, startOf } from '../../core/grid.ts'
import { isEmpty } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { fetchedAtOf } from '../../core/lifetime.ts'
import { clockOf, type Pane, slice } from '../../core/pane.ts'
import { shorten } from '../../core/text.ts'
import { type Cause, causes, gravest } from './causes.ts'
import { type CellDifference, PanePair } from './cells.ts'
import { hashesOf, type ShadowLedger } from './ledger.ts'

export interface Comparison {
  readonly backend: Pick<Backend, 'presentation'>
  readonly key: Key
  readonly grid: Grid
  readonly settledAgeMs: number
  readonly ledger: Pick<ShadowLedger, 'hashAt' | 'isWavering'>
  /** The panes of the would-be answer that come from the store, in time order; empty for a miss. */
  readonly stored: readonly Pane[]
  /** The database's panes for the whole request. */
  readonly fetched: readonly Pane[]
  /** The answer of the cache, and the answer put together from `fetched` alone. */
  readonly cached: Buffer
  readonly direct: Buffer
  /** The database's own body; undefined where it was too long to keep. */
  readonly body: Buffer | undefined
}

export interface BucketDifference {
  readonly at: EpochMs
  /** When the stored bucket was fetched, and how old it was then. */
  readonly fetchedAt: EpochMs
  readonly ageMs: number
  readonly cause: Cause
  readonly columns: readonly string[]
  readonly cached: string
  readonly direct: string
}

export interface ComparisonResult {
  readonly result: 'equal' | 'explained' | 'unexplained'
  /** Undefined where they are equal. */
  readonly cause?: Cause
  /** False where the database's own body does not come out as it went in. */
  readonly isFaithful: boolean
  /** The stored buckets that differ. */
  readonly differing: ReadonlySet<number>
  /** Some of them, as people may read them. */
  readonly buckets: readonly BucketDifference[]
}

/** How many buckets are looked at in one answer, and how many of them are shown. */
const maxJudged = 256
const maxShown = 20
const maxColumns = 5
const maxChars = 300

export function judge(comparison: Comparison): ComparisonResult {
  const { body, direct } = comparison
  if (body !== undefined && !isSame(comparison, body, direct)) {
    return judgement([faultOf(body, direct)], { isFaithful: false })
  }
  if (comparison.cached.equals(direct)) return equal
  const found = comparison.stored.flatMap((pane) => differencesIn(comparison, pane))
  return found.length > 0 ? judgementOf(comparison, found) : judgeTheRest(comparison)
}

const equal: ComparisonResult = { result: 'equal', isFaithful: true, differing: new Set(), buckets: [] }

function judgement(found: readonly Cause[], more: Partial<ComparisonResult> = {}): ComparisonResult {
  const cause = gravest(found)
  const isExplained = found.every((each) => causes[each].isExplained)
  return { ...equal, result: isExplained ? 'explained' : 'unexplained', cause, ...more }
}

function isSame({ backend }: Comparison, direct: Buffer, answer: Buffer): boolean {
  return direct.equals(answer) || backend.presentation?.differenceFrom?.(direct, answer) === 'none'
}

/** All buckets are equal, and yet the answers are not: notes, or bytes around the buckets. */
function judgeTheRest({ backend, direct, cached }: Comparison): ComparisonResult {
  const difference = backend.presentation?.differenceFrom?.(direct, cached) ?? 'data'
  if (difference === 'none') return equal
  return judgement([difference === 'notes' ? 'notes' : faultOf(direct, cached)])
}

function faultOf(direct: Buffer, answer: Buffer): Cause {
  if (hasSameBytes(direct, answer)) return 'order'
  return isSameInNumbers(direct.toString('latin1'), answer.toString('latin1')) ? 'number_text' : 'unfaithful'
}

function hasSameBytes(a: Buffer, b: Buffer): boolean {
  if (a.length !== b.length) return false
  const counts = new Int32Array(256)
  for (let i = 0; i < a.length; i++) {
    counts[a[i]!]!++
    counts[b[i]!]!--
  }
  return counts.every((count) => count === 0)
}

interface Difference {
  readonly bucket: number
  readonly pane: Pane
  readonly pair: PanePair
}

/** A stored pane lies inside one that was fetched, or reaches over several neighbours. */
function differencesIn({ fetched }: Comparison, stored: Pane): Difference[] {
  return fetched.flatMap((other) => {
    const pane = slice(stored, other)
    if (isEmpty(pane)) return []
    const pair = new PanePair(pane, other)
    return pair.differing().map((bucket) => ({ bucket, pane, pair }))
  })
}

/** Of very many, some from everywhere are looked at. */
function judgementOf(comparison: Comparison, found: readonly Difference[]): ComparisonResult {
  const every = Math.ceil(found.length / maxJudged)
  const judged = found.filter((_, i) => i % every === 0).map((each) => bucketDifference(comparison, each))
  const all = judged.map(({ cause }) => cause)
  const cause = gravest(all)
  // The buckets with the overall cause come first.
  const shown = judged.toSorted((a, b) => Number(b.cause === cause) - Number(a.cause === cause))
  const differing = new Set(found.map(({ bucket }) => bucket))
  return judgement(all, { differing, buckets: shown.slice(0, maxShown) })
}

function bucketDifference(comparison: Comparison, { bucket, pane, pair }: Difference): BucketDifference {
  const { grid } = comparison
  const clock = clockOf(pane, bucket)
  const fetchedAt = fetchedAtOf(clock)
  const cells = pair.cellsAt(bucket)
  const shown = cells.slice(0, maxColumns)
  const said = (of: (cell: CellDifference) => string): string => shorten(shown.map(of).join(' '), maxChars)
  return {
    at: startOf(grid, bucket),
    fetchedAt,
    ageMs: fetchedAt - endOf(grid, bucket),
    cause: causeOf(comparison, { bucket, clock }, cells),
    columns: shown.map(({ column }) => shorten(column, maxChars)),
    cached: said(({ stored }) => stored),
    direct: said(({ fetched }) => fetched),
  }
}

function causeOf(
  { key, grid, settledAgeMs, ledger, fetched }: Comparison,
  { bucket, clock }: { bucket: number; clock: EpochMs },
  cells: readonly CellDifference[],
): Cause {
  const hash = ledger.hashAt(key, bucket, clock)
  if (hash !== undefined && hash === hashIn(fetched, bucket)) return 'store_changed'
  if (cells.every(({ stored, fetched: now }) => isSameInNumbers(stored, now))) return 'number_text'
  if (fetchedAtOf(clock) - endOf(grid, bucket) < settledAgeMs) return 'late_data'
  if (ledger.isWavering(key, bucket, clock)) return 'not_deterministic'
  return cells.every(({ isLoneColumn }) => isLoneColumn) ? 'columns' : 'settled_change'
}

function hashIn(panes: readonly Pane[], bucket: number): number | undefined {
  const pane = panes.find(({ from, to }) => from <= bucket && bucket < to)
  return pane && hashesOf(pane, { from: bucket, to: bucket + 1 })[0]
}

const numbers = /-?\d+(?:\.\d+)?(?:e[-+]?\d+)?/gi

/** `1e3` and `1000` are one number. */
const isSameInNumbers = (a: string, b: string): boolean =>
  a !== '' &&
  b !== '' &&
  a.replace(numbers, (text) => String(Number(text))) === b.replace(numbers, (text) => String(Number(text)))
