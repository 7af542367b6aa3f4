/**
 * The cost of a dashboard to a store in bytes, for any engine: `npm run bench:stores:bytes`. Written per byte fetched,
 * stored per sample, and the processor time of compression. Bytes of keys and indexes, which are the engine's, come on
 * top.
 */
import { zstdCompressSync } from 'node:zlib'
import { piecesOf } from '../../src/stores/rows/pieces.ts'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { MemoryRowEngine } from '../../test/rigs/memory-engines.ts'
import { microseconds } from '../measure.ts'
import { answerBytes, answerPane, keyFor, refreshes, shapeFor, windowBuckets } from './workload.ts'

const hours = 3

async function amplification(series: number): Promise<void> {
  const clock = fakeClock()
  const engine = new MemoryRowEngine()
  const store = new RowStore({ engine, clock, retentionMs: 86_400_000 })
  const shape = shapeFor(series)
  let fetched = 0
  let count = 0
  for (const { now, interval } of refreshes(clock.now(), hours)) {
    clock.jump(now)
    const pane = answerPane(series, interval, now)
    fetched += answerBytes(pane)
    count++
    await store.write(keyFor(shape), { pane, shape })
  }
  const { stored, rows } = engine.sizes()
  const buckets = windowBuckets + hours * 60
  const line = [
    `${series} series`.padEnd(10),
    `${count} queries, ${(fetched / 1e6).toFixed(2)} MB fetched, ${(engine.written / 1e6).toFixed(2)} MB written:`,
    `${(engine.written / fetched).toFixed(2)} bytes per byte;`,
    `${(stored / (series * buckets)).toFixed(1)} bytes stored per sample in ${rows} rows`,
  ]
  console.log(line.join(' '))
}

/** One refresh of the tail and one whole window, each as the rows that they become. */
function compression(series: number): void {
  for (const buckets of [11, windowBuckets]) {
    const from = 29_453_760
    const bodies = piecesOf(answerPane(series, { from, to: from + buckets }, 1)).map(
      ({ pane }) => pane.body.bytes,
    )
    const plain = bodies.reduce((sum, { length }) => sum + length, 0)
    const shown = [1, 3, 9].map((level) => {
      const params = { params: { 100: level } }
      const packed = bodies.reduce((sum, bytes) => sum + zstdCompressSync(bytes, params).length, 0)
      const us = microseconds(() => void bodies.map((bytes) => zstdCompressSync(bytes, params)), 3)
      return `level ${level}: ${((100 * packed) / plain).toFixed(0)} % in ${us.toFixed(0)} µs`
    })
    const what = `${series} × ${buckets}`.padEnd(10)
    console.log(`${what} ${bodies.length} rows, ${(plain / 1000).toFixed(1)} KB plain; ${shown.join('; ')}`)
  }
}

console.log('the sliding window of 3 h, refreshed every 10 s for 3 h')
for (const series of [1, 10, 50]) await amplification(series)
console.log('\ncompression with zstd')
for (const series of [1, 10, 50]) compression(series)
