/**
 * The evidence of nodes about one backend, as cells of one partition: a row per node and per shape, data source or backend
 * that the node has evidence about, and a row per node with its lease. Only the node that a row belongs to writes it. Rows of a node whose lease
 * has run out are removed at the revision that was read, so that only one node adopts them.
 */
import { hash } from 'node:crypto'
import { noBytes } from '../../core/bytes.ts'
import type { Clock, EpochMs } from '../../core/clock.ts'
import {
  type Cell,
  type CellDraft,
  type CellId,
  type Cells,
  type Revision,
  unchangedSince,
  whateverIsThere,
} from '../../stores/cells.ts'
import type { EvidenceRow } from '../../ttl/learned/learner.ts'
import { packSums, unpackSums } from './packed-sums.ts'

export interface EvidenceRowsOptions {
  /** Limited in time by their guard: they reject where the store fails, is late, or is left alone. */
  readonly cells: Cells
  readonly clock: Clock
  readonly backend: string
  /** Of this process alone. */
  readonly node: string
}

export interface StoredEvidence {
  readonly sk: string
  /** Undefined where there was no row before it was to be written. */
  readonly rev: Revision | undefined
  /** The store did not answer when it was written: it may be there or not. */
  readonly isUnconfirmed?: boolean
  readonly node: string
  readonly row: EvidenceRow
}

export interface ListedEvidence {
  /** By their `sk`. */
  readonly own: ReadonlyMap<string, StoredEvidence>
  readonly foreign: readonly StoredEvidence[]
  /** By node. */
  readonly leases: ReadonlyMap<string, EpochMs>
}

/** Half of the evidence about old buckets is forgotten in a day: after a week, a row is worthless. */
const keepMs = 7 * 86_400_000
const schema = 1
const rowKind = 'evidence'
const leaseKind = 'learner'
/** Names of metrics and data sources are shorter. A longer one is not saved: its shapes and the backend are. */
const maxNameChars = 200
/** A shape that is named by its text, as in histories that were made elsewhere, is not saved: queries may contain secrets. */
const keyForm = /^[\w-]{43}$/

export class EvidenceRows {
  readonly #options: EvidenceRowsOptions
  readonly #pk: string

  constructor(options: EvidenceRowsOptions) {
    this.#options = options
    this.#pk = `evidence#${options.backend}`
  }

  /** True while no other process has the store open; false where that is unknown. */
  get isAlone(): boolean {
    return this.#options.cells.isAlone?.() === true
  }

  /** Rejects where the store fails or is late. */
  async list(): Promise<ListedEvidence> {
    const cells = await this.#options.cells.list(this.#pk, schema)
    const rows = cells.map(([sk, cell]) => evidenceIn(sk, cell)).filter((row) => row !== undefined)
    const isOwn = ({ node }: StoredEvidence) => node === this.#options.node
    return {
      own: new Map(rows.filter(isOwn).map((row) => [row.sk, row])),
      foreign: rows.filter((row) => !isOwn(row)),
      leases: new Map(cells.flatMap(([, cell]) => leaseIn(cell))),
    }
  }

  /** Publishes until when the rows of this node are its own. Rejects where the store fails or is late. */
  async lease(until: EpochMs): Promise<void> {
    const { cells, node } = this.#options
    const draft = { kind: leaseKind, clocks: { leaseUntil: until }, value: noBytes, attributes: { node } }
    await cells.put(this.#idOf(`node#${node}`), this.#kept(draft), whateverIsThere)
  }

  /** Whether a row with this name may be stored. */
  canHold({ level, name }: EvidenceRow): boolean {
    return level === 'shape' ? keyForm.test(name) : name.length <= maxNameChars
  }

  skOf({ level, name }: EvidenceRow): string {
    return `${level}#${hash('sha256', name, 'base64url')}#${this.#options.node}`
  }

  /** A row of this node that is about to be written in the place of the one that was seen. */
  unconfirmed(sk: string, row: EvidenceRow, seen: StoredEvidence | undefined): StoredEvidence {
    return { sk, rev: seen?.rev, node: this.#options.node, row, isUnconfirmed: true }
  }

  /**
   * Replaces a row of this node that is still as it was last seen; undefined where there was none. Resolves to the row that is in the
   * store afterwards, or to undefined where it is gone. Rejects where the store fails or is late.
   */
  async put(
    sk: string,
    row: EvidenceRow,
    seen: StoredEvidence | undefined,
  ): Promise<StoredEvidence | undefined> {
    const { cells, node } = this.#options
    // `level` is the name of something else in a cell.
    const { level: scope, name, at, sums } = row
    const attributes = { scope, name, node, at: Math.round(at), sums: sums.length }
    const draft = { kind: rowKind, clocks: {}, value: packSums(sums), attributes }
    const outcome = await cells.put(this.#idOf(sk), this.#kept(draft), unchangedSince(seen?.rev))
    if (outcome.ok) return { sk, rev: outcome.rev, node, row }
    if (outcome.reason !== 'condition') throw new Error(`evidence was refused: ${outcome.reason}`)
    const current = outcome.current ?? (await cells.get(this.#idOf(sk), schema))
    return current && evidenceIn(sk, current)
  }

  /** Resolves to true for exactly one of all callers. Rejects where the store fails or is late. */
  async remove({ sk, rev }: StoredEvidence): Promise<boolean> {
    return this.#options.cells.remove(this.#idOf(sk), unchangedSince(rev))
  }

  #idOf(sk: string): CellId {
    return { pk: this.#pk, sk }
  }

  #kept(draft: Omit<CellDraft, 'v' | 'collectAt'>): CellDraft {
    return { ...draft, v: schema, collectAt: Math.ceil((this.#options.clock.now() + keepMs) / 1000) }
  }
}

/** Undefined where it is none that this version understands. */
function evidenceIn(sk: string, { kind, rev, value, attributes = {} }: Cell): StoredEvidence | undefined {
  const { scope: level, name, node, at, sums: length } = attributes
  if (kind !== rowKind || !isLevel(level)) return undefined
  // Engines may leave out an attribute that is an empty text.
  if (typeof node !== 'string' || typeof at !== 'number' || typeof length !== 'number') return undefined
  const sums = unpackSums(value, length)
  return sums && { sk, rev, node, row: { level, name: String(name ?? ''), at, sums } }
}

const levels: readonly unknown[] = [
  'shape',
  'source',
  'backend',
  'staleness',
] satisfies EvidenceRow['level'][]
const isLevel = (level: unknown): level is EvidenceRow['level'] => levels.includes(level)

const leaseIn = ({ kind, clocks, attributes = {} }: Cell): (readonly [string, EpochMs])[] =>
  kind === leaseKind ? [[String(attributes['node']), clocks.leaseUntil ?? 0]] : []
