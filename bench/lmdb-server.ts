/** Windowpane with one store and nothing in front of it: `node bench/lmdb-server.ts <database> [directory]`; memory without one. */
import { prometheus } from '../src/backends/prometheus/index.ts'
import { systemClock } from '../src/core/clock.ts'
import { startWindowpane } from '../src/proxy/assembly/windowpane.ts'
import { openLmdbStore } from '../src/stores/lmdb/index.ts'

const [upstream = '', directory] = process.argv.slice(2)

async function open(place: string) {
  const store = await openLmdbStore({
    ...{ clock: systemClock, directory: place, maxBytes: 2 ** 30, retentionMs: 86_400_000 },
    ...{ maxBucketsPerShape: 100_000, settledAgeMs: 900_000 },
  })
  if ('refused' in store) throw new Error(store.detail)
  return store
}

const store = directory === undefined ? undefined : await open(directory)
const backend = prometheus({ settledAgeMs: 900_000, maxBuckets: 11_001 })
const options = { upstream, backend, listen: '127.0.0.1:0', limits: { memoryBytes: 2 ** 30 } }
process.on('SIGINT', () => process.exit())
console.log((await startWindowpane({ ...options, ...(store && { store: () => store }) })).url)
