/** The part of the `lmdb` package that is used here, and how it is loaded: it is an optional peer. */
import { loadClient, type Refused } from '../kind.ts'

export interface Database {
  /** A view that is valid until the next read; see `copied` in rows/seal.ts. */
  getBinaryFast(key: Buffer): Buffer | undefined
  getKeys(range: { start: Buffer; end: Buffer; limit?: number }): Iterable<Buffer>
  put(key: Buffer, value: Uint8Array): unknown
  remove(key: Buffer): unknown
  /** The number of the write transaction that runs: no two that were committed have the same. */
  getWriteTxnId(): number
  getStats(): DatabaseStats
}

export interface Environment extends Database {
  openDB(options: Record<string, unknown>): Database
  /** Runs `action` in the write transaction of a worker thread; thrown errors undo it. */
  childTransaction<T>(action: () => T): Promise<T>
  resetReadTxn(): void
  readerCheck(): number
  backup(path: string, compact: boolean): Promise<void>
  close(): Promise<void>
}

interface PageCounts {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

export interface DatabaseStats extends PageCounts {
  readonly entryCount: number
  readonly lastPageNumber: number
  readonly root: PageCounts
  readonly free: PageCounts
}

export interface LmdbLibrary {
  open(options: Record<string, unknown>): Environment
}

/** The version that package.json requires. */
export const libraryVersion = '3.5.6'

export const loadLibrary = (
  load: () => Promise<unknown> = () => import('lmdb'),
): Promise<LmdbLibrary | Refused> => loadClient('lmdb', libraryVersion, load)

export const pagesOf = (counts: PageCounts): number =>
  counts.treeBranchPageCount + counts.treeLeafPageCount + counts.overflowPages

/** `code` where the error has one, else its message: LMDB's codes are at the beginning of its messages. */
export function nameOfError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : error.message
}
