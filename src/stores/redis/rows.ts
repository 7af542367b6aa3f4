/**
 * Rows in Redis or Valkey. All keys of a shape have the same hash tag, so that a shape lies on one node of a cluster:
 *
 *   PREFIX:1:{KEY}              hash: record and stamp, each with its clock
 *   PREFIX:1:{KEY}:slices       sorted set: the slices that there are, by their end of life
 *   PREFIX:1:{KEY}:SLICE        hash: values of the rows that begin in a slice of 1024 buckets, by `offset.buckets`
 *   PREFIX:1:{KEY}:SLICE:clocks sorted set: the same rows by their clocks
 *
 * A value is the clock (8 bytes, a big-endian double) and the bytes of the row. Hash fields expire by themselves where the
 * server can do that; elsewhere every write to a slice deletes the expired rows in it, and a slice that is no longer
 * written expires as a whole. Row ids are aligned, so the ids that can begin in an interval are known without an index: an
 * interval is read by naming them, in one round trip.
 */
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { StoreFigures } from '../figures.ts'
import type { RowEngine, RowWrite, StoredKey, StoredRow } from '../rows/row-engine.ts'
import type { Connection } from './connection.ts'
import type { Argument, RedisClient } from './library.ts'
import { type RowNames, rowNames } from './names.ts'

const sliceBuckets = 1024
const rowLengths = [1, 4, 16, 64] as const
/** From so many buckets of a slice on, all of it is read: naming more ids costs more than a few rows too many. */
const wholeFrom = sliceBuckets / 2
/** Wider ranges, and unbounded ones, are read in two steps: which slices there are, and those. */
const maxSlicesAtOnce = 16
/** One call holds no more, because a server does nothing else meanwhile. */
const maxCallBytes = 1024 * 1024
const clockBytes = 8
const keysPerPage = 500

const sliceOf = (bucket: number): number => Math.floor(bucket / sliceBuckets)

