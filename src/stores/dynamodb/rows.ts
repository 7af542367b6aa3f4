/**
 * Rows of panes in DynamoDB. A newer fetch replaces an older one by a condition on its clock, without a read. Reads are
 * eventually consistent, at half the price: a row that is seen late is judged by its clock. `ttl` only collects
 * garbage: readers judge rows by their clocks, and DynamoDB may return expired items for days.
 *
 * Rows that a longer one covers stay until their TTL: deleting an item costs as much as writing it, the TTL deletes
 * without charge, and a bucket is in four rows at most, one of each length.
 */
import { BoundedMap } from '../../core/bounded-map.ts'
import { noBytes } from '../../core/bytes.ts'
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { StoreFigures } from '../figures.ts'
import { inParallel } from '../rows/in-parallel.ts'
import type { Dated, RowEngine, RowWrite, StoredKey, StoredRow } from '../rows/row-engine.ts'
import { isCondition } from './errors.ts'
import { bytesIn, itemsIn, type KeyRange, loadValue, numberIn, numeral, pages, storeValue } from './items.ts'
import {
  endOfHead,
  isSliceKey,
  readRowSortKey,
  readSliceKey,
  recordKey,
  rowBounds,
  rowSortKey,
  shardOf,
  shardPartition,
  shards,
  sliceBuckets,
  sliceKey,
  sliceOf,
  slicePartition,
  slicesOf,
  stampKey,
} from './keys.ts'
import type { DynamoDbApi, Item } from './library.ts'
import type { Requests } from './requests.ts'

export interface DynamoDbRowsOptions {
  readonly requests: Requests
  /** Before every partition key: stores that share a table, such as those of tests, keep apart by it. */
  readonly prefix: string
  readonly figures: () => StoreFigures
  readonly close: () => void
}

/** Slices that this process knows to be listed, over all keys. */
const maxKnownSlices = 50_000

const notNewer = (TableName: string, clock: EpochMs) => ({
  TableName,
  ConditionExpression: 'attribute_not_exists(c) OR c <= :clock',
  ExpressionAttributeValues: { ':clock': numeral(clock) },
})

/** An item that is put under a condition on its clock. */
interface Put extends Dated {
  readonly pk: string
  readonly sk: Buffer
}

export class DynamoDbRows implements RowEngine {
  readonly name = 'dynamodb'
  readonly figures: () => StoreFigures
  readonly #options: DynamoDbRowsOptions
  readonly #requests: Requests
  /** Until when a slice is listed, by its partition key. */
  readonly #listed = new BoundedMap<string, EpochMs>({ maxEntries: maxKnownSlices })

  constructor(options: DynamoDbRowsOptions) {
    this.#options = options
    this.#requests = options.requests
    this.figures = options.figures
  }

