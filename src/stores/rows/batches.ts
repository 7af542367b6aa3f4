/** Items in order, in batches of at most so many bytes. An item that is larger has a batch of its own. */
export function batchesOf<T>(items: readonly T[], maxBytes: number, bytesOf: (item: T) => number): T[][] {
  const batches: T[][] = []
  let left = Number.NEGATIVE_INFINITY
  for (const item of items) {
    const bytes = bytesOf(item)
    if (bytes > left) {
      batches.push([])
      left = maxBytes
    }
    batches.at(-1)!.push(item)
    left -= bytes
  }
  return batches
}
