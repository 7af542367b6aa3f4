/**
 * A discrete-event simulation of a fleet: engines as they are shipped, on a fake clock, behind a load balancer that sends
 * every refresh to a random node. They share a store with latency and faults, and a database that takes its time. The same
 * seed gives the same run.
 */
import { RowCells } from '../../src/stores/rows/row-cells.ts'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { Network } from '../../src/testing/asynchronous.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { mixSeeds, pick, type Random, seededRandom } from '../../src/testing/random.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { EngineRig, minuteMs } from './engine-rig.ts'
import { MemoryCellEngine, MemoryRowEngine } from './memory-engines.ts'
import { type Carrier, meteredCells, meteredRows, noTraffic, type StoreTraffic } from './store-traffic.ts'
import { VersionedDatabase } from './versioned-database.ts'

export interface FleetCase {
  readonly nodes: number
  readonly viewers: number
  readonly shapes: number
  /** Without a shared store nodes do not know of each other. */
  readonly isShared?: boolean
  readonly faults?: StoreFaults
  /** The mean way to the store, or back. */
  readonly storeDelayMs?: number
  /** The mean time that a query takes the database. */
  readonly serviceMs?: number
  readonly warmUpMs?: number
  readonly measuredMs?: number
  readonly seed?: number
}

export interface StoreFaults {
  /** The share of operations that fail; half of them are done all the same. */
  readonly failing: number
  /** The share of operations that exceed every timeout. */
  readonly slow: number
  /** All operations fail in this part of the measured time. */
  readonly outage?: { readonly fromMs: number; readonly toMs: number }
}

export interface FleetResult {
  readonly requests: number
  readonly hits: number
  /** Answers that the database did not give at any instant that the TTL permits. */
  readonly wrong: number
  /** Answers that are marked as stale, because the database was slower than the patience of a request. */
  readonly stale: number
  /** Requests without an answer from panes. */
  readonly failed: number
  readonly queries: number
  readonly cells: number
  /** Requests that looked into the store again because another node was fetching. */
  readonly waited: number
  readonly unclaimed: number
  readonly traffic: StoreTraffic
  /** Per node. */
  readonly farHits: readonly number[]
  /** Per shape. */
  readonly viewersOf: readonly number[]
  readonly minutes: number
}

type FullCase = FleetCase & Required<Omit<FleetCase, 'isShared' | 'faults'>>

export const fleetDefaults = {
  seed: 1,
  storeDelayMs: 1,
  serviceMs: 150,
  warmUpMs: 12 * minuteMs,
  measuredMs: 10 * minuteMs,
}

const refreshMs = 10_000
const windowCells = 180
const slowMs = 2000
/** Without it, refreshes of exactly a TTL lock in to each other, as they do not in a browser. */
const jitterMs = 100

export async function simulateFleet(options: FleetCase): Promise<FleetResult> {
  return new FleetSimulation(options).run()
}

class FleetSimulation {
  readonly #case: FullCase
  readonly #clock: FakeClock = fakeClock()
  readonly #random: Random
  readonly #database: VersionedDatabase
  readonly #nodes: readonly EngineRig[]
  readonly #traffic = noTraffic()
  readonly #viewersOf: number[]
  readonly #tally = { requests: 0, hits: 0, wrong: 0, stale: 0, failed: 0 }
  #isOver = false

