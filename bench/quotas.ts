/**
 * What the request token costs on the hit path: `npm run bench:quotas`. Two proxies with the same configuration, but for quotas,
 * serve the same hits in turn; the median of the ratios counts. With `--workers 2` the tokens of all threads are counted in the
 * main thread, so that each request waits for a message and its reply. Exits with 1 where the mark is missed.
 */
import { parseArgs } from 'node:util'
import { startNode } from './node-process.ts'
import { readWhole } from './read-whole.ts'
import { findWrk } from './wrk.ts'

const { values: options } = parseArgs({
  options: {
    workers: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '9' },
    series: { type: 'string', default: '1' },
  },
})
const workers = Number(options.workers)
const rounds = Number(options.rounds)
/** The first rounds do not count: the compiler is still learning. */
const learning = 2
/** Of the hit throughput, with one thread. */
const mark = 0.1
const begin = 1_767_225_600

const wrk = await findWrk()
const database = await startNode(1, ['bench/stub-database.ts'])
const start = (...quotas: string[]) =>
  startNode(0, [
    ...['src/cli/main.ts', database.url, '--listen', '127.0.0.1:0', '--admin.enabled=false'],
    ...['--telemetry.log-level=warn', `--workers=${workers}`, ...quotas],
  ])
const limit = (i: number, name: string) => [
  `--quotas.limits.${i}.name=${name}`,
  `--quotas.limits.${i}.capacity=1000000000`,
]
const proxies = [await start(), await start(...limit(0, 'requests'), ...limit(1, 'cost'))]
const paths = Array.from(
  { length: 16 },
  (_, i) =>
    `/api/v1/query_range?query=stub_${options.series}_hit&start=${begin + 60 * i}&end=${begin + 60 * (i + 239)}&step=60`,
)
for (const { url } of proxies) for (const path of paths) await readWhole(url + path)

const ratios: number[] = []
const headers = { Authorization: 'Bearer of-somebody' }
for (const { url } of proxies) for (const path of paths) await readWhole(url + path, headers)
for (let round = 0; round < rounds; round++) {
  const [without, limited] = [] as number[]
  const measured = [without, limited]
  // In turn, beginning with the other one each time: a machine that gets slower slows both.
  for (const i of round % 2 === 0 ? [0, 1] : [1, 0]) {
    const load = { paths, connections: 16, seconds: 2, core: 1, headers, pipelined: 4 }
    measured[i] = (await wrk.load(proxies[i]!.url, load)).perSecond
  }
  const [plain, counted] = measured as [number, number]
  if (round >= learning) ratios.push(counted / plain)
  console.log(`${plain.toFixed(0)} hits/s without, ${counted.toFixed(0)} with quotas (${shown(counted / plain)})`)
}

function shown(ratio: number): string {
  return `${(100 * (ratio - 1)).toFixed(1)} %`
}

const median = ratios.toSorted((a, b) => a - b)[ratios.length >> 1]!
console.log(`quotas change hit throughput by ${shown(median)} (mark with one worker: -${100 * mark} %)`)
for (const proxy of [database, ...proxies]) await proxy.stop?.()
process.exit(workers === 1 && median < 1 - mark ? 1 : 0)
