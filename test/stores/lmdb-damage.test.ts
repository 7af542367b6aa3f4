/** Bytes of the file are flipped: a bucket that is read is right, whatever else happens. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, copyFileSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { dataFile } from '../../src/stores/lmdb/place.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom, wholeNumber } from '../../src/testing/random.ts'
import { HANG_MS } from '../wait.ts'
import { scratchDirectory, scratchStore } from './scratch.ts'
import { checkStore, entryOf, keyNumber } from './truth.ts'

const shapes = 6
const script = fileURLToPath(import.meta.resolve('./child.ts'))

async function filled(directory: string): Promise<void> {
  const clock = fakeClock()
  const store = await scratchStore({ clock, directory })
  for (let n = 0; n < shapes; n++)
    await store.write(keyNumber(n), entryOf(n, { from: 0, to: 1500 }, clock.now()))
  await store.close()
}

/** Flips a bit at each of some places. */
function flip(path: string, places: readonly number[]): void {
  const file = openSync(path, 'r+')
  for (const at of places) {
    const byte = Buffer.alloc(1)
    readSync(file, byte, 0, 1, at)
    byte[0] = byte[0]! ^ (1 << (at % 8))
    writeSync(file, byte, 0, 1, at)
  }
  closeSync(file)
}

function sizeOf(path: string): number {
  const file = openSync(path, 'r')
  const { size } = fstatSync(file)
  closeSync(file)
  return size
}

test('a value with a flipped bit is absent; the others are read', async () => {
  const directory = scratchDirectory()
  await filled(directory)
  const path = dataFile(directory)
  // In the middle of the content of a bucket of shape 3, wherever it is.
  const at = readFileSync(path).indexOf('3/700/')
  assert.ok(at > 0)
  flip(path, [at + 2])
  const store = await scratchStore({ clock: fakeClock(), directory })
  const buckets = await checkStore(store, shapes)
  assert.ok(buckets < 1500 * shapes && buckets >= 1500 * shapes - 128, `${buckets} buckets`)
  assert.ok(store.counters.damagedValues > 0)
  assert.equal(store.health.state, 'ok')
  // The next fetch replaces damaged data.
  const { pane, shape } = entryOf(3, { from: 0, to: 1500 }, fakeClock().now() + 1)
  assert.ok(await store.write(keyNumber(3), { pane, shape }))
  assert.equal(await checkStore(store, shapes), 1500 * shapes)
  await store.close()
})

test('random bytes anywhere in the file: a process may die of it, but never returns a wrong bucket', async (t) => {
  const original = scratchDirectory()
  await filled(original)
  const random = seededRandom(99)
  const endings = { whole: 0, less: 0, died: 0 }
  for (let round = 0; round < 20; round++) {
    const directory = scratchDirectory()
    copyFileSync(dataFile(original), dataFile(directory))
    const size = sizeOf(dataFile(directory))
    // Few flips often hit values only; many hit the tree.
    const count = round % 2 === 0 ? 3 : 300
    flip(
      dataFile(directory),
      Array.from({ length: count }, () => wholeNumber(random, 0, size - 1)),
    )
    const { stdout, stderr, signal } = spawnSync(
      process.execPath,
      [script, 'check', directory, '1', String(shapes)],
      { timeout: HANG_MS },
    )
    assert.doesNotMatch(stderr.toString(), /AssertionError/, `round ${round}: a wrong bucket`)
    if (stdout.length === 0) endings.died++
    else if ((JSON.parse(stdout.toString()) as { buckets: number }).buckets === 1500 * shapes) endings.whole++
    else endings.less++
    assert.notEqual(signal, 'SIGTERM', 'it hangs')
  }
  t.diagnostic(JSON.stringify(endings))
  assert.ok(endings.less > 0)
})
