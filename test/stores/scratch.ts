/** Stores in directories that vanish with the test process; for tests only. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LmdbStore, type LmdbStoreOptions, openLmdbStore } from '../../src/stores/lmdb/index.ts'

const directories: string[] = []
process.once('exit', () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'windowpane-lmdb-'))
  directories.push(directory)
  return directory
}

export const defaults = {
  maxBytes: 64 * 1024 * 1024,
  reserveBytes: 0,
  retentionMs: 24 * 3_600_000,
  maxBucketsPerShape: 10_000,
  settledAgeMs: 900_000,
} as const

type Some = Partial<LmdbStoreOptions> & Pick<LmdbStoreOptions, 'clock'>

/** A store in a directory of its own unless one is given. */
export async function scratchStore(options: Some): Promise<LmdbStore> {
  const store = await openLmdbStore({
    ...defaults,
    directory: options.directory ?? scratchDirectory(),
    ...options,
  })
  assert.ok(!('refused' in store), `refused: ${'refused' in store ? store.detail : ''}`)
  return store
}
