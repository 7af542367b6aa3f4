/**
 * Full hits against VictoriaMetrics' own cache of query results: `npm run bench:victoriametrics`. Both on one core, the
 * load on the other. Medians of rounds in turn; only ratios mean something, and processor time per hit is the figure
 * that other load on the machine disturbs least. `-- 1 2`: rounds and their seconds.
 */
import { request } from 'undici'
import { isUnavailable } from '../test/servers/availability.ts'
import { startVictoriametrics } from '../test/servers/victoriametrics.ts'
import { cpuSecondsOf, startNode } from './node-process.ts'
import { fill, type Panel, pathsOf } from './peers/panels.ts'
import { loadCore, pin, serverCore } from './peers/pinned.ts'
import { findWrk } from './wrk.ts'

// Go programs on one core run best with this setting.
process.env['GOMAXPROCS'] = '1'

const [rounds = 3, seconds = 2] = process.argv.slice(2).map(Number)

/** With explicit ranges: queries without one are forwarded. */
const panels: readonly Panel[] = [
  { name: 'small', query: 'last_over_time(bench_gauge{instance="host-1000"}[5m])', points: 60 },
  { name: 'medium', query: 'last_over_time(bench_gauge{group=~"g[01]"}[5m])', points: 240 },
  { name: 'large', query: 'last_over_time(bench_gauge[5m])', points: 720 },
  { name: 'expensive', query: 'sum by (group) (avg_over_time(bench_gauge[1h]))', points: 720 },
]

async function textOf(url: string): Promise<string> {
  const answer = await request(url)
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${text.slice(0, 200)}`)
  return text
}

/** A benchmark of wrong answers, or of misses, is worth nothing. */
async function warm(proxy: string, database: string): Promise<void> {
  for (const path of panels.flatMap(pathsOf)) {
    const direct = (await textOf(`${database}${path}&nocache=1`)).replace(/,"stats":\{[^}]*\}\}$/, '}')
    await textOf(database + path)
    await textOf(proxy + path)
    if ((await textOf(proxy + path)) !== direct) throw new Error(`other bytes for ${path}`)
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

const wrk = await findWrk()
const server = await startVictoriametrics()
if (isUnavailable(server)) throw new Error(server.unavailable)
await pin(server.pid, serverCore)
await fill(server.url)
await server.load([])
const proxy = await startNode(serverCore, [
  'src/cli/main.ts',
  server.url,
  ...['--listen', '127.0.0.1:0', '--admin.enabled=false', '--telemetry.log-level=warn', '--ttl-cap=1h'],
])
await warm(proxy.url, server.url)
console.log(
  `VictoriaMetrics ${server.version}, Node ${process.version}; ${rounds} rounds of ${seconds} s each`,
)
const rivals = [
  { name: 'Windowpane', url: proxy.url, pid: proxy.child.pid! },
  { name: 'VictoriaMetrics', url: server.url, pid: server.pid },
]
for (const panel of panels) {
  for (const connections of [1, 8]) {
    const rates: number[][] = [[], []]
    const costs: number[][] = [[], []]
    for (let round = 0; round < rounds; round++) {
      for (const [index, { url, pid }] of rivals.entries()) {
        const before = cpuSecondsOf(pid)
        const load = { paths: pathsOf(panel), connections, seconds, core: loadCore }
        const { perSecond, requests } = await wrk.load(url, load)
        rates[index]!.push(perSecond)
        costs[index]!.push((1e6 * (cpuSecondsOf(pid) - before)) / requests)
      }
    }
    const [rate, cost] = [rates.map(median), costs.map(median)]
    const cells = rivals.map(
      ({ name }, i) => `${name} ${rate[i]!.toFixed(0)}/s, ${cost[i]!.toFixed(0)} µs of CPU`,
    )
    const ratios = `${(rate[0]! / rate[1]!).toFixed(1)} ×, ${(cost[1]! / cost[0]!).toFixed(1)} × by CPU`
    console.log(`${panel.name} ${connections}: ${cells.join(' | ')} | ${ratios}`)
  }
}
proxy.child.kill()
await server.stop()
