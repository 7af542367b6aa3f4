/** "Did you mean": the nearest of the words that would have been right. */

/** How many insertions, deletions, replacements and swaps of neighbours lead from one word to the other. */
export function distance(a: string, b: string): number {
  let [older, row]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)]
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? older![j - 2]! + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(replaced, swapped, row![j]! + 1, next[j - 1]! + 1))
    }
    older = row
    row = next
  }
  return row![b.length]!
}

/** Case and separators are no difference at all: max_stale and MaxStale mean maxStale. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[-_ ]/g, '')

/** The one candidate that is near enough to be meant: a third of it may be wrong, three letters at most, or missing at the end. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const given = plain(word.slice(0, 80))
  let best: { word: string; distance: number } | undefined
  for (const candidate of candidates) {
    const wanted = plain(candidate)
    const isCut =
      Math.min(given.length, wanted.length) > 2 && (given.startsWith(wanted) || wanted.startsWith(given))
    const d = isCut ? Math.min(1, distance(given, wanted)) : distance(given, wanted)
    const allowed = Math.min(3, Math.floor(Math.max(given.length, wanted.length) / 3))
    if (d <= allowed && d < (best?.distance ?? Number.POSITIVE_INFINITY))
      best = { word: candidate, distance: d }
  }
  return best?.word
}
