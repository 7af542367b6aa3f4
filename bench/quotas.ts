/**
 * The cost of the request token on the hit path: `npm run bench:quotas`. Two proxies with the same configuration, but
 * for quotas, serve the same hits in turn. Processor time per hit is compared, because other load on the machine hardly
 * changes it; the median of the rounds counts. With `--workers 2` the tokens of all threads are counted in the main
 * thread, so that each request waits for a message and its reply. Exits with 1 where the mark is missed.
 */
import { parseArgs } from 'node:util'
import { cpuSeconds, type NodeProcess, startNode } from './node-process.ts'
import { readWhole } from './read-whole.ts'
import { findWrk } from './wrk.ts'

const { values: options } = parseArgs({
  options: {
    workers: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '13' },
    series: { type: 'string', default: '1' },
  },
})
const workers = Number(options.workers)
/** The first rounds do not count: the compiler is still learning. */
const learning = 5
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
const plain = await start()
const limited = await start(...limit(0, 'requests'), ...limit(1, 'cost'))
const paths = Array.from(
  { length: 16 },
  (_, i) =>
    `/api/v1/query_range?query=stub_${options.series}_hit&start=${begin + 60 * i}&end=${begin + 60 * (i + 239)}&step=60`,
)
for (const { url } of [plain, limited]) for (const path of paths) await readWhole(url + path)

/** Microseconds of processor time per hit, and hits per second. */
async function measure(proxy: NodeProcess): Promise<{ readonly us: number; readonly perSecond: number }> {
  const before = cpuSeconds(proxy)
  const load = { paths, connections: 16, seconds: 2, core: 1, pipelined: 4 }
  const { requests, perSecond } = await wrk.load(proxy.url, load)
  return { us: (1e6 * (cpuSeconds(proxy) - before)) / requests, perSecond }
}

const percent = (ratio: number): string => `${(100 * (ratio - 1)).toFixed(1)} %`
const ratios: number[] = []
for (let round = 0; round < Number(options.rounds); round++) {
  const without = await measure(plain)
  const counted = await measure(limited)
  // Throughput is the inverse of the time per hit.
  if (round >= learning) ratios.push(without.us / counted.us)
  const rates = `${without.perSecond.toFixed(0)} and ${counted.perSecond.toFixed(0)} hits/s`
  console.log(`${without.us.toFixed(1)} µs without, ${counted.us.toFixed(1)} µs with quotas; ${rates}`)
}
const median = ratios.toSorted((a, b) => a - b)[ratios.length >> 1]!
console.log(
  `quotas change the throughput of a core by ${percent(median)} (mark with one worker: -${100 * mark} %)`,
)
process.exit(workers === 1 && median < 1 - mark ? 1 : 0)
