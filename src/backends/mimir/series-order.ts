/**
 * The order of the series of an answer. The query-frontend joins the answers for each day, also where there is one day
 * only. It sorts series by their labels with a byte 0xff before each name and value: where a value is the beginning of
 * another one, it comes behind it, unless it is the last of its series.
 */

const separator = 0xff

/** A rank in the order of labels as one in the order of the front end; undefined for text that is not UTF-8. */
export function mergedRank(rank: Buffer): Buffer | undefined {
  if (rank.includes(separator)) return undefined
  const merged = Buffer.from(rank)
  // The last zero stays: the end of a key comes before everything.
  const end = merged.length - 1
  for (let at = merged.indexOf(0); at >= 0 && at < end; at = merged.indexOf(0, at + 1)) merged[at] = separator
  return merged
}
