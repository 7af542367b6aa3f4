/**
 * Permits per second that one row carries: `npm run bench:limits`, on memory and LMDB in this process. Further arguments
 * are URLs of stores to measure as well. Two limits are taken together; `shards` counts the same entity in eight rows.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../src/config/open-store.ts'
import { systemClock } from '../src/core/clock.ts'
import type { Limiter } from '../src/limits/limit.ts'
import { limiter } from '../src/limits/limiter.ts'
import type { Cells } from '../src/stores/cells.ts'

const seconds = 2
const widths = [1, 8, 64]
const limits = ['requests', 'cost'].map((name) => ({
  ...{ name, capacity: 1_000_000_000, refillAmount: 1_000_000, refillPeriodSeconds: 1 },
}))
const request = { entity: 'tenant', resource: 'main', consume: { requests: 1, cost: 3 }, limits }

async function permitsPerSecond(own: Limiter, atOnce: number): Promise<number> {
  const began = systemClock.elapsed()
  const end = began + seconds * 1000
  let permits = 0
  const client = async (): Promise<void> => {
    while (systemClock.elapsed() < end) {
      const outcome = own.acquire(request)
      // Awaiting a value that is there already would measure the event loop.
      const { ok } = outcome instanceof Promise ? await outcome : outcome
      if (!ok) throw new Error('the bucket is too small for the benchmark')
      permits++
    }
  }
  await Promise.all(Array.from({ length: atOnce }, client))
  return (1000 * permits) / (systemClock.elapsed() - began)
}

async function measure(name: string, cells: Cells): Promise<void> {
  const figures: string[] = []
  for (const shards of [1, 8])
    for (const width of widths) {
      const own = limiter(cells, { shards, onUnavailable: 'block' })
      figures.push((await permitsPerSecond(own, width)).toFixed(0).padStart(12))
    }
  console.log(`| ${name.padEnd(10)} | ${figures.join(' | ')} |`)
}

const directory = mkdtempSync(join(tmpdir(), 'windowpane-bench-'))
const titles = [1, 8].flatMap((shards) =>
  widths.map((width) => `${shards} row${shards > 1 ? 's' : ''}, ${width}`),
)
console.log(
  `Permits per second, by rows and requests at once\n| store      | ${titles.map((t) => t.padStart(12)).join(' | ')} |`,
)
console.log(`| --- |${' --- |'.repeat(titles.length)}`)
for (const url of ['memory:', `lmdb:${directory}`, ...process.argv.slice(2)]) {
  const store = await openStore(url)
  await measure(url.slice(0, url.indexOf(':')), store.cells!)
  await store.close()
}
rmSync(directory, { recursive: true, force: true })
