/**
 * The open file: its tables, one writer that gathers changes into few transactions, and the free room. Commits are
 * synced before they count (never `noSync`); a worker thread waits for the disk, not this one.
 */
import { closeSync, fstatSync, openSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Database, type Environment, type LmdbLibrary, pagesOf } from './library.ts'
import { dataFile, fileMode } from './place.ts'

export interface Tables {
  /** Rows of panes; see keys.ts and rows/plan.ts. */
  readonly rows: Database
  /** Per key its record. */
  readonly records: Database
  /** Keys in the order of their last use. */
  readonly uses: Database
  readonly cells: Database
}

interface Job {
  readonly bytes: number
  run(): void
  resolve(): void
  reject(error: unknown): void
}

/** The limit of one transaction: its changed pages stay in memory until it is committed. */
const maxBatchBytes = 8 * 1024 * 1024
const maxBatchJobs = 256

export class StoreFile {
  readonly tables: Tables
  readonly #environment: Environment
  readonly #path: string
  /** Of the file that is mapped, whatever its name leads to later. */
  readonly #descriptor: number
  #seenBytes = 0
  #isCut = false
  #queue: Job[] = []
  #queuedBytes = 0
  #pumping: Promise<void> | undefined

  constructor(library: LmdbLibrary, directory: string, firstMapBytes: number) {
    this.#path = dataFile(directory)
    this.#environment = library.open({
      path: this.#path,
      noSubdir: true,
      // Every commit is on the disk before it is visible, so that a lost machine leaves a whole tree.
      overlappingSync: false,
      permissionsMode: fileMode,
      mapSize: firstMapBytes,
      // Its own batching creates promises whose rejections are unhandled when a commit fails; #pump batches already.
      eventTurnBatching: false,
      maxDbs: 8,
      name: null,
      ...binary,
    })
    const table = (name: string): Database => this.#environment.openDB({ name, ...binary })
    this.tables = {
      rows: table('rows'),
      records: table('records'),
      uses: table('uses'),
      cells: table('cells'),
    }
    // Not of the lock file: closing any descriptor of that one would release LMDB's locks on it.
    this.#descriptor = openSync(this.#path, 'r')
  }

  /**
   * Whether another program has truncated the file, which LMDB never does. Reading a mapped page beyond the end of the
   * file kills the process, so this is checked before every read and every transaction.
   */
  get isCut(): boolean {
    const { size } = fstatSync(this.#descriptor)
    if (size < this.#seenBytes) this.#isCut = true
    this.#seenBytes = size
    return this.#isCut
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /**
   * Runs `action` in a write transaction, together with others that wait: it sees and changes the latest state, and no
   * other process writes meanwhile. Rejects where the transaction failed; then none of its batch happened.
   */
  change<T>(bytes: number, action: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let result: T
    const run = (): void => {
      result = action()
    }
    this.#queuedBytes += bytes
    this.#queue.push({ bytes, run, resolve: () => resolve(result), reject })
    this.#pumping ??= this.#pump()
    return promise
  }

  /** Reads after this are at least as new as any commit of any process before it. */
  renew(): void {
    this.#environment.resetReadTxn()
  }

  /** Frees the reader slots of dead processes. Returns their number. */
  checkReaders(): number {
    return this.#environment.readerCheck()
  }

  room(): { readonly liveBytes: number; readonly fileBytes: number } {
    const stats = this.tables.rows.getStats()
    const others = [this.tables.records, this.tables.uses, this.tables.cells].map((table) => table.getStats())
    const pages = [stats, ...others, stats.root, stats.free].reduce((sum, counts) => sum + pagesOf(counts), 0)
    return { liveBytes: pages * stats.pageSize, fileBytes: (stats.lastPageNumber + 1) * stats.pageSize }
  }

  cellBytes(): number {
    const stats = this.tables.cells.getStats()
    return pagesOf(stats) * stats.pageSize
  }

  /** A copy without free pages; the caller replaces the file with it while no process has the file open. */
  async compactedCopy(): Promise<string> {
    const path = `${this.#path}.compact`
    await this.#environment.backup(path, true)
    await stat(path)
    return path
  }

  async close(): Promise<void> {
    await this.#pumping
    closeSync(this.#descriptor)
    await this.#environment.close()
  }

  async #pump(): Promise<void> {
    // Whatever is queued in this turn goes into one transaction.
    await Promise.resolve()
    while (this.#queue.length > 0) await this.#commit(this.#nextBatch())
    this.#pumping = undefined
  }

  #nextBatch(): Job[] {
    let bytes = 0
    let count = 0
    while (count < Math.min(this.#queue.length, maxBatchJobs)) {
      bytes += this.#queue[count]!.bytes
      if (count > 0 && bytes > maxBatchBytes) break
      count++
    }
    return this.#queue.splice(0, count)
  }

  async #commit(batch: readonly Job[]): Promise<void> {
    try {
      if (this.isCut) throw new Error(cutShort)
      await this.#environment.childTransaction(() => {
        for (const job of batch) job.run()
      })
      for (const job of batch) job.resolve()
    } catch (error) {
      const reason = await commitErrorOf(error)
      for (const job of batch) job.reject(reason)
    }
    for (const job of batch) this.#queuedBytes -= job.bytes
  }
}

/** In the words of LMDB, whose codes state the severity. */
export const cutShort = 'MDB_CORRUPTED: another program has cut the file short'

const binary = { encoding: 'binary', keyEncoding: 'binary' } as const

/** The package keeps the reason of a failed commit in a promise of its own, whose rejection must not go unheard. */
async function commitErrorOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> }
  let reason = error
  commitError?.catch((cause: unknown) => {
    reason = cause
  })
  // Where it is rejected, that happens in the same turn; otherwise do not wait.
  for (let i = 0; i < 4; i++) await Promise.resolve()
  return reason
}
