/**
 * Full hits of groupBy answers against nginx with the same bytes: `npm run bench:druid-hits`. Druid's own answers;
 * servers on one core, the load (POST with the query's body, to nginx too) on the other. Medians of rounds in turn;
 * only ratios mean something; a bare node:http server with the same bytes is the bound. Processor time per hit is the
 * figure that other load on the machine disturbs least. `-- 1 2`: rounds and their seconds. Before the first round of a
 * panel all servers are under load for some seconds: the time of the compiler is not part of a hit.
 */
import { request } from 'undici'
import { startDruidFixture } from '../../test/druid/fixture.ts'
import { isUnavailable } from '../../test/servers/availability.ts'
import { cpuSecondsOf, type NodeProcess, startNode } from '../node-process.ts'
import { startNginx } from '../peers/nginx.ts'
import { loadCore, pin, serverCore } from '../peers/pinned.ts'
import { findWrk, type Load, type Wrk } from '../wrk.ts'
import { bodiesOf, fill, large, medium, type Panel } from './panels.ts'

const [rounds = 3, seconds = 2] = process.argv.slice(2).map(Number)
const mark = 0.7
const learningSeconds = 6
const path = '/druid/v2'
const headers = { 'Content-Type': 'application/json' }
const panels = [medium, large]

interface Rival {
  readonly name: string
  readonly at: (panel: Panel) => { readonly url: string; readonly pid: number }
  readonly paths: (panel: Panel) => Load['paths']
}

interface Figure {
  readonly perSecond: number
  readonly p99Ms: number
  /** Of the processor, per request. */
  readonly microseconds: number
}

async function post(url: string, body: string): Promise<Buffer> {
  const answer = await request(url + path, { method: 'POST', body, headers })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${bytes.toString('utf8', 0, 200)}`)
  return bytes
}

const fileOf = (panel: Panel, index: number): string => `${panel.name}-${index}.json`

/** A benchmark of wrong answers, or of misses, is worth nothing. */
async function warm(url: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const panel of panels) {
    for (let turn = 0; turn < 2; turn++) {
      for (const [index, body] of bodiesOf(panel).entries()) {
        const isEqual = (await post(url, body)).equals(files.get(fileOf(panel, index))!)
        if (!isEqual) throw new Error(`other bytes than Druid's for ${fileOf(panel, index)}`)
      }
    }
  }
}

async function measure(
  wrk: Wrk,
  { url, pid }: ReturnType<Rival['at']>,
  load: Pick<Load, 'paths' | 'connections'>,
) {
  const before = cpuSecondsOf(pid)
  const measured = await wrk.load(url, { ...load, seconds, core: loadCore, headers })
  const microseconds = (1e6 * (cpuSecondsOf(pid) - before)) / measured.requests
  return { perSecond: measured.perSecond, p99Ms: measured.p99Ms, microseconds }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

async function compare(wrk: Wrk, rivals: readonly Rival[], panel: Panel, connections: number): Promise<void> {
  const figures = rivals.map((): Figure[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, rival] of rivals.entries()) {
      figures[index]!.push(await measure(wrk, rival.at(panel), { paths: rival.paths(panel), connections }))
    }
  }
  const of = (index: number, what: keyof Figure): number => median(figures[index]!.map((each) => each[what]))
  const cells = rivals.map(
    ({ name }, index) =>
      `${name} ${of(index, 'perSecond').toFixed(0)}/s (p99 ${of(index, 'p99Ms').toFixed(2)} ms, ${of(index, 'microseconds').toFixed(1)} µs of CPU)`,
  )
  const ratios = rivals.slice(1).map(({ name }, index) => {
    const rate = of(0, 'perSecond') / of(index + 1, 'perSecond')
    const cpu = of(index + 1, 'microseconds') / of(0, 'microseconds')
    return `${rate.toFixed(2)} of ${name} (${cpu.toFixed(2)} by CPU)`
  })
  const isMet = of(0, 'perSecond') >= mark * of(1, 'perSecond')
  console.log(`hit ${panel.name} ${connections}: ${cells.join(' | ')} | ${ratios.join(', ')}`)
  if (!isMet) console.log(`missed: ${mark} of nginx`)
}

const druid = await startDruidFixture()
if (isUnavailable(druid)) throw new Error(druid.unavailable)
await fill(druid)
const files = new Map<string, Buffer>()
for (const panel of panels) {
  for (const [index, body] of bodiesOf(panel).entries()) {
    files.set(fileOf(panel, index), await post(druid.brokerUrl, body))
  }
}
const wrk = await findWrk()
const nginx = await startNginx(files)
await pin(nginx.pid, serverCore)
const proxy = await startNode(serverCore, [
  'src/cli/main.ts',
  druid.brokerUrl,
  ...['--listen', '127.0.0.1:0', '--admin.enabled=false', '--telemetry.log-level=warn'],
])
await warm(proxy.url, files)
const bare = new Map<Panel, NodeProcess>()
for (const panel of panels) {
  const urls = bodiesOf(panel).map((_, index) => `${nginx.url}/${fileOf(panel, index)}`)
  bare.set(panel, await startNode(serverCore, ['bench/bare-server.ts', ...urls]))
}
const placeOf = ({ url, child }: NodeProcess) => ({ url, pid: child.pid! })
const queries = (panel: Panel) => bodiesOf(panel).map((body) => ({ path, body }))
const rivals: readonly Rival[] = [
  { name: 'Windowpane', at: () => placeOf(proxy), paths: queries },
  {
    name: 'nginx',
    at: () => nginx,
    paths: (panel) => bodiesOf(panel).map((body, index) => ({ path: `/${fileOf(panel, index)}`, body })),
  },
  {
    name: 'nginx, GET',
    at: () => nginx,
    paths: (panel) => bodiesOf(panel).map((_, index) => `/${fileOf(panel, index)}`),
  },
  { name: 'bare Node', at: (panel) => placeOf(bare.get(panel)!), paths: queries },
]
for (const panel of panels) {
  console.log(`${panel.name}: ${(files.get(fileOf(panel, 0))!.length / 1000).toFixed(0)} KB`)
}
for (const panel of panels) {
  for (const { at, paths } of rivals) {
    const load = { paths: paths(panel), connections: 8, seconds: learningSeconds }
    await wrk.load(at(panel).url, { ...load, core: loadCore, headers })
  }
  for (const connections of [1, 8, 32]) await compare(wrk, rivals, panel, connections)
}
for (const { child } of [proxy, ...bare.values()]) child.kill()
await nginx.stop()
await druid.stop()
