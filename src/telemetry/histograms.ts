/** Histograms of equal bounds in one flat array: per row the counts of its buckets, then the sum. */
import { type Family, number, sampleLine } from './exposition.ts'

export class Histograms {
  readonly #bounds: Float64Array
  readonly #cells: Float64Array
  readonly #stride: number

  /** `bounds` rise; values above the last are counted in +Inf. */
  constructor(bounds: readonly number[], rows: number) {
    this.#bounds = Float64Array.from(bounds)
    this.#stride = bounds.length + 2
    this.#cells = new Float64Array(rows * this.#stride)
  }

  observe(row: number, value: number): void {
    const bounds = this.#bounds
    let low = 0
    let high = bounds.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (value <= bounds[middle]!) high = middle
      else low = middle + 1
    }
    const at = row * this.#stride
    this.#cells[at + low]!++
    this.#cells[at + this.#stride - 1]! += value
  }

  /** Adds the counts of one row, those beyond the last bound included. */
  addTo(counts: number[], row: number): void {
    const at = row * this.#stride
    for (let i = 0; i <= this.#bounds.length; i++) counts[i]! += this.#cells[at + i]!
  }

  /** The samples of one row; `values` are those of the family's labels. */
  lines({ name, labels }: Family, row: number, values: readonly string[]): string {
    const at = row * this.#stride
    const buckets = { name: `${name}_bucket`, labels: { ...labels, le: 'upper bound' } }
    let text = ''
    let count = 0
    for (let i = 0; i <= this.#bounds.length; i++) {
      count += this.#cells[at + i]!
      const bound = i < this.#bounds.length ? number(this.#bounds[i]!) : '+Inf'
      text += sampleLine(buckets, [...values, bound], count)
    }
    const sum = this.#cells[at + this.#stride - 1]!
    return (
      text +
      sampleLine({ name: `${name}_sum`, labels }, values, sum) +
      sampleLine({ name: `${name}_count`, labels }, values, count)
    )
  }
}

/** Seconds. A hit takes tenths of a millisecond: the first bounds are there for it. */
export const durationBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
]

export const ageBounds: readonly number[] = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 86_400,
]
