/**
 * Ages in classes: within one class, data are taken to change at one rate. A class begins at its border and ends at the
 * next; the last has no end. Everything here works in the unit of the borders.
 */
import { lastAtMost as classOf } from '../../core/sorted.ts'

/** The age at which each class begins, ascending. Ages below the first border belong to the first class. */
export type Borders = Float64Array

const seconds = [
  0, 60, 120, 180, 240, 300, 420, 600, 840, 1200, 1680, 2400, 3360, 4800, 6720, 9600, 13440, 19200, 26880,
  38400, 54000, 76800,
]

/** In milliseconds. The first class holds the buckets that are not over yet, and so have a negative age. */
export const ageBorders: Borders = Float64Array.from([
  Number.NEGATIVE_INFINITY,
  ...seconds.map((second) => second * 1000),
])

export { classOf }

/** Where a class ends; infinite for the last. */
export const endOfClass = (borders: Borders, at: number): number =>
  at + 1 < borders.length ? borders[at + 1]! : Number.POSITIVE_INFINITY

/**
 * Writes how long a bucket stays in each class while it ages from `from` to `to` into `into`, beginning with the class of
 * `from`, and returns how many classes that are.
 */
export function splitGap(
  borders: Borders,
  { from, to }: { from: number; to: number },
  into: Float64Array,
): number {
  let count = 0
  for (let at = classOf(borders, from), age = from; age < to; at++) {
    const end = Math.min(to, endOfClass(borders, at))
    into[count++] = end - age
    age = end
  }
  return count
}
