/** Several engines that share one far store and one database, on one fake clock: nodes behind a load balancer. */
import type { Demands } from '../../src/engine/trip.ts'
import type { Store } from '../../src/stores/store.ts'
import { type AsynchronousOptions, asynchronous } from '../../src/testing/asynchronous.ts'
import { type FakeClock, fakeClock, skewed } from '../../src/testing/fake-clock.ts'
import { eventually } from '../../src/testing/object-rig.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { EngineRig, minuteMs, type RigOptions, type Served, sharedStore } from './engine-rig.ts'
import { FakeDatabase } from './fake-database.ts'

export interface FleetOptions extends Omit<RigOptions, 'far' | 'database' | 'clock'> {
  readonly nodes: number
  readonly seed?: number
  /** How the store behaves; ways of up to 25 ms and no faults by default. */
  readonly network?: Omit<AsynchronousOptions, 'clock' | 'random' | 'isCut'>
  /** How far the wall clock of each node is ahead; 0 by default. */
  readonly aheadMs?: readonly number[]
  /** The store of each node, on the node's own clock; by default one that all share. */
  readonly newStore?: (clock: FakeClock) => Store
}

export class FleetRig {
  readonly clock: FakeClock = fakeClock()
  readonly database: FakeDatabase
  readonly nodes: readonly EngineRig[]
  readonly #cut = new Set<number>()

  constructor({ nodes, seed = 1, network, aheadMs = [], ...options }: FleetOptions) {
    const { clock } = this
    const shared = sharedStore(clock)
    const { newStore = () => shared, ...rest } = options
    this.database = new FakeDatabase({ clock, valueAt: options.valueAt })
    const common = { clock, random: seededRandom(seed), maxDelayMs: 25, failures: () => 0, ...network }
    this.nodes = Array.from({ length: nodes }, (_, node) => {
      const own = skewed(clock, aheadMs[node] ?? 0)
      const far = asynchronous(newStore(own), { ...common, isCut: () => this.#cut.has(node) })
      return new EngineRig({ ...rest, clock: own, far, database: this.database })
    })
  }

  /** The start of the cell that contains now. */
  get openCell(): number {
    return Math.floor(this.clock.now() / minuteMs) * minuteMs
  }

  /** Nothing that this node does reaches the store from now on: to others it is dead. */
  cut(node: number): void {
    this.#cut.add(node)
  }

  mend(node: number): void {
    this.#cut.delete(node)
  }

  /** Every node listens for the marks of the others. */
  async loadMarks(): Promise<void> {
    const loading = Promise.all(this.nodes.map(({ marks }) => marks.load()))
    await this.clock.advance(1000)
    await loading
  }

  /** Time passes until the answer is there. */
  async ask(
    node: number,
    cells: number,
    to = this.openCell + minuteMs,
    demands: Partial<Demands> = {},
  ): Promise<Served> {
    return eventually(this.clock, this.nodes[node]!.ask(cells, to, { demands }))
  }

  truth(cells: number, to = this.openCell + minuteMs): string {
    return this.nodes[0]!.truth(cells, to)
  }
}
