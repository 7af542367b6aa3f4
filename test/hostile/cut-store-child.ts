/**
 * A process of its own, for tests: fills a store, cuts its file to a size in bytes, reads on and reports the result.
 */
import { truncateSync } from 'node:fs'
import { systemClock } from '../../src/core/clock.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { dataFile } from '../../src/stores/lmdb/place.ts'
import { defaults } from '../stores/scratch.ts'
import { checkStore, entryOf, keyNumber } from '../stores/truth.ts'

const [directory = '', bytes = '0'] = process.argv.slice(2)
const shapes = 6
const clock = systemClock
const store = await openLmdbStore({ ...defaults, directory, clock })
if ('refused' in store) throw new Error(store.detail)
const interval = { from: 0, to: 1500 }
for (let n = 0; n < shapes; n++) await store.write(keyNumber(n), entryOf(n, interval, clock.now()))
const before = await checkStore(store, shapes)
truncateSync(dataFile(directory), Number(bytes))
const after = await checkStore(store, shapes)
const isWritten = await store.write(keyNumber(0), entryOf(0, interval, clock.now()))
const cell = await store.cells.get({ pk: 'p', sk: 's' }, 1)
await store.maintain()
const { health } = store
await store.close()
console.log(JSON.stringify({ before, after, isWritten, cell: cell ?? null, health }))