  constructor(options: FleetCase) {
    this.#case = { ...fleetDefaults, ...options }
    const { seed, serviceMs, nodes, shapes, isShared = true } = this.#case
    this.#random = seededRandom(seed)
    this.#viewersOf = new Array<number>(shapes).fill(0)
    const service = exponential(seededRandom(mixSeeds(seed, 1)))
    const clock = this.#clock
    this.#database = new VersionedDatabase({
      ...{ clock, stepMs: minuteMs },
      serviceMs: () => serviceMs * (0.5 + 0.5 * service()),
    })
    const farOf = isShared ? this.#farStores() : undefined
    this.#nodes = Array.from(
      { length: nodes },
      () => new EngineRig({ clock, upstream: this.#database, ...(farOf && { far: farOf() }) }),
    )
  }

  async run(): Promise<FleetResult> {
    const { viewers, warmUpMs, measuredMs } = this.#case
    for (const { marks } of this.#nodes) void marks.load()
    const shapeOf = zipf(this.#random, this.#viewersOf.length)
    for (let viewer = 0; viewer < viewers; viewer++) {
      const shape = shapeOf()
      this.#viewersOf[shape]!++
      this.#clock.after(this.#random() * refreshMs, () => this.#refresh(`shape${shape}`))
    }
    await this.#clock.advance(warmUpMs)
    const before = this.#figures()
    await this.#clock.advance(measuredMs)
    const after = this.#figures()
    this.#isOver = true
    for (const { marks } of this.#nodes) marks.close()
    // Requests under way finish, so that every answer is judged.
    await this.#clock.advance(minuteMs)
    return {
      ...difference(after, before),
      traffic: difference(after.traffic, before.traffic),
      ...{ wrong: this.#tally.wrong, stale: this.#tally.stale, failed: this.#tally.failed },
      farHits: this.#nodes.map(({ tiered }) => tiered?.far.found ?? 0),
      viewersOf: this.#viewersOf,
      minutes: measuredMs / minuteMs,
    }
  }

  #refresh(question: string): void {
    if (this.#isOver) return
    void this.#look(pick(this.#random, this.#nodes), question)
    const delay = refreshMs + jitterMs * (2 * this.#random() - 1)
    this.#clock.after(delay, () => this.#refresh(question))
  }

  async #look(node: EngineRig, question: string): Promise<void> {
    const askedAt = this.#clock.now()
    const to = node.openCell + minuteMs
    const from = to - windowCells * minuteMs
    const plan = node.planOf(`q=${question}&from=${from}&to=${to}&step=${minuteMs}`)
    this.#tally.requests++
    const { answer, decision, text } = await node.serve(plan)
    if (decision.outcome === 'hit') this.#tally.hits++
    if (decision.outcome === 'stale') this.#tally.stale++
    else if (answer.kind !== 'panes') this.#tally.failed++
    else if (!this.#database.isRight(text, { question, from, to, askedAt, ttlMs })) this.#tally.wrong++
  }

  #figures() {
    const claims = this.#nodes.map((node) => node.claims?.counters)
    const sum = (of: (one: NonNullable<(typeof claims)[number]>) => number) =>
      claims.reduce((total, one) => total + (one === undefined ? 0 : of(one)), 0)
    return {
      ...{ requests: this.#tally.requests, hits: this.#tally.hits },
      ...{ queries: this.#database.queries, cells: this.#database.cells },
      waited: sum(({ waited, expired }) => waited + expired),
      unclaimed: sum(({ unavailable }) => unavailable),
      traffic: { ...this.#traffic },
    }
  }

  /** Makes the store of each node: rows and cells as network stores lay them out, on engines that all nodes share. */
  #farStores(): () => Store {
    const { seed, storeDelayMs, faults } = this.#case
    const clock = this.#clock
    const random = seededRandom(mixSeeds(seed, 2))
    const delay = exponential(random)
    const isSlow = () => random() < (faults?.slow ?? 0)
    const network = new Network({
      ...{ clock, random },
      delayMs: () => (isSlow() ? slowMs : storeDelayMs * (0.3 + 0.7 * delay())),
      failures: () => (this.#isOutage() ? 1 : (faults?.failing ?? 0)),
    })
    const carry: Carrier = (operation) => network.run(operation)
    const engine = meteredRows(new MemoryRowEngine(), this.#traffic, carry)
    const cellEngine = meteredCells(new MemoryCellEngine(), this.#traffic, carry)
    return () =>
      new RowStore({ engine, cells: new RowCells(cellEngine, clock), clock, retentionMs: 86_400_000 })
  }

  #isOutage(): boolean {
    const { faults, warmUpMs } = this.#case
    const at = this.#clock.elapsed() - warmUpMs
    return faults?.outage !== undefined && at >= faults.outage.fromMs && at < faults.outage.toMs
  }
}

/** Cells to which data is still added have the shortest TTL. */
const ttlMs = ladder().ttl(0)

/** Popularity falls with the rank: half as many look at the second shape as at the first. */
function zipf(random: Random, shapes: number): () => number {
  const sums: number[] = []
  for (let rank = 1; rank <= shapes; rank++) sums.push((sums.at(-1) ?? 0) + 1 / rank)
  return () => {
    const at = random() * sums.at(-1)!
    return sums.findIndex((sum) => at < sum)
  }
}

/** Waiting times of mean 1. */
const exponential = (random: Random) => () => -Math.log(1 - random())

/** The numbers of an object, less those of an earlier one. */
function difference<T extends object>(after: T, before: T): T {
  const entries = Object.entries(after).map(([name, value]) => {
    const earlier = (before as Record<string, unknown>)[name]
    return [name, typeof value === 'number' ? value - (earlier as number) : value]
  })
  return Object.fromEntries(entries) as T
}
