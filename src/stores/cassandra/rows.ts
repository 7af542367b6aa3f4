/**
 * Pane rows in Cassandra. The write time of a row is the clock of its buckets, in microseconds, so that the newest fetch
 * wins on every replica without a read, in whatever order writes arrive. A row expires by its own TTL. Everything that is
 * written to one partition goes there in batches, and every read is bounded to the rows wanted.
 */
import type { Interval } from '../../core/interval.ts'
import type { Key } from '../../core/key.ts'
import type { StoreCondition, StoreFigures } from '../figures.ts'
import { inParallel } from '../rows/in-parallel.ts'
import type { RowEngine, RowWrite, StoredKey, StoredRow } from '../rows/row-engine.ts'
import type { Session } from './connection.ts'
import { codeOf, errorCodes, type QueryOptions, type Row, type Statement } from './library.ts'
import { pagesOf, statementBatches } from './request-sizes.ts'
import { RowStatements, sliceOf } from './row-statements.ts'
import { msOf } from './time.ts'

export interface CassandraRowsOptions {
  readonly session: Session
  readonly keyspace: string
  /** Of reads and writes, as a code of the native protocol. */
  readonly consistency: number
  readonly timeoutMs: number
  health?(): StoreCondition
}

/** A range with more partitions is read in two steps: first which of them hold rows. */
const maxDirectSlices = 64
/** Until the size of rows is known. */
const firstPageRows = 512
const recordsPerPage = 500

type Head = Omit<StoredKey, 'rows'>

export class CassandraRows implements RowEngine {
  readonly name = 'cassandra'
  readonly #session: Session
  readonly #statements: RowStatements
  readonly #options: QueryOptions
  readonly #health: (() => StoreCondition) | undefined

  constructor({ session, keyspace, consistency, timeoutMs, health }: CassandraRowsOptions) {
    this.#health = health
    this.#session = session
    this.#statements = new RowStatements(keyspace)
    this.#options = { prepare: true, isIdempotent: true, consistency, readTimeout: timeoutMs }
  }

  async read(key: Key, range: Interval | undefined): Promise<StoredKey> {
    if (range === undefined) return { ...(await this.#head(key)), rows: [] }
    const [first, last] = [sliceOf(range.from), sliceOf(range.to - 1)]
    if (last - first >= maxDirectSlices) return this.#readStored(key, range)
    const slices = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i)
    const [head, rows] = await Promise.all([this.#head(key), this.#rows(key, slices, range)])
    return { ...head, rows }
  }

  /** As `read`, of the partitions that hold rows. */
  async #readStored(key: Key, range: Interval): Promise<StoredKey> {
    const found = await this.#all(this.#statements.headAndSlices(key))
    const slices = found
      .map(({ slice }) => (slice === null ? Number.NaN : Number(slice)))
      .filter((slice) => slice >= sliceOf(range.from) && slice <= sliceOf(range.to - 1))
    return { ...headIn(found[0]), rows: await this.#rows(key, slices, range) }
  }

  async #head(key: Key): Promise<Head> {
    const { rows = [] } = await this.#session.execute(this.#statements.head(key), this.#options)
    return headIn(rows[0])
  }

  async #rows(key: Key, slices: readonly number[], range: Interval): Promise<StoredRow[]> {
    const found = await inParallel(slices, async (slice) => {
      try {
        return await this.#all(this.#statements.rows(key, slice, range))
      } catch (error) {
        // The server gives up where a range is full of tombstones: its buckets cost one query to the database.
        if (codeOf(error) === errorCodes.readFailure) return []
        throw error
      }
    })
    return found.flat().map(rowIn)
  }

  async #all(statement: Statement): Promise<readonly Row[]> {
    const all: Row[] = []
    const options = { ...this.#options, fetchSize: firstPageRows }
    for await (const rows of pagesOf(this.#session, statement, options)) all.push(...rows)
    return all
  }

  async write(key: Key, changes: RowWrite): Promise<void> {
    const partitions = [this.#changesOfHead(key, changes), ...this.#changesOfRows(key, changes)]
    await inParallel(partitions.flatMap(statementBatches), (batch) => this.#send(batch))
  }

  #changesOfHead(key: Key, changes: RowWrite): Statement[] {
    const { put, dropRecord } = changes
    const youngest = new Map<number, number>()
    for (const { from, clock } of put) {
      const slice = sliceOf(from)
      youngest.set(slice, Math.max(youngest.get(slice) ?? clock, clock))
    }
    const statements = [
      dropRecord === undefined ? undefined : this.#statements.dropHead(key, dropRecord),
      this.#statements.putHead(key, 'record', changes),
      this.#statements.putHead(key, 'stamp', changes),
      ...[...youngest].map(([slice, clock]) => this.#statements.putSlice(key, { slice, clock }, changes)),
    ]
    return statements.filter((statement) => statement !== undefined)
  }

  /** By partition. */
  #changesOfRows(key: Key, changes: RowWrite): Statement[][] {
    const drops = changes.drop.map((row) => ({ row, statements: [this.#statements.drop(key, row)] }))
    const puts = changes.put.map((row) => ({ row, statements: this.#putStatements(key, row, changes) }))
    const slices = Map.groupBy([...drops, ...puts], ({ row }) => sliceOf(row.from))
    return [...slices.values()].map((inSlice) => inSlice.flatMap(({ statements }) => statements))
  }

  #putStatements(key: Key, row: StoredRow, changes: RowWrite): Statement[] {
    const put = this.#statements.put(key, row, changes)
    if (put === undefined) return []
    return row.buckets > 1 ? [this.#statements.dropCovered(key, row), put] : [put]
  }

  async #send(batch: readonly Statement[]): Promise<void> {
    if (batch.length === 1) await this.#session.execute(batch[0]!, this.#options)
    else await this.#session.batch(batch, this.#options)
  }

  async *records(): AsyncIterable<readonly [Key, Buffer]> {
    const options = { ...this.#options, fetchSize: recordsPerPage }
    for await (const rows of pagesOf(this.#session, this.#statements.records(), options)) {
      for (const { key, record } of rows) if (record !== null) yield [key as Key, record as Buffer]
    }
  }

  figures(): StoreFigures {
    return this.#health === undefined ? {} : { health: this.#health() }
  }

  async close(): Promise<void> {}
}

const headIn = (row: Row | undefined): Head => ({
  record: (row?.['record'] as Buffer | null) ?? undefined,
  stamp: (row?.['stamp'] as Buffer | null) ?? undefined,
})

const rowIn = ({ bucket, buckets, value, written }: Row): StoredRow => ({
  from: Number(bucket),
  buckets: buckets as number,
  value: value as Buffer,
  clock: msOf(written as bigint),
})
