/** The place of the last of ascending numbers that is at most `value`; the first where none is. */
export function lastAtMost(numbers: Float64Array, value: number): number {
  let [low, high] = [0, numbers.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (numbers[middle]! <= value) low = middle
    else high = middle - 1
  }
  return low
}
