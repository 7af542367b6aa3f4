/**
 * Usage per entity, resource and window of time, counted from permits in this process when they are given, the first of
 * an entity included. A process writes its sums, not increments, into rows that only it writes: writing a row twice, or
 * again after a failure, changes nothing. Readers add up the rows of all processes. A process that dies loses its
 * counts since the last write.
 */
import { type Clock, type EpochMs, systemClock, type Timer } from '../core/clock.ts'
import { newUuid } from '../core/uuid.ts'
import { type Cells, whateverIsThere } from '../stores/cells.ts'
import type { Tokens } from './limit.ts'
import { isOfTarget, type LimitTarget } from './registry-rows.ts'
import {
  addTokens,
  encodeUsage,
  type Sum,
  type Usage,
  type UsageKind,
  UsageWindow,
  usageIn,
  usageKinds,
  windowMs,
} from './usage-window.ts'

export interface UsageOptions {
  readonly clock?: Clock
  /** How often sums are written; 30 s by default. */
  readonly flushMs?: number
  /** Entities and resources that have their own counter in a window; 10 000 by default. Others are counted together. */
  readonly maxEntries?: number
}

const schema = 1
const keptMs = 90 * 86_400_000
/** Of each kind, where the store fails for so long that several cannot be written. */
const maxWindows = 4

export class UsageCounter {
  /** Windows whose sums could not be written before they had to be dropped. */
  lost = 0
  readonly #cells: Cells
  readonly #clock: Clock
  readonly #flushMs: number
  readonly #bounds
  readonly #id: string
  /** The current window is the last of its kind. */
  readonly #windows: Readonly<Record<UsageKind, UsageWindow[]>> = { hour: [], day: [] }
  #timer: Timer | undefined
  #flushing: Promise<boolean> = Promise.resolve(true)

  constructor(cells: Cells, options: UsageOptions = {}) {
    const { clock = systemClock, flushMs = 30_000, maxEntries = 10_000 } = options
    this.#cells = cells
    this.#clock = clock
    this.#flushMs = flushMs
    this.#bounds = { maxEntries, maxPieceBytes: cells.capabilities.maxValueBytes / 2 }
    this.#id = newUuid(() => clock.random())
  }

  permitted(entity: string, resource: string, consumed: Tokens): void {
    this.#count(entity, resource, (sums) => {
      sums.permits++
      addTokens(sums.tokens, consumed, 1)
    })
  }

  /** Tokens taken later, or, below 0, returned. They count in the window in which that happens. */
  adjusted(entity: string, resource: string, delta: Tokens): void {
    this.#count(entity, resource, (sums) => addTokens(sums.tokens, delta, 1))
  }

  refunded(entity: string, resource: string, consumed: Tokens): void {
    this.#count(entity, resource, (sums) => addTokens(sums.tokens, consumed, -1))
  }

  refused(entity: string, resource: string): void {
    this.#count(entity, resource, (sums) => {
      sums.refusals++
    })
  }

  /** Writes all counts. Resolves to whether all of them are stored. */
  flush(): Promise<boolean> {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#flushing = this.#flushing.then(() => this.#write())
    return this.#flushing
  }

  async close(): Promise<void> {
    await this.flush()
    this.#timer?.cancel()
  }

  #count(entity: string, resource: string, add: (sum: Sum) => void): void {
    const now = this.#clock.now()
    for (const kind of usageKinds) add(this.#windowAt(kind, now).touch(entity, resource))
    this.#timer ??= this.#clock.after(this.#flushMs, () => void this.flush())
  }

  #windowAt(kind: UsageKind, at: EpochMs): UsageWindow {
    const windows = this.#windows[kind]
    const last = windows.at(-1)
    if (last?.hasInstant(at) === true) return last
    // The clock may have been set back.
    const known = windows.find((window) => window.hasInstant(at))
    if (known !== undefined) return known
    const window = new UsageWindow(kind, at, this.#bounds)
    windows.push(window)
    if (windows.length > maxWindows && windows.shift()!.isDirty) this.lost++
    return window
  }

  async #write(): Promise<boolean> {
    let isStored = true
    for (const kind of usageKinds) {
      for (const window of [...this.#windows[kind]]) isStored = (await this.#writeWindow(window)) && isStored
      this.#dropWritten(kind)
    }
    if (!isStored) this.#timer ??= this.#clock.after(this.#flushMs, () => void this.flush())
    return isStored
  }

  async #writeWindow({ kind, start, end, pieces }: UsageWindow): Promise<boolean> {
    let isStored = true
    const collectAt = Math.ceil((end + keptMs) / 1000)
    for (const [i, piece] of pieces.entries()) {
      if (!piece.isDirty) continue
      // Counts that arrive while the row is being written make it dirty again.
      piece.isDirty = false
      const draft = { kind: 'usage', v: schema, clocks: {}, collectAt, value: encodeUsage(piece.entries) }
      try {
        const id = { pk: pkOf(kind, start), sk: `${this.#id}#${i}` }
        piece.isDirty ||= !(await this.#cells.put(id, draft, whateverIsThere)).ok
      } catch {
        piece.isDirty = true
      }
      if (piece.isDirty) isStored = false
    }
    return isStored
  }

  #dropWritten(kind: UsageKind): void {
    const windows = this.#windows[kind]
    const now = this.#clock.now()
    const kept = windows.filter((window) => window.isDirty || window.end > now)
    windows.splice(0, windows.length, ...kept)
  }
}

const pkOf = (kind: UsageKind, start: EpochMs): string =>
  `LIMITS#USAGE#${kind.toUpperCase()}#${new Date(start).toISOString().slice(0, kind === 'hour' ? 13 : 10)}`

export interface UsageQuery extends LimitTarget {
  readonly kind: UsageKind
  /** Windows that overlap [from, to). */
  readonly from: EpochMs
  readonly to: EpochMs
}

export interface UsageInWindow extends Usage {
  readonly start: EpochMs
}

export const maxUsageWindows = 100

/** The sums of all processes, the latest window first. Rejects where the store fails. */
export async function readUsage(cells: Cells, query: UsageQuery): Promise<readonly UsageInWindow[]> {
  const ms = windowMs[query.kind]
  const found: UsageInWindow[] = []
  const first = Math.floor(query.from / ms) * ms
  const last = Math.ceil(query.to / ms) * ms - ms
  for (let start = last; start >= first && start > last - maxUsageWindows * ms; start -= ms) {
    const rows = await cells.list(pkOf(query.kind, start), schema)
    const usages = rows.flatMap(([, { value }]) => usageIn(value))
    found.push(
      ...merged(usages.filter((usage) => isOfTarget(usage, query))).map((usage) => ({ ...usage, start })),
    )
  }
  return found
}

/** By entity and resource, in the order of their names. */
function merged(usages: readonly Usage[]): readonly Usage[] {
  const sums = new Map<string, Sum>()
  for (const { entity, resource, permits, refusals, tokens } of usages) {
    const key = `${entity}#${resource}`
    const sum = sums.get(key) ?? { entity, resource, permits: 0, refusals: 0, tokens: new Map() }
    sum.permits += permits
    sum.refusals += refusals
    addTokens(sum.tokens, Object.fromEntries(tokens), 1)
    sums.set(key, sum)
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}