  async read(key: Key, range: Interval | undefined): Promise<StoredKey> {
    const pk = this.#partition(key)
    const slices = range && slicesOf(range)
    if (range === undefined || slices !== undefined) {
      const head = this.#head(pk, stampKey)
      const [{ record, stamp }, rows] = await Promise.all([head, this.#rowsIn(pk, range, slices ?? [])])
      return { record, stamp, rows }
    }
    const { record, stamp, slices: listed } = await this.#head(pk, endOfHead)
    const wanted = listed.filter((slice) => slice >= sliceOf(range.from) && slice <= sliceOf(range.to - 1))
    return { record, stamp, rows: await this.#rowsIn(pk, range, wanted) }
  }

  async write(key: Key, changes: RowWrite): Promise<void> {
    const { put, drop, record, stamp, dropRecord, retentionMs } = changes
    const pk = this.#partition(key)
    await inParallel(drop, ({ clock, ...id }) =>
      this.#drop({ pk: slicePartition(pk, sliceOf(id.from)), sk: rowSortKey(id), clock }),
    )
    if (dropRecord !== undefined) await this.#dropHead(key, dropRecord)
    const slices = this.#slicesToList(pk, changes)
    const rows = put.map((row) => ({
      ...row,
      pk: slicePartition(pk, sliceOf(row.from)),
      sk: rowSortKey(row),
      retentionMs,
    }))
    await inParallel([...slices, ...rows], (row) => this.#put(row, row.retentionMs))
    for (const { slice, until } of slices) this.#listed.set(slicePartition(pk, slice), until)
    // A reader of the new stamp finds the new rows.
    const head = [
      ...(record === undefined ? [] : this.#placesOfRecord(key).map((place) => ({ ...record, ...place }))),
      ...(stamp === undefined ? [] : [{ ...stamp, pk, sk: stampKey }]),
    ]
    await inParallel(head, (item) => this.#put(item, retentionMs))
  }

  async *records(): AsyncIterable<readonly [Key, Buffer]> {
    for (let shard = 0; shard < shards; shard++) {
      const pk = this.#options.prefix + shardPartition(shard)
      for await (const page of pages(this.#requests, { pk })) {
        for (const item of page) {
          const value = await loadValue(this.#requests, pk, item)
          if (value !== undefined) yield [bytesIn(item, 'sk')!.toString(), value]
        }
      }
    }
  }

  async close(): Promise<void> {
    this.#options.close()
  }

  #partition(key: Key): string {
    return this.#options.prefix + key
  }

  #placesOfRecord(key: Key): readonly { readonly pk: string; readonly sk: Buffer }[] {
    const shard = this.#options.prefix + shardPartition(shardOf(key))
    return [
      { pk: this.#partition(key), sk: recordKey },
      { pk: shard, sk: Buffer.from(key) },
    ]
  }

  /** Record, stamp and, as far as requested, slices: they are one partition, and so one request. */
  async #head(pk: string, to: Buffer) {
    const items = await itemsIn(this.#requests, { pk, between: [recordKey, to] })
    const at = (sk: Buffer): Item | undefined => items.find((item) => bytesIn(item, 'sk')!.equals(sk))
    const [record, stamp] = [at(recordKey), at(stampKey)]
    const slices = items.map((item) => bytesIn(item, 'sk')!).filter(isSliceKey)
    return {
      record: record && (await loadValue(this.#requests, pk, record)),
      stamp: stamp && bytesIn(stamp, 'v'),
      slices: slices.map(readSliceKey),
    }
  }

  async #rowsIn(pk: string, range: Interval | undefined, slices: readonly number[]): Promise<StoredRow[]> {
    if (range === undefined) return []
    const found = await inParallel(slices, (slice) => this.#rowsOfSlice(rangeOf(pk, range, slice)))
    return found.flat()
  }

  async #rowsOfSlice(range: KeyRange): Promise<StoredRow[]> {
    const items = await itemsIn(this.#requests, range)
    const rows = await inParallel(items, async (item) => {
      const value = await loadValue(this.#requests, range.pk, item)
      const clock = numberIn(item, 'c')!
      return value && { ...readRowSortKey(bytesIn(item, 'sk')!), clock, value }
    })
    return rows.filter((row) => row !== undefined)
  }

  async #put({ pk, sk, clock, value }: Put, retentionMs: number): Promise<void> {
    const ttl = Math.ceil((clock + retentionMs) / 1000)
    const attributes = await storeValue(this.#requests, { pk, value, ttl })
    const Item = { pk: { S: pk }, sk: { B: sk }, c: numeral(clock), ttl: numeral(ttl), ...attributes }
    await this.#unlessNewer((api, condition) => api.putItem({ ...condition, Item }), clock)
  }

  async #drop({ pk, sk, clock }: Omit<Put, 'value'>): Promise<void> {
    const Key = { pk: { S: pk }, sk: { B: sk } }
    await this.#unlessNewer((api, condition) => api.deleteItem({ ...condition, Key }), clock)
  }

  /** That something newer is stored is how races between nodes end, and no failure. */
  async #unlessNewer(
    request: (api: DynamoDbApi, condition: ReturnType<typeof notNewer>) => Promise<unknown>,
    clock: EpochMs,
  ): Promise<void> {
    const condition = notNewer(this.#requests.table, clock)
    try {
      await this.#requests.send((api) => request(api, condition))
    } catch (error) {
      if (!isCondition(error)) throw error
    }
  }

  async #dropHead(key: Key, clock: EpochMs): Promise<void> {
    const places = [...this.#placesOfRecord(key), { pk: this.#partition(key), sk: stampKey }]
    await inParallel(places, (place) => this.#drop({ ...place, clock }))
  }

  /**
   * Entries for reads of everything, of slices that this process has not listed yet. An entry outlives the rows by a retention, so
   * that a process writes it once in that time.
   */
  #slicesToList(pk: string, { put, retentionMs }: RowWrite) {
    const newest = new Map<number, EpochMs>()
    for (const { from, clock } of put)
      newest.set(sliceOf(from), Math.max(clock, newest.get(sliceOf(from)) ?? Number.NEGATIVE_INFINITY))
    const isListed = ([slice, clock]: readonly [number, EpochMs]): boolean =>
      (this.#listed.get(slicePartition(pk, slice)) ?? Number.NEGATIVE_INFINITY) >= clock + retentionMs
    return [...newest]
      .filter((one) => !isListed(one))
      .map(([slice, clock]) => ({
        ...{ pk, sk: sliceKey(slice), clock, value: noBytes },
        ...{ slice, until: clock + 2 * retentionMs, retentionMs: 2 * retentionMs },
      }))
  }
}

/** The keys of the rows that begin in a range and belong to a slice. */
function rangeOf(pk: string, range: Interval, slice: number): KeyRange {
  const from = Math.max(range.from, slice * sliceBuckets)
  const to = Math.min(range.to, (slice + 1) * sliceBuckets)
  return { pk: slicePartition(pk, slice), between: rowBounds({ from, to }) }
}
