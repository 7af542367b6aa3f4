/** Requests of one operation to an engine: several at a time, and not all at once. */

const maxParallel = 16

/** Results in the order of the items. */
export async function inParallel<T, R>(items: readonly T[], action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await action(items[i]!)
  }
  await Promise.all(Array.from({ length: Math.min(maxParallel, items.length) }, work))
  return results
}
