/**
 * The nodes that share a store, as cells: per node one small row that it writes again with every heartbeat, and one
 * with its summary. The two are apart because the first is read regularly, and by every node, the second only on
 * request.
 */
import { noBytes } from '../../core/bytes.ts'
import type { Clock, EpochMs } from '../../core/clock.ts'
import {
  type Cell,
  type CellAttributes,
  type CellDraft,
  type Cells,
  whateverIsThere,
} from '../../stores/cells.ts'
import { encodeSummary, type NodeSummary, summaryIn } from './summary.ts'

export interface NodeFacts {
  /** Of this process alone. */
  readonly id: string
  /** `node.name`, or the name of the host. */
  readonly name: string
  /** The address of the admin listener; undefined where there is none. */
  readonly admin: string | undefined
  readonly version: string
  readonly pid: number
  readonly startedAt: EpochMs
}

export interface NodeRow extends NodeFacts {
  readonly beatAt: EpochMs
  /** Until then the node is taken to be up. */
  readonly leaseUntil: EpochMs
}

export interface NodeRowsOptions {
  readonly cells: Cells
  readonly clock: Clock
}

/** Three beats may be lost, or the clocks of two nodes may differ by some seconds, before a node counts as missing. */
const beatsPerLease = 4
/** A node that ended without removing its row is shown as missing for this long. */
const forgetMs = 3_600_000

const nodesPk = 'nodes'
const summariesPk = 'node-summaries'
const schema = 1

export class NodeRows {
  readonly #options: NodeRowsOptions

  constructor(options: NodeRowsOptions) {
    this.#options = options
  }

  /** No other process has the store open: there are no readers of the rows. */
  get isAlone(): boolean {
    return this.#options.cells.isAlone?.() === true
  }

  /** Whether no other node runs. Rejects where the store fails or is late. */
  async isFirst(): Promise<boolean> {
    const isAlone = this.#options.cells.isAlone?.()
    if (isAlone !== undefined) return isAlone
    const now = this.#options.clock.now()
    return (await this.list()).every(({ leaseUntil }) => leaseUntil <= now)
  }

  /**
   * Announces that the node runs, with the next heartbeat within `nextMs`. Resolves to whether other nodes can see it.
   */
  beat(facts: NodeFacts, nextMs: number): Promise<boolean> {
    const beatAt = Math.round(this.#options.clock.now())
    const leaseUntil = beatAt + beatsPerLease * nextMs
    const attributes = attributesOf({ ...facts, beatAt, leaseUntil })
    return this.#put(nodesPk, facts.id, { kind: 'node', clocks: { leaseUntil }, value: noBytes, attributes })
  }

  summarize(id: string, summary: NodeSummary): Promise<boolean> {
    return this.#put(summariesPk, id, { kind: 'summary', clocks: {}, value: encodeSummary(summary) })
  }

  /** Also those whose lease has run out. Rejects where the store fails or is late. */
  async list(): Promise<readonly NodeRow[]> {
    const rows = await this.#options.cells.list(nodesPk, schema)
    return rows.map(([id, cell]) => rowIn(id, cell)).filter((row) => row !== undefined)
  }

  /** By node id. Rejects where the store fails or is late. */
  async summaries(): Promise<ReadonlyMap<string, NodeSummary>> {
    const rows = await this.#options.cells.list(summariesPk, schema)
    const read = rows.map(([id, { value }]) => [id, summaryIn(value)] as const)
    return new Map(read.filter((entry): entry is [string, NodeSummary] => entry[1] !== undefined))
  }

  /** A node that ends, or one that has come back in another process. */
  async remove(id: string): Promise<void> {
    const { cells } = this.#options
    const removals = [nodesPk, summariesPk].map(async (pk) => cells.remove({ pk, sk: id }, whateverIsThere))
    // A row that cannot be removed now is collected later.
    await Promise.allSettled(removals)
  }

  async #put(pk: string, sk: string, row: Omit<CellDraft, 'v' | 'collectAt'>): Promise<boolean> {
    const { cells, clock } = this.#options
    const collectAt = Math.ceil((clock.now() + forgetMs) / 1000)
    try {
      const draft = { ...row, v: schema, collectAt }
      return (await cells.put({ pk, sk }, draft, whateverIsThere)).ok
    } catch {
      return false
    }
  }
}

const maxNameChars = 200

const attributesOf = ({ name, admin, version, pid, startedAt, beatAt }: NodeRow): CellAttributes => ({
  name: name.slice(0, maxNameChars),
  ...(admin !== undefined && { admin: admin.slice(0, maxNameChars) }),
  ...{ version, pid, started_at: Math.round(startedAt), beat_at: beatAt },
})

/** Undefined where it is none that this version understands. */
function rowIn(id: string, { attributes = {}, clocks }: Cell): NodeRow | undefined {
  const { name, admin, version, pid, started_at: startedAt, beat_at: beatAt } = attributes
  if (typeof name !== 'string' || typeof version !== 'string') return undefined
  if (typeof pid !== 'number' || typeof startedAt !== 'number' || typeof beatAt !== 'number') return undefined
  const leaseUntil = clocks.leaseUntil ?? 0
  return {
    id,
    name,
    admin: admin === undefined ? undefined : String(admin),
    version,
    pid,
    startedAt,
    beatAt,
    leaseUntil,
  }
}
