/**
 * The nodes that share a store with this one, operated as one: each writes a row about itself with every heartbeat, and
 * reads the rows of the others. There is no leader, and nodes never connect to each other. Where a store fails, this
 * node works alone and reports that.
 */
import type { Clock, EpochMs, Timer } from '../../core/clock.ts'
import { inTime } from '../../core/deadline.ts'
import type { NodeState } from '../../telemetry/labels.ts'
import type { FleetFigures } from '../../telemetry/source-families.ts'
import type { NodeFacts, NodeRow, NodeRows } from './node-rows.ts'
import type { NodeSummary } from './summary.ts'

export interface SharedStore {
  readonly name: string
  readonly nodes: NodeRows
}

export interface FleetOptions {
  readonly clock: Clock
  /** The stores that are open now; read every time. */
  readonly stores: readonly SharedStore[]
  readonly facts: () => NodeFacts
  readonly summary: () => NodeSummary
}

export interface FleetNode extends NodeFacts {
  readonly isSelf: boolean
  readonly state: NodeState
  readonly beatAt: EpochMs
  /** Undefined where it could not be read. */
  readonly summary: NodeSummary | undefined
}

export interface FleetView {
  /** This node first, then by name. */
  readonly nodes: readonly FleetNode[]
  /** Why nodes may be missing from the list, as a sentence. */
  readonly trouble: string | undefined
}

export const beatMs = 5000
/** All nodes write to one partition, and some engines change a partition only so often: fifty beats per second at most. */
const beatMsPerNode = 20
/** Every node reads the rows of all: ten rows per second at most. */
const readMsPerNode = 100
/** Summaries are written with every second heartbeat, and read at most once in this time. */
const viewMs = 2000
const leaveMs = 1000

export class Fleet {
  readonly #options: FleetOptions
  #beats = 0
  #seen: readonly NodeRow[] = []
  #seenAt = Number.NEGATIVE_INFINITY
  /** Stores whose last heartbeat failed. */
  #failing: readonly string[] = []
  #last: { readonly at: EpochMs; readonly reading: Promise<FleetView> } | undefined
  #beating: Promise<void> = Promise.resolve()
  #timer: Timer | undefined
  #isBeating = false
  #isClosed = false

  constructor(options: FleetOptions) {
    this.#options = options
  }

