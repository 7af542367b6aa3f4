/** Several engines that share one far store and one database, on one fake clock: nodes behind a load balancer. */
import { asynchronous } from './asynchronous.ts'
import { EngineRig, minuteMs, type RigOptions, type Served, sharedStore } from './engine-rig.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'
import { FakeDatabase } from './fake-database.ts'
import { seededRandom } from './random.ts'

export interface FleetOptions extends Omit<RigOptions, 'far' | 'database' | 'clock'> {
  readonly nodes: number
  readonly seed?: number
  /** How long the way to the store, or back, takes at most. */
  readonly maxDelayMs?: number
  /** The share of store operations that fail. */
  readonly failures?: () => number
}

export class FleetRig {
  readonly clock: FakeClock = fakeClock()
  readonly database: FakeDatabase
  readonly nodes: readonly EngineRig[]
  readonly #cut = new Set<number>()

  constructor({ nodes, seed = 1, maxDelayMs = 25, failures = () => 0, ...options }: FleetOptions) {
    const { clock } = this
    this.database = new FakeDatabase({
      clock,
      valueAt: options.valueAt ?? ((start) => (start / 1000) % 9973),
    })
    const store = sharedStore(clock)
    const network = { clock, random: seededRandom(seed), maxDelayMs, failures }
    this.nodes = Array.from({ length: nodes }, (_, node) => {
      const far = asynchronous(store, { ...network, isCut: () => this.#cut.has(node) })
      return new EngineRig({ ...options, clock, far, database: this.database })
    })
  }

  /** The start of the cell that contains now. */
  get openCell(): number {
    return this.nodes[0]!.openCell
  }

  /** Nothing that this node does reaches the store from now on: to others it is dead. */
  cut(node: number): void {
    this.#cut.add(node)
  }

  /** Time passes until the answer is there. */
  async ask(node: number, cells: number, to = this.openCell + minuteMs): Promise<Served> {
    const asking = this.nodes[node]!.ask(cells, to)
    let isOver = false
    void asking.finally(() => {
      isOver = true
    })
    for (let ms = 0; !isOver && ms < 120_000; ms++) await this.clock.advance(1)
    return asking
  }

  truth(cells: number, to = this.openCell + minuteMs): string {
    return this.nodes[0]!.truth(cells, to)
  }
}
