/**
 * One worker against two: `npm run bench:workers [seconds [kind]]`. Hits per second, processor time per hit, and
 * queries to the database for the same traffic. All run side by side and are loaded in turn. The load shares the two
 * cores with the proxy, so that hits per second cannot double where receiving an answer costs nearly as much as sending
 * it; the bound is the result of two processes under the same load, each with a cache of its own. Pipelined requests
 * cost the load next to nothing: there hits per second show the gain of a second worker. A second argument names one
 * kind of load.
 */
import { readFileSync } from 'node:fs'
import { request } from 'undici'
import { type NodeProcess, startNode } from './node-process.ts'
import { readWhole } from './read-whole.ts'
import { findWrk, type Load } from './wrk.ts'

const rounds = 5
const seconds = Number(process.argv[2] ?? 2)
const wanted = process.argv[3] ?? ''
const cores = '0,1'
const begin = 1_767_225_600
const scalingMark = 1.7
const queriesMark = 1.1

const path = (query: string, points: number, shift = 0): string =>
  `/api/v1/query_range?query=${encodeURIComponent(query)}&start=${begin + 60 * shift}&end=${begin + 60 * (shift + points - 1)}&step=60`

/** Sixteen windows of one question: no two neighbours are the same request. */
const windows = (query: string, points: number): string[] =>
  Array.from({ length: 16 }, (_, shift) => path(query, points, shift))

/** A long question with a short answer, as rules and generated dashboards have them. */
const long = `stub_1_long ${Array.from({ length: 120 }, (_, i) => `or rate(requests_total{job="api",code=~"5..",instance="host-${i}"}[5m])`).join(' ')}`

interface Kind {
  readonly paths: string[]
  /** Enough that chance spreads them evenly. */
  readonly connections: number
  readonly pipelined?: number
}

const kinds: Record<string, Kind> = {
  'medium panel (20 × 240)': { paths: windows('stub_20_medium', 240), connections: 64 },
  'large panel (100 × 720)': { paths: windows('stub_100_large', 720), connections: 32 },
  'long question, short answer': { paths: windows(long, 30), connections: 64 },
  'tiny panel (1 × 30)': { paths: windows('stub_1_tiny', 30), connections: 64 },
  'tiny panel, pipelined': { paths: windows('stub_1_tiny', 30), connections: 64, pipelined: 16 },
}

const startProxy = (database: string, workers: number): Promise<NodeProcess> =>
  startNode(cores, [
    'src/cli/main.ts',
    database,
    ...['--listen', '127.0.0.1:0', '--admin.listen=127.0.0.1:0', `--workers=${workers}`],
    ...['--telemetry.log-level=warn', '--memory=1GiB'],
  ])

/** Of all threads, in milliseconds. */
function processorMs({ child }: NodeProcess): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return 10 * (Number(fields[11]) + Number(fields[12]))
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

interface Result {
  readonly perSecond: number
  readonly msEach: number
}

const wrk = await findWrk()

/** Two loads at once in every case: one alone could not keep two workers busy. */
async function measure(proxies: readonly NodeProcess[], load: Load): Promise<Result> {
  const used = () => proxies.reduce((sum, proxy) => sum + processorMs(proxy), 0)
  const before = used()
  const connections = load.connections / 2
  const targets = [proxies[0]!, proxies.at(-1)!]
  const all = await Promise.all(targets.map(({ url }) => wrk.load(url, { ...load, connections })))
  const requests = all.reduce((sum, each) => sum + each.requests, 0)
  return {
    perSecond: all.reduce((sum, each) => sum + each.perSecond, 0),
    msEach: (used() - before) / requests,
  }
}

async function hits(database: string): Promise<void> {
  const one = [await startProxy(database, 1)]
  const two = [await startProxy(database, 2)]
  const processes = [...one, await startProxy(database, 1)]
  for (const [name, kind] of Object.entries(kinds)) {
    if (!name.includes(wanted)) continue
    const { paths } = kind
    // Every worker sees every window once.
    for (const { url } of [...processes, ...two])
      for (let i = 0; i < 4; i++) for (const each of paths) await readWhole(url + each, { reset: true })
    const load = { ...kind, seconds, core: cores }
    const results: { one: Result; two: Result; bound: Result }[] = []
    // Until the compiler of every thread has made up its mind.
    for (const proxies of [one, two, processes]) await measure(proxies, load)
    for (let i = 0; i < rounds; i++)
      results.push({
        one: await measure(one, load),
        two: await measure(two, load),
        bound: await measure(processes, load),
      })
    console.log(`${name}\n${linesOf(results).join('\n')}`)
  }
  for (const { child } of [...processes, ...two]) child.kill()
}

function linesOf(results: readonly { one: Result; two: Result; bound: Result }[]): string[] {
  const of = (pick: (round: (typeof results)[number]) => number) => median(results.map(pick))
  const hitsOf = (who: 'one' | 'two' | 'bound') => of((round) => round[who].perSecond)
  const costOf = (who: 'one' | 'two' | 'bound') => 1000 * of((round) => round[who].msEach)
  const each = results.map(({ one, two }) => (two.perSecond / one.perSecond).toFixed(2))
  return [
    `  hits/s: one worker ${hitsOf('one').toFixed(0)}, two ${hitsOf('two').toFixed(0)} (${of(({ one, two }) => two.perSecond / one.perSecond).toFixed(2)} ×; rounds ${each.join(', ')}), two processes ${hitsOf('bound').toFixed(0)}`,
    `  processor time of the proxy per hit, µs: one worker ${costOf('one').toFixed(0)}, two ${costOf('two').toFixed(0)}, two processes ${costOf('bound').toFixed(0)}`,
    `  two workers do ${of(({ two, bound }) => two.perSecond / bound.perSecond).toFixed(2)} of what two processes do; with cores to themselves ${of(({ one, two }) => (2 * one.msEach) / two.msEach).toFixed(2)} × one worker`,
  ]
}

/**
 * Six dashboards of twenty panels that roll on twenty times, four viewers each; returns the number of queries to the
 * database.
 */
async function queries(database: string, workers: number): Promise<number> {
  const proxy = await startProxy(database, workers)
  const before = await counted(database)
  const viewer = async (dashboard: number): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      const end = begin + 15 * round
      for (let panel = 0; panel < 20; panel++) {
        const query = `stub_5_d${dashboard}_p${panel}`
        const target = `/api/v1/query_range?query=${query}&start=${end - 3600}&end=${end}&step=15`
        await readWhole(proxy.url + target)
      }
    }
  }
  await Promise.all(Array.from({ length: 24 }, (_, i) => viewer(i % 6)))
  proxy.child.kill()
  return (await counted(database)) - before
}

const counted = async (database: string): Promise<number> =>
  Number(await (await request(`${database}/count`)).body.text())

const database = await startNode(cores, ['bench/stub-database.ts', '20'])
const fast = await startNode(cores, ['bench/stub-database.ts'])
await hits(fast.url)
const [byOne, byTwo] = [await queries(database.url, 1), await queries(database.url, 2)]
console.log(
  `queries to the database: ${byOne} → ${byTwo}, ${(byTwo / byOne).toFixed(2)} × (mark: at most ${queriesMark})`,
)
console.log(`mark for hits where the proxy is the bottleneck: at least ${scalingMark} ×`)
database.child.kill()
fast.child.kill()
process.exit()
