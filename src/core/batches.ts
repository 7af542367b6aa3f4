/** Items in order, in batches of at most this weight. An item that is heavier has a batch of its own. */
export function batchesOf<T>(items: readonly T[], maxWeight: number, weightOf: (item: T) => number): T[][] {
  const batches: T[][] = []
  let left = Number.NEGATIVE_INFINITY
  for (const item of items) {
    const weight = weightOf(item)
    if (weight > left) {
      batches.push([])
      left = maxWeight
    }
    batches.at(-1)!.push(item)
    left -= weight
  }
  return batches
}
