/**
 * Hits while large answers are taken in: `npm run bench:busy`. The 99th percentile of hits of a medium panel (20 × 240), first
 * alone, then while 64 large misses (100 × 720) are under way all the time, from a database that costs nothing. The first two
 * rounds do not count: the compiler is still learning.
 */
import { systemClock } from '../src/core/clock.ts'
import { startNode } from './node-process.ts'
import { readWhole } from './read-whole.ts'
import { findWrk } from './wrk.ts'

const rounds = 7
const learning = 2
const misses = 64
const mark = 5
const begin = 1_767_225_600

const path = (query: string, points: number, shift = 0): string =>
  `/api/v1/query_range?query=${query}&start=${begin + 60 * shift}&end=${begin + 60 * (shift + points - 1)}&step=60`

const wrk = await findWrk()
const database = await startNode(1, ['bench/stub-database.ts'])
const proxy = await startNode(0, [
  'src/cli/main.ts',
  database.url,
  ...['--listen', '127.0.0.1:0', '--admin.enabled=false', '--telemetry.log-level=warn', '--memory=2GiB'],
])
const get = (target: string): Promise<void> => readWhole(proxy.url + target)
const paths = Array.from({ length: 16 }, (_, shift) => path('stub_20_hit', 240, shift))
for (const each of paths) await get(each)

const hits = () => wrk.load(proxy.url, { paths, connections: 8, seconds: 2, core: 1 })

let asked = 0
async function keepMissing(isOver: () => boolean): Promise<void> {
  while (!isOver()) await get(path(`stub_100_miss${asked++}`, 720))
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!
const quiet: number[] = []
const busy: number[] = []
for (let round = 0; round < rounds; round++) {
  const { p99Ms: quietMs } = await hits()
  let isOver = false
  const [before, began] = [asked, systemClock.elapsed()]
  const missing = Array.from({ length: misses }, () => keepMissing(() => isOver))
  const { p99Ms, perSecond } = await hits()
  const rate = (1000 * (asked - before)) / (systemClock.elapsed() - began)
  isOver = true
  await Promise.all(missing)
  if (round >= learning) {
    quiet.push(quietMs)
    busy.push(p99Ms)
  }
  console.log(
    `quiet p99 ${quietMs.toFixed(2)} ms; with ${misses} misses under way ${p99Ms.toFixed(2)} ms (${perSecond.toFixed(0)} hits/s, ${rate.toFixed(0)} large misses/s)`,
  )
}
const ratio = median(busy) / median(quiet)
console.log(
  `p99 of hits: ${median(quiet).toFixed(2)} → ${median(busy).toFixed(2)} ms, ${ratio.toFixed(1)} × (mark: ${mark})`,
)
proxy.child.kill()
database.child.kill()
