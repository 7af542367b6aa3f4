/**
 * A store over an engine behind a network (row-engine.ts). Panes are cut into rows that newer fetches replace without a
 * read, compressed and sealed; reads merge the rows that they find. Rows that are damaged, belong to another frame or
 * are older than the retention are absent, whatever the engine returns.
 */
import type { EpochMs } from '../../core/clock.ts'
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import { measure, type Pane, PaneBody, paneOf, paneVersion } from '../../core/pane.ts'
import { newUuid } from '../../core/uuid.ts'
import type { Cells } from '../cells.ts'
import type { StoreFigures } from '../figures.ts'
import type { StoreRules } from '../kind.ts'
import type { Entry, Found, NewsListener, ShapeRecord, Store } from '../store.ts'
import { countBuckets, cutOut, everything } from '../tile.ts'
import { KnownKeys } from './known-keys.ts'
import { decodeNews, encodeNews } from './news.ts'
import { pack, unpack } from './pack.ts'
import { mergePieces, type Piece, piecesOf, rowsAround } from './pieces.ts'
import { decodeRecord, encodeRecord, frameOf, type KeyRecord } from './record.ts'
import type { RowEngine, RowId, RowWrite, StoredRow } from './row-engine.ts'
import { bucketKey, versionBytes } from './row-key.ts'

export interface RowStoreOptions extends Pick<StoreRules, 'clock' | 'retentionMs'> {
  readonly engine: RowEngine
  readonly cells?: Cells
  /** Larger panes are not stored; 32 MiB by default. */
  readonly maxPaneBytes?: number
}

interface LoadedRow extends StoredRow {
  /** Undefined where the row is damaged, expired or of another frame. */
  readonly pane: Pane | undefined
}

interface Loaded {
  readonly record: KeyRecord
  readonly rows: readonly LoadedRow[]
}

/** Before every key: data of another layout, pane version or byte order is neither read nor overwritten. */
const prefix = `${versionBytes().toString('hex')}.`
/** Both are decided by the newest clock, and live as long as rows: a record is written again in good time. */
const recordsPerRetention = 4

export class RowStore implements Store {
  readonly name: string
  readonly cells?: Cells
  readonly #options: RowStoreOptions
  readonly #engine: RowEngine
  /** Distinguishes this node's messages from others'. */
  readonly #node: string
  readonly #known = new KnownKeys()
  #damagedValues = 0
  #isClosed = false

  constructor(options: RowStoreOptions) {
    this.name = options.engine.name
    this.#options = options
    this.#engine = options.engine
    this.#node = newUuid(options.clock.random)
    if (options.cells !== undefined) this.cells = options.cells
  }

