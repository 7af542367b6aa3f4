/**
 * Hits from the embedded store against hits from memory, writes, and the time from the start of a process to its first
 * durable hit: `node bench/lmdb.ts [directory]`. The directory decides which disk is measured.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Budget } from '../src/core/budget.ts'
import { systemClock } from '../src/core/clock.ts'
import type { Interval } from '../src/core/interval.ts'
import { keyOf } from '../src/core/key.ts'
import type { Pane } from '../src/core/pane.ts'
import { PaneBuilder } from '../src/core/pane-builder.ts'
import { type LmdbStore, openLmdbStore } from '../src/stores/lmdb/index.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import type { Entry, ShapeRecord, Store } from '../src/stores/store.ts'
import { tieredStore } from '../src/stores/tiered.ts'
import { microseconds, shown } from './measure.ts'

const clock = systemClock
const limits = { retentionMs: 86_400_000, maxBucketsPerShape: 100_000 }
const grid = { kind: 'point', step: 15_000, origin: 0 } as const
const lastBucket = Math.floor(clock.now() / grid.step)

function paneOf(columns: number, buckets: number): Pane {
  const interval = { from: lastBucket - buckets, to: lastBucket }
  const builder = new PaneBuilder(2)
  let slab = ''
  for (let column = 0; column < columns; column++) {
    const name = `host-${String(column).padStart(5, '0')}`
    const head = slab.length
    slab += `{"__name__":"bench_gauge","instance":"${name}.example:9100","job":"node"}`
    builder.beginColumn(head, slab.length, Buffer.from(name))
    builder.beginLane(0)
    for (let i = 0; i < buckets; i++) {
      builder.bucket(i, slab.length)
      const value = (50 + 50 * Math.sin(i / 9 + column)).toFixed(6)
      slab += `[${((interval.from + i) * grid.step) / 1000},"${value}"],`
    }
    builder.endLane(slab.length)
  }
  return builder.finish({ interval, fetchedAt: clock.now(), slab: Buffer.from(slab) })
}

const shapeOf = (text: string): ShapeRecord => ({
  ...{
    backend: 'bench',
    text,
    query: '',
    sources: [],
    knowsAllSources: true,
    lookbackMs: 0,
    identity: '',
    headers: [],
  },
  grid,
})
const keyFor = (shape: ShapeRecord) => keyOf({ ...shape, shape: shape.text })

async function open(directory: string): Promise<LmdbStore> {
  const options = { ...limits, clock, directory, maxBytes: 2 ** 30, settledAgeMs: 900_000 }
  const store = await openLmdbStore(options)
  if ('refused' in store) throw new Error(store.detail)
  return store
}

const memory = (): Store => memoryStore({ ...limits, clock, budget: new Budget(2 ** 29) })

async function benchHits(directory: string, [columns, buckets]: readonly [number, number]): Promise<void> {
  const pane = paneOf(columns, buckets)
  const shape = shapeOf(`${columns} × ${buckets}`)
  const [key, entry] = [keyFor(shape), { pane, shape } satisfies Entry]
  const durable = await open(directory)
  const near = memory()
  await near.write(key, entry)
  const began = clock.elapsed()
  await durable.write(key, entry)
  const wrote = clock.elapsed() - began
  const window: Interval = { from: pane.from, to: pane.to }
  const fromMemory = microseconds(() => near.read(key, window))
  const fromFile = microseconds(() => durable.read(key, window))
  const first = microseconds(() => {
    const tiered = tieredStore({ clock, near: memory(), far: durable })
    tiered.read(key, window)
  })
  const mib = pane.body.bytes.byteLength / 2 ** 20
  console.log(
    `${shape.text.padEnd(10)} ${mib.toFixed(2)} MiB   memory ${shown(fromMemory)} µs   lmdb ${shown(fromFile)} µs (${Math.round(1e6 / fromFile)} hits/s, ${Math.round((mib * 1e6) / fromFile)} MiB/s)   through a cold memory tier ${shown(first)} µs   write, synced ${wrote.toFixed(1)} ms`,
  )
  await durable.close()
}

async function benchTail(directory: string): Promise<void> {
  const durable = await open(directory)
  const pane = paneOf(20, 40)
  const shapes = Array.from({ length: 200 }, (_, i) => shapeOf(`tail ${i}`))
  const began = clock.elapsed()
  await Promise.all(shapes.map((shape) => durable.write(keyFor(shape), { pane, shape })))
  const ms = clock.elapsed() - began
  console.log(
    `tails      200 shapes × 20 × 40 at once: ${ms.toFixed(0)} ms, ${(ms / 200).toFixed(2)} ms each`,
  )
  await durable.close()
}

/** In a process of its own: from its first line to the first hit. */
function benchStart(directory: string): void {
  const times = Array.from({ length: 5 }, () => {
    const began = clock.elapsed()
    const { stdout } = spawnSync(process.execPath, [import.meta.filename, directory, 'first-hit'])
    return {
      whole: clock.elapsed() - began,
      ...(JSON.parse(stdout.toString()) as { opened: number; hit: number }),
    }
  })
  const best = (of: (one: (typeof times)[number]) => number) => Math.min(...times.map(of)).toFixed(1)
  console.log(
    `start      open ${best(({ opened }) => opened)} ms, first hit (100 × 720) ${best(({ hit }) => hit)} ms after it, whole process ${best(({ whole }) => whole)} ms`,
  )
}

async function firstHit(directory: string): Promise<void> {
  const began = clock.elapsed()
  const store = await open(directory)
  const opened = clock.elapsed() - began
  const found = store.read(keyFor(shapeOf('100 × 720')), { from: lastBucket - 800, to: lastBucket })
  const hit = clock.elapsed() - began - opened
  if (found === undefined) throw new Error('no hit')
  console.log(JSON.stringify({ opened, hit }))
  await store.close()
}

const [given = tmpdir(), what] = process.argv.slice(2)
if (what === 'first-hit') await firstHit(given)
else {
  const directory = mkdtempSync(join(given, 'windowpane-bench-'))
  for (const size of [
    [20, 240],
    [100, 720],
  ] as const)
    await benchHits(directory, size)
  await benchTail(directory)
  benchStart(directory)
  rmSync(directory, { recursive: true })
}
