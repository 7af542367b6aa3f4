/**
 * A hot entity in several rows. Each has a share of every limit's capacity and the same share of its refill, and a
 * request is charged to one of them, chosen at random. All rows together admit exactly as much as one row would.
 */
import type { BucketLimit } from '../stores/cells.ts'
import type { Limit } from './limit.ts'
import { bucketLimit } from './token-bucket.ts'

/** Rows that a request may try; the others are not tried when these refuse. */
const maxTries = 3
const onlyShard = [0] as const

/** No share may be empty. */
export const shardCount = (asked: number, limits: readonly Limit[]): number =>
  Math.min(asked, ...limits.map(({ capacity }) => capacity))

/** The first shards get the remainder of the division, a token each. */
const capacityOf = ({ capacity }: Limit, shard: number, count: number): number =>
  Math.floor(capacity / count) + (shard < capacity % count ? 1 : 0)

/** The refill has no remainder: a shard is credited the whole amount in `count` periods. */
export const shareOf = (limit: Limit, shard: number, count: number): BucketLimit =>
  bucketLimit(limit, { capacity: capacityOf(limit, shard, count), slower: count })

/** The shards that a request may be charged to, in order: a random one that can hold it, and the next ones. */
export function shardsToTry(
  shares: readonly (readonly BucketLimit[])[],
  costOf: (limit: BucketLimit) => number,
  random: () => number,
): readonly number[] {
  if (shares.length === 1) return onlyShard
  // Shares never grow with the number of the shard: shards that can hold the request come first.
  const tooSmall = shares.findIndex((share) => share.some((limit) => costOf(limit) > limit.capacity))
  const fitting = tooSmall < 0 ? shares.length : tooSmall
  const first = Math.floor(random() * fitting)
  return Array.from({ length: Math.min(maxTries, fitting) }, (_, i) => (first + i) % fitting)
}
