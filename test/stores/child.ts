/**
 * A process of its own, for tests: `write` writes true panes until it is killed, `check` reads everything once and
 * reports how many buckets were right, `fill` writes until it is refused and then does both. Arguments: the action,
 * directory, seed, number of shapes.
 */
import { systemClock } from '../../src/core/clock.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { seededRandom, wholeNumber } from '../../src/testing/random.ts'
import { defaults } from './scratch.ts'
import { checkStore, entryOf, keyNumber } from './truth.ts'

const [what, directory = '', seedText = '1', shapesText = '12'] = process.argv.slice(2)
const shapes = Number(shapesText)
const clock = systemClock
const began = clock.elapsed()
const crashLimit = process.env['WINDOWPANE_CRASH_LIMIT'] === 'none' ? Number.POSITIVE_INFINITY : 2
const store = await openLmdbStore({ ...defaults, directory, clock, crashLimit })
if ('refused' in store) throw new Error(store.detail)

if (what === 'fill') {
  for (let n = 0; n < shapes; n++) {
    const last = Math.floor(clock.now() / 1000)
    if (!(await store.write(keyNumber(n), entryOf(n, { from: last - 1500, to: last }, clock.now())))) break
  }
  // Two more that fail or not: neither may bring the process down.
  await store.remove(keyNumber(0))
  await store.remove(keyNumber(1))
}
if (what !== 'write' && what !== 'write-and-check') {
  const buckets = await checkStore(store, shapes)
  const ms = clock.elapsed() - began
  console.log(JSON.stringify({ buckets, ms, health: store.health, counters: store.counters }))
  await store.close()
} else {
  const random = seededRandom(Number(seedText))
  // Ages below and above the settled age, so that blocks and short rows both come up.
  for (let round = 0; ; round++) {
    const now = clock.now()
    const writes = Array.from({ length: 4 }, () => {
      const n = wholeNumber(random, 0, shapes - 1)
      const last = Math.floor(now / 1000) - wholeNumber(random, 0, 1800)
      const interval = { from: last - wholeNumber(random, 1, 200), to: last }
      return store.write(keyNumber(n), entryOf(n, interval, now))
    })
    if (round % 5 === 4)
      writes.push(Promise.resolve(store.remove(keyNumber(round % shapes))).then(() => true))
    await Promise.all(writes)
    if (what === 'write-and-check') await checkStore(store, shapes)
    console.log(round)
  }
}