export class RedisRows implements RowEngine {
  readonly name = 'redis'
  readonly #connection: Connection
  readonly #names: RowNames
  readonly #channel: string

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection
    this.#names = rowNames(prefix)
    this.#channel = `${prefix}:news`
  }

  read(key: Key, range: Interval | undefined): Promise<StoredKey> {
    return this.#connection.run('read', async (client) => {
      const parts = client.hmgetBuffer(this.#names.key(key), 'record', 'stamp')
      const [[record, stamp], rows] = await Promise.all([parts, this.#rowsIn(client, key, range)])
      return { record: record ?? undefined, stamp: stamp ?? undefined, rows: rows.sort(byFirstBucket) }
    })
  }

  async write(key: Key, changes: RowWrite): Promise<void> {
    await this.#connection.run('write', (client) =>
      Promise.all([this.#writeParts(client, key, changes), ...this.#writeRows(client, key, changes)]),
    )
  }

  async *records(): AsyncIterable<readonly [Key, Buffer]> {
    const seen = new Set<Key>()
    for (const server of this.#connection.servers) {
      let cursor = '0'
      do {
        const [next, found] = await this.#page(server, cursor)
        // A server that grows or shrinks its table returns some keys twice.
        const fresh = found
          .map(this.#names.keyIn)
          .filter((key) => key !== undefined && !seen.has(key)) as Key[]
        const stored = await Promise.all(fresh.map((key) => this.read(key, undefined)))
        for (const [i, key] of fresh.entries()) {
          const record = stored[i]?.record
          if (record !== undefined && !seen.has(key)) yield [key, record]
          seen.add(key)
        }
        cursor = next
      } while (cursor !== '0')
    }
  }

  announce(news: Buffer): void {
    this.#connection.publish(this.#channel, news)
  }

  onNews(listener: (news: Buffer) => void): void {
    this.#connection.listen(this.#channel, listener)
  }

  figures(): StoreFigures {
    return { health: this.#connection.condition }
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  async #rowsIn(client: RedisClient, key: Key, range: Interval | undefined): Promise<StoredRow[]> {
    if (range === undefined || range.from >= range.to) return []
    const slices = await this.#slicesIn(client, key, range)
    const found = await Promise.all(slices.map((slice) => this.#rowsOfSlice(client, key, { slice, range })))
    return found.flat()
  }

  /** Those that may hold rows that begin in a range. */
  async #slicesIn(client: RedisClient, key: Key, { from, to }: Interval): Promise<number[]> {
    const [first, last] = [sliceOf(from), sliceOf(to - 1)]
    if (last - first < maxSlicesAtOnce) return Array.from({ length: last - first + 1 }, (_, i) => first + i)
    const stored = await client.zrangeBuffer(this.#names.slices(key), 0, -1)
    return stored.map(Number).filter((slice) => slice >= first && slice <= last)
  }

  async #rowsOfSlice(
    client: RedisClient,
    key: Key,
    { slice, range }: { readonly slice: number; readonly range: Interval },
  ): Promise<StoredRow[]> {
    const start = slice * sliceBuckets
    const from = Math.max(0, range.from - start)
    const to = Math.min(sliceBuckets, range.to - start)
    const name = this.#names.slice(key, slice)
    if (to - from >= wholeFrom) {
      const all = Object.entries(await client.hgetallBuffer(name)).map(([id, stored]) =>
        rowOf(id, start, stored),
      )
      return all.filter((row) => row.from >= range.from && row.from < range.to)
    }
    const ids = idsIn(from, to)
    const values = await client.hmgetBuffer(name, ...ids)
    return values.flatMap((stored, i) => (stored === null ? [] : [rowOf(ids[i]!, start, stored)]))
  }

  async #writeParts(client: RedisClient, key: Key, changes: RowWrite): Promise<void> {
    const { record, stamp, dropRecord, retentionMs } = changes
    const parts = [
      ...(record ? ['record', record.clock, record.value] : []),
      ...(stamp ? ['stamp', stamp.clock, stamp.value] : []),
    ]
    if (parts.length === 0 && dropRecord === undefined) return
    await client.windowpaneKey(1, this.#names.key(key), retentionMs, dropRecord ?? '', ...parts)
  }

  /** One call per slice, or several where there are many bytes. Drops are sent before puts. */
  #writeRows(client: RedisClient, key: Key, { put, drop, now, retentionMs }: RowWrite): Promise<unknown>[] {
    const rules = [now, retentionMs, this.#connection.hasFieldTtl ? '1' : '0']
    const call = (slice: number, dropped: Argument[], rows: Argument[]) =>
      client.windowpaneRows(
        3,
        ...[this.#names.slice(key, slice), this.#names.clocks(key, slice), this.#names.slices(key)],
        ...[slice, ...rules, dropped.length / 2, ...dropped, ...rows],
      )
    const drops = [...Map.groupBy(drop, ({ from }) => sliceOf(from))].map(([slice, rows]) =>
      call(
        slice,
        rows.flatMap(({ from, buckets, clock }) => [`${from - slice * sliceBuckets}.${buckets}`, clock]),
        [],
      ),
    )
    const puts = [...Map.groupBy(put, ({ from }) => sliceOf(from))].flatMap(([slice, rows]) =>
      batches(rows).map((batch) =>
        call(
          slice,
          [],
          batch.flatMap((row) => putArguments(row, slice * sliceBuckets)),
        ),
      ),
    )
    return [...drops, ...puts]
  }

  #page(server: RedisClient, cursor: string): Promise<readonly [string, readonly string[]]> {
    const args = ['match', this.#names.keyPattern, 'count', keysPerPage, 'type', 'hash'] as const
    return this.#connection.run(
      'read',
      async () => (await server.call('scan', cursor, ...args)) as [string, string[]],
    )
  }
}

const byFirstBucket = (a: StoredRow, b: StoredRow): number => a.from - b.from

/** The ids of all rows that can begin at offsets from `from` to before `to` of a slice. */
function idsIn(from: number, to: number): string[] {
  return rowLengths.flatMap((length) => {
    const first = Math.ceil(from / length) * length
    return Array.from(
      { length: Math.max(0, Math.ceil((to - first) / length)) },
      (_, i) => `${first + i * length}.${length}`,
    )
  })
}

function rowOf(id: string, start: number, stored: Buffer): StoredRow {
  const dot = id.indexOf('.')
  return {
    from: start + Number(id.slice(0, dot)),
    buckets: Number(id.slice(dot + 1)),
    clock: stored.length < clockBytes ? 0 : stored.readDoubleBE(0),
    value: stored.subarray(clockBytes),
  }
}

function putArguments({ from, buckets, clock, value }: StoredRow, start: number): Argument[] {
  const stored = Buffer.allocUnsafe(clockBytes + value.length)
  stored.writeDoubleBE(clock, 0)
  stored.set(value, clockBytes)
  return [from - start, buckets, clock, stored]
}

function batches(rows: readonly StoredRow[]): StoredRow[][] {
  const found: StoredRow[][] = [[]]
  let bytes = 0
  for (const row of rows) {
    bytes += row.value.length
    if (bytes > maxCallBytes && found.at(-1)!.length > 0) {
      found.push([])
      bytes = row.value.length
    }
    found.at(-1)!.push(row)
  }
  return found
}
