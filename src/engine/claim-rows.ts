/** Claims as rows: per key one cell that lists the flights of all nodes, changed only at the revision that was read. */
import type { Edges } from '../backends/backend.ts'
import type { Clock, EpochMs } from '../core/clock.ts'
import type { Intervals } from '../core/interval.ts'
import { jsonIn } from '../core/json-object.ts'
import type { Key } from '../core/key.ts'
import {
  type Cell,
  type CellDraft,
  type CellId,
  type Cells,
  type Revision,
  unchangedSince,
} from '../stores/cells.ts'

/** A flight of any node, as in its row. */
export interface ClaimedFlight {
  /** Of this flight alone: a holder that lost its lease does not find it any more. */
  readonly token: string
  readonly node: string
  readonly intervals: Intervals
  readonly edges?: Edges | undefined
  readonly startedAt: EpochMs
  /** Until then the holder is taken for alive. */
  readonly leaseUntil: EpochMs
  /** Other nodes want it: it is written through to the shared tier before it lands. */
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
  /** Limited in time by their guard: they reject where the store fails, is late, or is left alone. */
  readonly cells: Cells
  readonly clock: Clock
}

const schema = 1
const kind = 'claim'
/** Every lookup that began longer than this after a landing has found the landed buckets. */
export const newsMs = 5000
/** Landed flights also show a node that other nodes use this shape. */
const historyMs = 10 * 60_000
const maxLanded = 4
/**
 * Of two nodes, so that each of them sees another one. Rows stay below 1 KB, the unit by which engines charge writes.
 */
const maxHistory = 2

export interface WriteOutcome {
  /** False where the row had changed since it was read. */
  readonly isWritten: boolean
  /** The row as it is now. */
  readonly row: ClaimRow
}

export class ClaimRows {
  readonly #options: ClaimRowsOptions

  constructor(options: ClaimRowsOptions) {
    this.#options = options
  }

  /** Rejects where the store fails or is late. */
  async read(key: Key): Promise<ClaimRow> {
    return this.#rowOf(key, await this.#options.cells.get(idOf(key), schema))
  }

  /** Changes a row only if it is still as it was read. Rejects where the store fails or is late. */
  async write(row: ClaimRow, flights: readonly ClaimedFlight[]): Promise<WriteOutcome> {
    const kept = this.#current(flights)
    return kept.length === 0 ? this.#remove(row) : this.#put(row, kept)
  }

  async #put(row: ClaimRow, flights: readonly ClaimedFlight[]): Promise<WriteOutcome> {
    const { key } = row
    const outcome = await this.#options.cells.put(idOf(key), this.#draftOf(flights), unchangedSince(row.rev))
    if (outcome.ok) return { isWritten: true, row: { key, flights, rev: outcome.rev } }
    if (outcome.reason !== 'condition') throw new Error(`a claim was refused: ${outcome.reason}`)
    const { current } = outcome
    return { isWritten: false, row: current === undefined ? await this.read(key) : this.#rowOf(key, current) }
  }

  async #remove(row: ClaimRow): Promise<WriteOutcome> {
    const { key } = row
    const isGone =
      row.rev === undefined || (await this.#options.cells.remove(idOf(key), unchangedSince(row.rev)))
    return { isWritten: isGone, row: isGone ? { key, flights: [], rev: undefined } : await this.read(key) }
  }

  #rowOf(key: Key, cell: Cell | undefined): ClaimRow {
    if (cell === undefined) return { key, flights: [], rev: undefined }
    return { key, flights: this.#current(flightsIn(cell.value)), rev: cell.rev }
  }

  /** Drops flights whose lease expired, and landed flights that other nodes have no use for. */
  #current(flights: readonly ClaimedFlight[]): readonly ClaimedFlight[] {
    const now = this.#options.clock.now()
    const landed = flights.filter((flight) => hasLandedWithin(historyMs, flight, now)).reverse()
    const news = landed.filter((flight) => hasLandedWithin(newsMs, flight, now)).slice(0, maxLanded)
    const isNewestOfNode = ({ node }: ClaimedFlight, at: number) =>
      landed.findIndex((flight) => flight.node === node) === at
    const kept = new Set([...news, ...landed.filter(isNewestOfNode).slice(0, maxHistory)])
    return flights.filter((flight) => (flight.landed ? kept.has(flight) : now < flight.leaseUntil))
  }

  #draftOf(flights: readonly ClaimedFlight[]): CellDraft {
    const leaseUntil = Math.max(...flights.map((flight) => flight.leaseUntil))
    const until = Math.max(leaseUntil, this.#options.clock.now() + historyMs)
    const value = Buffer.from(JSON.stringify(flights))
    return { kind, v: schema, clocks: { leaseUntil }, collectAt: Math.ceil(until / 1000), value }
  }
}

const hasLandedWithin = (ms: number, { landed }: ClaimedFlight, now: EpochMs): boolean =>
  landed !== undefined && now < landed.at + ms

const idOf = (key: Key): CellId => ({ pk: `claim#${key}`, sk: 'flights' })

/** A row that this version cannot read is ignored. */
function flightsIn(value: Uint8Array): readonly ClaimedFlight[] {
  const flights = jsonIn(value)
  return Array.isArray(flights) ? (flights as readonly ClaimedFlight[]) : []
}
