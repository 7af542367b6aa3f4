/**
 * Cells in Cassandra, by lightweight transactions only: a row that is also written without a condition has no defined
 * order. Rows are never inserted but updated, also where they are absent: an insert would leave a marker of its own
 * lifetime behind, a row without columns that stands in the way of the next one.
 */
import type { Clock } from '../../core/clock.ts'
import type { Cell } from '../cells.ts'
import type { CellCommit, CellEngine } from '../rows/cell-engine.ts'
import { cellIn, columnsOf, writtenColumns } from './cell-columns.ts'
import type { Session } from './connection.ts'
import { consistencies, type QueryOptions, type Statement } from './library.ts'
import { pagesOf } from './request-sizes.ts'
import { tableIn } from './tables.ts'
import { ttlSeconds } from './time.ts'

export interface CassandraCellsOptions {
  readonly session: Session
  readonly keyspace: string
  readonly clock: Clock
  readonly timeoutMs: number
}

/** Rows outlive their collection clock by this much, so that clocks of nodes and servers may differ. */
const slackMs = 60_000
const columns = ['sk', ...writtenColumns].join(', ')
const assignments = writtenColumns.map((name) => `${name} = ?`).join(', ')

export class CassandraCells implements CellEngine {
  readonly name = 'cassandra'
  readonly capabilities = { shared: true, durable: true, maxValueBytes: 64 * 1024 }
  readonly #options: CassandraCellsOptions
  readonly #table: string
  readonly #reading: QueryOptions
  readonly #writing: QueryOptions

  constructor(options: CassandraCellsOptions) {
    this.#options = options
    this.#table = tableIn(options.keyspace, 'cells')
    const common = { prepare: true, readTimeout: options.timeoutMs } as const
    const { local_serial, local_quorum } = consistencies
    // A serial read completes a transaction that was left half-way, so that its outcome is decided when it is looked at.
    this.#reading = { ...common, isIdempotent: true, consistency: local_serial }
    // Not idempotent: sent again after it was applied, it would be refused because of its own revision.
    const writing = { ...common, isIdempotent: false, consistency: local_quorum }
    this.#writing = { ...writing, serialConsistency: local_serial }
  }

  async load(pk: string, sks: readonly string[]): Promise<readonly (Cell | undefined)[]> {
    const query = `SELECT ${columns} FROM ${this.#table} WHERE pk = ? AND sk IN ?`
    const found = new Map(await this.#select({ query, params: [pk, sks] }))
    return sks.map((sk) => found.get(sk))
  }

  list(pk: string): Promise<readonly (readonly [sk: string, cell: Cell])[]> {
    const query = `SELECT ${columns} FROM ${this.#table} WHERE pk = ?`
    return this.#select({ query, params: [pk] })
  }

  async commit(pk: string, changes: readonly CellCommit[]): Promise<boolean> {
    const statements = changes.map((change) => this.#statementOf(pk, change))
    const result =
      statements.length === 1
        ? await this.#options.session.execute(statements[0]!, this.#writing)
        : await this.#options.session.batch(statements, this.#writing)
    return result.wasApplied()
  }

  async #select(statement: Statement): Promise<(readonly [string, Cell])[]> {
    const cells: (readonly [string, Cell])[] = []
    for await (const rows of pagesOf(this.#options.session, statement, this.#reading))
      for (const row of rows) cells.push([row['sk'] as string, cellIn(row)])
    return cells
  }

  #statementOf(pk: string, { sk, expected, row }: CellCommit): Statement {
    // A row that is absent has no revision, and null equals that.
    const condition = [pk, sk, expected ?? null]
    if (row === undefined) {
      const query = `DELETE FROM ${this.#table} WHERE pk = ? AND sk = ? IF rev = ?`
      return { query, params: condition }
    }
    const query = `UPDATE ${this.#table} USING TTL ? SET ${assignments} WHERE pk = ? AND sk = ? IF rev = ?`
    return { query, params: [this.#ttlOf(row), ...columnsOf(row), ...condition] }
  }

  /** 0 is none. */
  #ttlOf({ collectAt }: Cell): number {
    if (collectAt === 'never') return 0
    return ttlSeconds(collectAt * 1000 + slackMs, this.#options.clock.now()) ?? 1
  }
}
