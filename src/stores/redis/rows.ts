/**
 * Rows in Redis or Valkey. All keys of a shape have the same hash tag, so that a shape lies on one node of a cluster:
 *
 *   PREFIX:1:{KEY}              hash: record and stamp, each with its clock, and the end of life of every slice
 *   PREFIX:1:{KEY}:SLICE        hash: values of the rows that begin in a slice of 1024 buckets, by `offset.buckets`
 *   PREFIX:1:{KEY}:SLICE:clocks sorted set: the same rows by their clocks
 *
 * A value is the clock (8 bytes, a big-endian double) and the bytes of the row. Hash fields expire by themselves where the
 * server can do that; elsewhere every write to a slice deletes the expired rows in it, and a slice that is no longer
 * written expires as a whole. Row ids are aligned, so the ids that can begin in an interval are known without an index: an
 * interval is read by naming them, in one round trip.
 */
import { batchesOf } from '../../core/batches.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { StoreFigures } from '../figures.ts'
import { rowLengths } from '../rows/pieces.ts'
import type { RowEngine, RowId, RowWrite, StoredKey, StoredRow } from '../rows/row-engine.ts'
import type { Connection } from './connection.ts'
import type { RedisClient } from './library.ts'
import { type RowNames, rowNames } from './names.ts'

const sliceBuckets = 1024
/** From so many buckets of a slice on, all of it is read: naming more ids costs more than a few rows too many. */
const wholeFrom = sliceBuckets / 2
/** Wider ranges, and unbounded ones, are read in two steps: which slices there are, and those. */
const maxSlicesAtOnce = 16
/** One call holds no more, because a server does nothing else meanwhile. */
const maxCallBytes = 1024 * 1024
const clockBytes = 8
const keysPerPage = 500
const sliceField = 'slice:'

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
      const isWide = range !== undefined && sliceOf(range.to - 1) - sliceOf(range.from) >= maxSlicesAtOnce
      if (isWide) return this.#readWide(client, key, range)
      const parts = client.hmgetBuffer(this.#names.key(key), 'record', 'stamp')
      const slices = range === undefined ? [] : slicesIn(range)
      const [[record, stamp], rows] = await Promise.all([parts, this.#rowsIn(client, key, { slices, range })])
      return { record: record ?? undefined, stamp: stamp ?? undefined, rows }
    })
  }

  /** First which slices there are, then those. */
  async #readWide(client: RedisClient, key: Key, range: Interval): Promise<StoredKey> {
    const fields = await client.hgetallBuffer(this.#names.key(key))
    const stored = Object.keys(fields).filter((field) => field.startsWith(sliceField))
    const slices = stored.map((field) => Number(field.slice(sliceField.length)))
    const inside = slices.filter((slice) => slice >= sliceOf(range.from) && slice <= sliceOf(range.to - 1))
    const rows = await this.#rowsIn(client, key, { slices: inside, range })
    return { record: fields['record'], stamp: fields['stamp'], rows }
  }

  async write(key: Key, changes: RowWrite): Promise<void> {
    await this.#connection.run('write', (client) => Promise.all(this.#writes(client, key, changes)))
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

  async #rowsIn(
    client: RedisClient,
    key: Key,
    { slices, range }: { readonly slices: readonly number[]; readonly range: Interval | undefined },
  ): Promise<StoredRow[]> {
    if (range === undefined) return []
    const found = await Promise.all(slices.map((slice) => this.#rowsOfSlice(client, key, { slice, range })))
    return found.flat().sort((a, b) => a.from - b.from)
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

  /** A call per slice, or several where there are many bytes; record and stamp come with the first. */
  #writes(client: RedisClient, key: Key, changes: RowWrite): Promise<unknown>[] {
    const { now, retentionMs, dropRecord = '', record, stamp } = changes
    const rules = [now, retentionMs, this.#connection.hasFieldTtl ? '1' : '0']
    const parts = [
      ...(record ? ['record', record.clock, record.value] : []),
      ...(stamp ? ['stamp', stamp.clock, stamp.value] : []),
    ]
    const first = [...rules, dropRecord, parts.length / 3, ...parts]
    const calls = callsOf(changes)
    if (calls.length === 0) return [client.windowpaneWrite(1, this.#names.key(key), ...first)]
    return calls.map(({ slice, args }, i) => {
      const keys = [this.#names.key(key), this.#names.slice(key, slice), this.#names.clocks(key, slice)]
      return client.windowpaneWrite(3, ...keys, ...(i === 0 ? first : [...rules, '', 0]), slice, ...args)
    })
  }

  #page(server: RedisClient, cursor: string): Promise<readonly [string, readonly string[]]> {
    const args = ['match', this.#names.keyPattern, 'count', keysPerPage, 'type', 'hash'] as const
    return this.#connection.run(
      'read',
      async () => (await server.call('scan', cursor, ...args)) as [string, string[]],
    )
  }
}

function slicesIn({ from, to }: Interval): number[] {
  const first = sliceOf(from)
  return Array.from({ length: Math.max(0, sliceOf(to - 1) - first + 1) }, (_, i) => first + i)
}

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

/** The rows of a write as arguments, by slices. All drops come before all puts. */
function callsOf({ drop, put }: RowWrite) {
  const drops = [...Map.groupBy(drop, ({ from }) => sliceOf(from))].map(([slice, rows]) => ({
    slice,
    args: [rows.length, ...rows.flatMap((row) => [idOf(row, slice), row.clock])],
  }))
  const puts = [...Map.groupBy(put, ({ from }) => sliceOf(from))].flatMap(([slice, rows]) =>
    batchesOf(rows, maxCallBytes, ({ value }) => value.length).map((batch) => ({
      slice,
      args: [0, ...batch.flatMap((row) => [idOf(row, slice), storedValue(row)])],
    })),
  )
  return [...drops, ...puts]
}

const idOf = ({ from, buckets }: RowId, slice: number): string => `${from - slice * sliceBuckets}.${buckets}`

function storedValue({ clock, value }: StoredRow): Buffer {
  const stored = Buffer.allocUnsafe(clockBytes + value.length)
  stored.writeDoubleBE(clock, 0)
  stored.set(value, clockBytes)
  return stored
}
