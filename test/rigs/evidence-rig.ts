/** Nodes that keep learned evidence in one store, with learners that only add up; for tests of evidence in cells. */
import { evidenceRoundMs, SharedEvidence } from '../../src/engine/learning/shared-evidence.ts'
import type { Cells } from '../../src/stores/cells.ts'
import { cellsThrough } from '../../src/stores/cells-through.ts'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import type { EvidenceRow } from '../../src/ttl/learned/learner.ts'
import { failingCells } from './failing-cells.ts'

type Level = EvidenceRow['level']

/** A learner that forgets nothing, so that sums can be compared exactly. */
class Ledger {
  readonly #clock: FakeClock
  readonly #own = new Map<string, EvidenceRow>()
  foreign: readonly EvidenceRow[] = []

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  see(name: string, changes = 1, level: Level = 'source'): void {
    this.adopt([{ level, name, at: this.#clock.now(), sums: Float64Array.of(0, changes, 0, 0) }])
  }

  own(): readonly EvidenceRow[] {
    const at = this.#clock.now()
    return [...this.#own.values()].map((row) => ({ ...row, at, sums: row.sums.slice() }))
  }

  setForeign(rows: readonly EvidenceRow[]): void {
    this.foreign = rows
  }

  adopt(rows: readonly EvidenceRow[]): void {
    for (const row of rows) {
      const id = `${row.level} ${row.name}`
      const sums = this.#own.get(id)?.sums ?? new Float64Array(row.sums.length)
      this.#own.set(id, { ...row, sums: sums.map((sum, i) => sum + row.sums[i]!) })
    }
  }

  disown(rows: readonly EvidenceRow[]): void {
    this.adopt(rows.map((row) => ({ ...row, sums: row.sums.map((sum) => -sum) })))
  }

  get ownTotal(): number {
    return totalOf(this.own())
  }

  /** All evidence that its curves are computed from. */
  get total(): number {
    return this.ownTotal + totalOf(this.foreign)
  }
}

const totalOf = (rows: readonly EvidenceRow[]): number => rows.reduce((sum, { sums }) => sum + sums[1]!, 0)

export class LedgerNode {
  readonly ledger: Ledger
  readonly shared: SharedEvidence
  readonly cut = { isCut: false }

  constructor(clock: FakeClock, cells: Cells) {
    this.ledger = new Ledger(clock)
    this.shared = new SharedEvidence({
      ...{ clock, backend: 'main', learner: this.ledger },
      cells: failingCells(cells, () => this.cut.isCut),
    })
  }

  /** Nothing of it reaches the store from now on, and it does nothing more: it was killed. */
  async kill(): Promise<void> {
    this.cut.isCut = true
    await this.shared.close()
  }
}

/** Cells of which every third operation fails after it was carried out: the answer is lost on the way. */
export const forgetful = (clock: FakeClock, cells: Cells): Cells =>
  cellsThrough(cells, async (operation) => {
    const value = await operation()
    if (clock.random() < 1 / 3) throw new Error('no answer in time')
    return value
  })

export function evidenceRig() {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const start = async () => {
    const node = new LedgerNode(clock, cells)
    await node.shared.load()
    return node
  }
  return { clock, cells, start }
}

/** With its jitter, a round is over after this long. */
export const roundMs = 1.1 * evidenceRoundMs
export const leaseMs = 4 * evidenceRoundMs
