/**
 * The bytes in the file: the next release reads the data of the one before. A change of layout needs another layout
 * version (src/stores/rows/row-key.ts), and then another checksum here.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { endianness } from 'node:os'
import test from 'node:test'
import { lmdbKind } from '../../src/stores/lmdb/kind.ts'
import { loadLibrary } from '../../src/stores/lmdb/library.ts'
import { dataFile } from '../../src/stores/lmdb/place.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { scratchDirectory, scratchStore } from './scratch.ts'
import { entryOf, keyNumber } from './truth.ts'

const start = Date.UTC(2026, 0, 1)

/** Settled and unsettled rows in several blocks, before and after the grid's origin, a removal and some cells. */
async function writeSample(directory: string): Promise<void> {
  const clock = fakeClock(start)
  const store = await scratchStore({ clock, directory })
  const last = start / 1000
  for (const interval of [
    { from: last - 2000, to: last - 100 },
    { from: last - 300, to: last },
    { from: -5, to: 3 },
  ])
    await store.write(keyNumber(1), entryOf(1, interval, start))
  await store.write(keyNumber(2), entryOf(2, { from: last - 40, to: last }, start - 0.5))
  await store.remove(keyNumber(1), { from: last - 1500, to: last - 1400 })
  const draft = { kind: 'k', v: 1, clocks: { leaseUntil: start + 5 }, value: Buffer.from('value') }
  await store.cells.put({ pk: 'p', sk: 's' }, { ...draft, collectAt: 'never' }, { is: 'absent' })
  await store.close()
}

/** SHA-256 over every key and value of a table, each after its length. */
async function checksumOf(directory: string, name: string): Promise<string> {
  const library = await loadLibrary()
  assert.ok('open' in library)
  const environment = library.open({ path: dataFile(directory), noSubdir: true, maxDbs: 8, name: null })
  const table = environment.openDB({ name, encoding: 'binary', keyEncoding: 'binary' })
  const sum = createHash('sha256')
  const length = Buffer.alloc(4)
  const add = (bytes: Uint8Array): void => {
    length.writeUInt32BE(bytes.length)
    sum.update(length).update(bytes)
  }
  for (const key of [...table.getKeys({ start: Buffer.from([0]), end: Buffer.alloc(8, 0xff) })]) {
    add(key)
    const value = table.getBinaryFast(key)!
    add(value.subarray(0, value.length))
  }
  await environment.close()
  return sum.digest('base64url')
}

const golden = {
  rows: 'E8D7cueNLbN8EhR7rMuTKYD5LkPSqqpnndapW2JZZVo',
  records: 's0rzxdPr0-A5s5CefLUWWLXTGbfh3gepGDOwgh6tTPc',
  uses: 'CrIZuKnfSmAKgPAi7CIgGXcVn4JkDDQAPpzIbfDasXw',
  cells: 'bN4tb4MjwZCvJv0PxpNV4lZFDp_Lz6jnprZmlsOd5fI',
}

test('the layout of the file is that of version 2', { skip: endianness() === 'BE' }, async () => {
  const directory = scratchDirectory()
  await writeSample(directory)
  const found: Record<string, string> = {}
  for (const name of Object.keys(golden)) found[name] = await checksumOf(directory, name)
  assert.deepEqual(found, golden)
})

test('the settled age is read at every write', async () => {
  const rowsWritten = async (atOpening: number, atWriting: number): Promise<string> => {
    const directory = scratchDirectory()
    let settledAgeMs = atOpening
    const rules = {
      ...{ clock: fakeClock(start), memoryBytes: 0, retentionMs: 24 * 3_600_000, maxBucketsPerShape: 10_000 },
      ...{ timeoutMs: 1000 },
      get settledAgeMs() {
        return settledAgeMs
      },
    }
    const opened = await lmdbKind.open({ path: directory, sizeBytes: 64 << 20, reserveBytes: 0 }, rules)
    assert.ok('panes' in opened)
    settledAgeMs = atWriting
    const last = start / 1000
    await opened.panes.write(keyNumber(1), entryOf(1, { from: last - 2000, to: last - 100 }, start))
    await opened.close()
    return checksumOf(directory, 'rows')
  }
  const [never, always] = [Number.POSITIVE_INFINITY, 0]
  assert.equal(await rowsWritten(never, always), await rowsWritten(always, always))
  assert.equal(await rowsWritten(always, never), await rowsWritten(never, never))
  assert.notEqual(await rowsWritten(never, never), await rowsWritten(always, always))
})
