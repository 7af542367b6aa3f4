/** Claims as rows: per key one cell that lists the flights of all nodes, changed only at the revision that was read. */
import type { Edges } from '../backends/backend.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import { inTime } from '../core/deadline.ts'
import type { Intervals } from '../core/interval.ts'
import type { Key } from '../core/key.ts'
import type { CellDraft, CellId, Cells, Condition, Revision } from '../stores/cells.ts'
import type { MaybePromise } from '../stores/store.ts'

/** A flight of any node, as its row says. */
export interface ClaimedFlight {
  /** Of this flight alone: a holder that lost its lease does not find it any more. */
  readonly token: string
  readonly node: string
  readonly intervals: Intervals
  readonly edges?: Edges | undefined
  readonly startedAt: EpochMs
  /** Until then the holder is taken for alive. */
  readonly leaseUntil: EpochMs
  /** Another node waits for it. */
  readonly isAwaited?: boolean
  readonly landed?: { readonly at: EpochMs; readonly isShared: boolean }
}

export interface ClaimRow {
  readonly key: Key
  readonly flights: readonly ClaimedFlight[]
  /** Undefined where there is no row. */
  readonly rev: Revision | undefined
}

export interface ClaimRowsOptions {
  readonly cells: Cells
  readonly clock: Clock
}

/** What an operation may take before a query goes on without claims. */
const timeoutMs = 250
const schema = 1
const kind = 'claim'
/** Landed flights say that a shape is asked for by several nodes, and that there is news for whoever looked before. */
const historyMs = 10 * 60_000
const maxLanded = 4

export class ClaimRows {
  readonly #options: ClaimRowsOptions

  constructor(options: ClaimRowsOptions) {
    this.#options = options
  }

  /** Rejects where the store fails or is late. */
  async read(key: Key): Promise<ClaimRow> {
    const cell = await this.#inTime(this.#options.cells.get(idOf(key), schema))
    if (cell === undefined) return { key, flights: [], rev: undefined }
    return { key, flights: this.#current(flightsIn(cell.value)), rev: cell.rev }
  }

  /** Returns false where the row has changed since it was read. Rejects where the store fails or is late. */
  async write(row: ClaimRow, flights: readonly ClaimedFlight[]): Promise<boolean> {
    const { cells } = this.#options
    const id = idOf(row.key)
    const condition: Condition = row.rev === undefined ? { is: 'absent' } : { is: 'revision', rev: row.rev }
    const kept = this.#current(flights)
    if (kept.length === 0) return row.rev === undefined || this.#inTime(cells.remove(id, condition))
    const outcome = await this.#inTime(cells.put(id, this.#draftOf(kept), condition))
    if (!outcome.ok && outcome.reason !== 'condition')
      throw new Error(`a claim was refused: ${outcome.reason}`)
    return outcome.ok
  }

  /** Flights whose holder is gone leave, and landed ones after a while. */
  #current(flights: readonly ClaimedFlight[]): readonly ClaimedFlight[] {
    const now = this.#options.clock.now()
    const isCurrent = ({ leaseUntil, landed }: ClaimedFlight) =>
      landed === undefined ? now < leaseUntil : now < landed.at + historyMs
    const current = flights.filter(isCurrent)
    const landed = current.filter((flight) => flight.landed !== undefined)
    const surplus = new Set(landed.slice(0, Math.max(0, landed.length - maxLanded)))
    return current.filter((flight) => !surplus.has(flight))
  }

  #draftOf(flights: readonly ClaimedFlight[]): CellDraft {
    const leaseUntil = Math.max(...flights.map((flight) => flight.leaseUntil))
    const until = Math.max(leaseUntil, this.#options.clock.now() + historyMs)
    const value = Buffer.from(JSON.stringify(flights))
    return { kind, v: schema, clocks: { leaseUntil }, collectAt: Math.ceil(until / 1000), value }
  }

  async #inTime<T>(pending: MaybePromise<T>): Promise<T> {
    return await inTime(pending, this.#options.clock, timeoutMs)
  }
}

const idOf = (key: Key): CellId => ({ pk: `claim#${key}`, sk: 'flights' })

/** A row that this version cannot read says nothing. */
function flightsIn(value: Uint8Array): readonly ClaimedFlight[] {
  try {
    const flights = JSON.parse(Buffer.from(value).toString()) as unknown
    return Array.isArray(flights) ? (flights as readonly ClaimedFlight[]) : []
  } catch {
    return []
  }
}