  /** Begins with a heartbeat, where it has not begun; resolves when that is written. */
  async start(): Promise<void> {
    if (this.#isClosed || this.#isBeating || this.#options.stores.length === 0) return
    this.#isBeating = true
    const nextMs = Math.max(beatMs, beatMsPerNode * this.#seen.length)
    this.#beating = this.#beat(nextMs)
    await this.#beating
    if (this.#isClosed) return
    this.#timer = this.#options.clock.after(nextMs, () => {
      this.#isBeating = false
      void this.start()
    })
  }

  /** Undefined where no store can be shared. */
  figures(): FleetFigures | undefined {
    if (this.#options.stores.length === 0) return undefined
    const others = this.#others(this.#seen)
    const up = others.filter((row) => this.#stateOf(row) === 'up').length
    return { nodes: { up: 1 + up, missing: others.length - up }, isConnected: this.#failing.length === 0 }
  }

  /** The state of other nodes may be some seconds old; that of this node is current. */
  async view(): Promise<FleetView> {
    const { facts, summary, clock } = this.#options
    const { nodes, trouble } = await this.#readOthers()
    const own = { ...facts(), isSelf: true, state: 'up', beatAt: clock.now(), summary: summary() } as const
    return { nodes: [own, ...nodes], trouble }
  }

  /** Removes the node: the others need not wait until the lease has expired. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    const { stores, facts, clock } = this.#options
    const leave = () => Promise.all(stores.map(({ nodes }) => nodes.remove(facts().id)))
    // A store that does not answer must not hold up the end of the process.
    await inTime(this.#beating.then(leave), clock, leaveMs).catch(() => {})
  }

  /** The next one is due after `nextMs`. */
  async #beat(nextMs: number): Promise<void> {
    const { stores, clock } = this.#options
    const withSummary = this.#beats++ % 2 === 0
    const failing = await Promise.all(stores.map((store) => this.#beatAt(store, nextMs, withSummary)))
    this.#failing = failing.filter((name) => name !== undefined)
    const dueAt = this.#seenAt + Math.max(beatMs, readMsPerNode * this.#seen.length)
    if (clock.now() < dueAt) return
    const { rows, failing: unread } = await this.#list()
    this.#seenAt = clock.now()
    // A failing store gives no information about other nodes: the last view stays.
    if (unread.length + this.#failing.length > 0) return
    this.#seen = rows
    await this.#removePredecessors(rows)
  }

  /** Returns the name of a store that fails. */
  async #beatAt(
    { name, nodes }: SharedStore,
    nextMs: number,
    withSummary: boolean,
  ): Promise<string | undefined> {
    const { facts, summary } = this.#options
    // Without readers nothing is written: an idle process does not touch the disk.
    if (nodes.isAlone) return undefined
    const own = facts()
    const isWritten = await nodes.beat(own, nextMs)
    if (isWritten && withSummary) await nodes.summarize(own.id, summary())
    return isWritten ? undefined : name
  }

  async #list(): Promise<{ readonly rows: readonly NodeRow[]; readonly failing: readonly string[] }> {
    const failing: string[] = []
    const lists = this.#options.stores.map(({ name, nodes }) =>
      nodes.list().catch(() => {
        failing.push(name)
        return []
      }),
    )
    return { rows: newest((await Promise.all(lists)).flat()), failing }
  }

  /** A process that was killed and started again under the same name and address is one node. */
  async #removePredecessors(rows: readonly NodeRow[]): Promise<void> {
    const own = this.#options.facts()
    const left = rows.filter(
      (row) => row.id !== own.id && isSuccessor(own, row) && this.#stateOf(row) === 'missing',
    )
    for (const { id } of left) await Promise.all(this.#options.stores.map(({ nodes }) => nodes.remove(id)))
    this.#seen = this.#seen.filter((row) => !left.includes(row))
  }

  /** Concurrent calls share one read. */
  #readOthers(): Promise<FleetView> {
    const now = this.#options.clock.now()
    if (this.#last === undefined || now >= this.#last.at + viewMs || now < this.#last.at) {
      this.#last = { at: now, reading: this.#read() }
    }
    return this.#last.reading
  }

  async #read(): Promise<FleetView> {
    if (this.#options.stores.length === 0) return { nodes: [], trouble: undefined }
    const [{ rows, failing }, summaries] = await Promise.all([this.#list(), this.#summaries()])
    const nodes = this.#others(rows).map((row) => ({
      ...row,
      isSelf: false,
      state: this.#stateOf(row),
      summary: summaries.get(row.id),
    }))
    const troubled = [...new Set([...failing, ...this.#failing])]
    return {
      nodes: nodes.sort((a, b) => (a.name < b.name ? -1 : 1)),
      trouble: troubled.length === 0 ? undefined : troubleOf(troubled),
    }
  }

  async #summaries(): Promise<ReadonlyMap<string, NodeSummary>> {
    const empty: ReadonlyMap<string, NodeSummary> = new Map()
    const all = await Promise.all(
      this.#options.stores.map(({ nodes }) => nodes.summaries().catch(() => empty)),
    )
    const entries = all.flatMap((summaries) => [...summaries]).sort(([, a], [, b]) => a.at - b.at)
    return new Map(entries)
  }

  #others(rows: readonly NodeRow[]): NodeRow[] {
    const { id } = this.#options.facts()
    const isReplaced = (row: NodeRow) =>
      this.#stateOf(row) === 'missing' && rows.some((other) => other.id !== row.id && isSuccessor(other, row))
    return rows.filter((row) => row.id !== id && !isReplaced(row))
  }

  #stateOf({ leaseUntil }: NodeRow): NodeState {
    return this.#options.clock.now() < leaseUntil ? 'up' : 'missing'
  }
}

const isSuccessor = (node: NodeFacts, before: NodeFacts): boolean =>
  node.name === before.name && node.admin === before.admin && node.startedAt > before.startedAt

/** A node that shares several stores has a row in each. */
function newest(rows: readonly NodeRow[]): readonly NodeRow[] {
  const byId = new Map<string, NodeRow>()
  for (const row of rows.toSorted((a, b) => a.beatAt - b.beatAt)) byId.set(row.id, row)
  return [...byId.values()]
}

const troubleOf = (stores: readonly string[]): string =>
  `the shared store ${stores.join(', ')} does not answer: other nodes cannot be seen, and the output covers this node alone`
