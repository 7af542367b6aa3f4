/**
 * Where the items of a key are. `pk` is text and begins with the key, a hash, so that keys spread over all of DynamoDB's
 * partitions; `sk` is binary and big-endian, so that its order is time order.
 *
 *   pk                   sk                      content
 *   key                  0                       the record
 *   key                  1                       the stamp
 *   key                  2, slice (8 bytes)      one of the slices that may have rows
 *   short hash#slice     bucket (8), buckets     a row; every write pays for the bytes of its key
 *   pk of an item#set    part (2)                a part of the item's value, where that is too long for one item
 *   shapes#0 … #15       key                     the record again, for lists of all keys
 *
 * Rows are cut into slices because a partition of DynamoDB takes 1000 KB a second: the first write of a wide window is more.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { noBytes } from '../../core/bytes.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { RowId } from '../rows/row-engine.ts'
import { bucketKey } from '../rows/row-key.ts'

/** A multiple of the longest row, so that no row reaches into two slices. */
export const sliceBuckets = 512
export const shards = 16

/** Above this many slices, the list of existing slices is read first. */
const maxSlicesAsked = 64

export const recordKey = Buffer.from([0])
export const stampKey = Buffer.from([1])
/** Behind the keys of all slices. */
export const endOfHead = Buffer.from([3])

export const sliceOf = (bucket: number): number => Math.floor(bucket / sliceBuckets)

/** Half of a hash keeps keys apart, and would a value be found under another key's rows, its seal would not fit. */
const maxHashLength = 22

export const slicePartition = (key: Key, slice: number): string =>
  `${hash('sha256', key, 'base64url').slice(0, maxHashLength)}#${slice}`

export const shardPartition = (shard: number): string => `shapes#${shard}`
export const shardOf = (key: Key): number => crc32(key) % shards

const slicePrefix = Buffer.from([2])
export const sliceKey = (slice: number): Buffer => bucketKey(slicePrefix, slice)
export const isSliceKey = (sk: Buffer): boolean => sk[0] === slicePrefix[0]
export const readSliceKey = (sk: Buffer): number => readBucket(sk, slicePrefix.length)

export const rowSortKey = ({ from, buckets }: RowId): Buffer =>
  Buffer.concat([bucketKey(noBytes, from), Buffer.from([buckets])])

export const readRowSortKey = (sk: Buffer): RowId => ({
  from: readBucket(sk, 0),
  buckets: sk[sk.length - 1]!,
})

/** The first and the last sort key of rows that begin in an interval: rows at its end have longer keys than the last. */
export const rowBounds = ({ from, to }: Interval): readonly [Buffer, Buffer] => [
  bucketKey(noBytes, from),
  bucketKey(noBytes, to),
]

export const partKey = (part: number): Buffer => Buffer.from([part >> 8, part & 0xff])

/** The slices of an interval, or undefined where it is unbounded, or so wide that most of them would be empty. */
export function slicesOf({ from, to }: Interval): number[] | undefined {
  const [first, last] = [sliceOf(from), sliceOf(to - 1)]
  if (!(last - first < maxSlicesAsked)) return undefined
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}

const bias = 2 ** 31

/** The number that `bucketKey` wrote. */
const readBucket = (bytes: Buffer, at: number): number =>
  (bytes.readUInt32BE(at) - bias) * 2 ** 32 + bytes.readUInt32BE(at + 4)
