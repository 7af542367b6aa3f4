/**
 * One meter for all threads of a process: each has a cell that only it writes, and the usage is the sum of all. The
 * cell of a thread that ended without releasing can be emptied.
 */
import type { Meter } from '../core/budget.ts'

/** The cells, as sent to the threads. */
export type MeterCells = BigInt64Array<SharedArrayBuffer>

export const meterCells = (threads: number): MeterCells =>
  new BigInt64Array(new SharedArrayBuffer(8 * threads))

export interface SharedMeterOptions {
  readonly cells: MeterCells
  /** The cell of this thread. */
  readonly own: number
  /** Called when something was taken and more than `tightAbove` is used. */
  readonly tightAbove?: number
  readonly onTight?: () => void
}

export class SharedMeter implements Meter {
  readonly #options: SharedMeterOptions

  constructor(options: SharedMeterOptions) {
    this.#options = options
  }

  get used(): number {
    const { cells } = this.#options
    let used = 0n
    for (let i = 0; i < cells.length; i++) used += Atomics.load(cells, i)
    return Number(used)
  }

  add(bytes: number): void {
    const { cells, own, tightAbove = Number.POSITIVE_INFINITY, onTight } = this.#options
    Atomics.add(cells, own, BigInt(bytes))
    if (bytes > 0 && this.used > tightAbove) onTight?.()
  }
}

/** Releases the memory of a thread that has ended. */
export function emptyCell(cells: MeterCells, thread: number): void {
  Atomics.store(cells, thread, 0n)
}