  async record(key: Key): Promise<ShapeRecord | undefined> {
    return (await this.#load(key, undefined))?.record.shape
  }

  async read(key: Key, interval: Interval): Promise<Found | undefined> {
    const found = await this.#load(key, interval)
    return found && { panes: mergePieces(panesOf(found.rows), interval), shape: found.record.shape }
  }

  async write(key: Key, { pane, shape }: Entry): Promise<boolean> {
    const { maxPaneBytes = 32 * 1024 * 1024, retentionMs, clock } = this.#options
    if (this.#isClosed || measure(pane) > maxPaneBytes) return false
    const now = clock.now()
    const pieces = piecesOf(pane).filter(({ clock: fetchedAt }) => fetchedAt + retentionMs > now)
    if (pieces.length === 0) return false
    const put = await this.#rowsOf(key, pieces)
    // Not of the pane: absent buckets have no clock.
    const newest = pieces.reduce((latest, { clock: at }) => Math.max(latest, at), Number.NEGATIVE_INFINITY)
    const record = { shape, frame: frameOf(pane), newest, used: 0, changed: 0 }
    await this.#write(key, { put, drop: [], now, retentionMs }, record)
    this.#engine.announce?.(encodeNews({ node: this.#node, key, from: pane.from, to: pane.to }))
    return true
  }

  async remove(key: Key, interval: Interval = everything, fetchedUntil?: EpochMs): Promise<number> {
    const found = await this.#load(key, interval)
    if (found === undefined) return 0
    const { retentionMs, clock } = this.#options
    const until = fetchedUntil ?? Number.POSITIVE_INFINITY
    const merged = mergePieces(panesOf(found.rows), everything)
    const left = cutOut(merged, interval, fetchedUntil)
    const isAll = interval === everything && left.length === 0
    const drop = found.rows.filter((row) => isOverlapping(row, interval) && row.clock <= until)
    if (drop.length > 0 || isAll) {
      const put = await this.#rowsOf(key, cutOut(panesOf(drop), interval).flatMap(piecesOf))
      const dropRecord = isAll ? { dropRecord: Math.max(clock.now(), found.record.newest) } : {}
      if (isAll) this.#known.forget(key)
      await this.#engine.write(prefix + key, { ...dropRecord, put, drop, now: clock.now(), retentionMs })
    }
    return countBuckets(merged) - countBuckets(left)
  }

  async *shapes(): AsyncIterable<readonly [Key, ShapeRecord]> {
    for await (const [stored, value] of this.#engine.records()) {
      if (!stored.startsWith(prefix)) continue
      const key = stored.slice(prefix.length)
      const record = await this.#recordIn(key, value)
      if (record !== undefined) yield [key, record.shape]
    }
  }

  async hasNews(key: Key): Promise<boolean> {
    const { stamp } = await this.#engine.read(prefix + key, undefined)
    return this.#known.isBehind(key, stamp)
  }

  onNews(listener: NewsListener): boolean {
    if (this.#engine.onNews === undefined) return false
    this.#engine.onNews((bytes) => {
      const news = decodeNews(bytes)
      if (news !== undefined && news.node !== this.#node) listener(news.key, news)
    })
    return true
  }

  figures(): StoreFigures {
    return { ...this.#engine.figures?.(), damagedValues: this.#damagedValues }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#engine.close()
  }

  async #load(key: Key, interval: Interval | undefined): Promise<Loaded | undefined> {
    if (this.#isClosed) return undefined
    const stored = await this.#engine.read(prefix + key, interval && rowsAround(interval))
    this.#known.saw(key, stored.record === undefined ? undefined : stored.stamp)
    const record = stored.record && (await this.#recordIn(key, stored.record))
    if (record === undefined) return undefined
    // Engines return all rows that begin in a block: rows that end before the interval are not unpacked.
    const wanted = interval === undefined ? [] : stored.rows.filter((row) => isOverlapping(row, interval))
    const rows = await Promise.all(
      wanted.map(async (row) => ({ ...row, pane: await this.#paneIn(key, row, record.frame) })),
    )
    return { record, rows }
  }

  async #recordIn(key: Key, value: Buffer): Promise<KeyRecord | undefined> {
    const bytes = await unpack(placeOf(key), value)
    if (bytes === undefined) {
      this.#damagedValues++
      return undefined
    }
    const record = decodeRecord(bytes)
    const { clock, retentionMs } = this.#options
    // Rows may be younger than the record, which is not written with each of them.
    const isExpired = record !== undefined && record.newest + 2 * retentionMs <= clock.now()
    return isExpired ? undefined : record
  }

  async #paneIn(key: Key, row: StoredRow, frame: string): Promise<Pane | undefined> {
    const { clock, retentionMs } = this.#options
    if (row.clock + retentionMs <= clock.now()) return undefined
    const bytes = await unpack(placeOf(key, row), row.value)
    const body = bytes && new PaneBody(bytes)
    const isWhole = body?.version === paneVersion && body.from === row.from && body.buckets === row.buckets
    if (!isWhole) {
      this.#damagedValues++
      return undefined
    }
    const pane = paneOf(body)
    return frameOf(pane) === frame ? pane : undefined
  }

  /** Of pieces with the same id only the newest. */
  async #rowsOf(key: Key, pieces: readonly Piece[]): Promise<StoredRow[]> {
    const newest = new Map<string, Piece>()
    for (const piece of pieces) {
      const id = `${piece.from} ${piece.buckets}`
      if (!((newest.get(id)?.clock ?? Number.NEGATIVE_INFINITY) > piece.clock)) newest.set(id, piece)
    }
    return Promise.all(
      [...newest.values()].map(async ({ from, buckets, clock, pane }) => ({
        ...{ from, buckets, clock },
        value: await pack(placeOf(key, { from, buckets }), pane.body.bytes),
      })),
    )
  }

  async #write(key: Key, rows: RowWrite, record: KeyRecord): Promise<void> {
    const { now, retentionMs } = rows
    const stamp = Buffer.from(newUuid(this.#options.clock.random).replaceAll('-', ''), 'hex')
    const text = encodeRecord({ ...record, newest: 0 }).toString()
    const isRecordDue = this.#known.isRecordDue(key, text, now - retentionMs / recordsPerRetention)
    const packed = isRecordDue ? await pack(placeOf(key), encodeRecord(record)) : undefined
    await this.#engine.write(prefix + key, {
      ...rows,
      ...(packed && { record: { value: packed, clock: record.newest } }),
      stamp: { value: stamp, clock: record.newest },
    })
    this.#known.wrote(key, stamp, isRecordDue ? { text, at: now } : undefined)
  }
}

/**
 * The additional data that a value is sealed with, so that it is invalid under another key: of the record, or of a row.
 */
function placeOf(key: Key, row?: RowId): Buffer {
  const place = Buffer.from(prefix + key)
  return row === undefined ? place : Buffer.concat([bucketKey(place, row.from), Buffer.from([row.buckets])])
}

const panesOf = (rows: readonly LoadedRow[]): Pane[] =>
  rows.map(({ pane }) => pane).filter((pane) => pane !== undefined)

const isOverlapping = ({ from, buckets }: RowId, interval: Interval): boolean =>
  from < interval.to && from + buckets > interval.from
