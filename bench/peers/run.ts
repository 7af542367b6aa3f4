/**
 * Side by side on one machine in one run: Windowpane, Trickster, nginx, VictoriaMetrics and Prometheus itself
 * (`npm run bench:peers`, about 12 minutes; `npm run bench:peers -- hits medium gzip` for some of it). Servers run on one core,
 * the load on the other. Every figure is the median of three rounds, with the spread; only ratios mean something.
 */
import { request } from 'undici'
import { isUnavailable } from '../../test/servers/availability.ts'
import { type Prometheus, startPrometheus } from '../../test/servers/prometheus.ts'
import { startVictoriametrics } from '../../test/servers/victoriametrics.ts'
import { startNode } from '../node-process.ts'
import { findWrk, type Load, type Measured, type Wrk } from '../wrk.ts'
import { coldMisses } from './cold.ts'
import { startNginx } from './nginx.ts'
import {
  expensive,
  fill,
  large,
  medium,
  type Panel,
  pathOf,
  pathsOf,
  small,
  step,
  wide,
  windowOf,
} from './panels.ts'
import { loadCore, pin, serverCore } from './pinned.ts'
import { compressingRoute, startTrickster } from './trickster.ts'

// Go programs on one core run best with this setting.
process.env['GOMAXPROCS'] = '1'

const rounds = 3
const seconds = 2
const wanted = new Set(process.argv.slice(2))
const isWanted = (part: string): boolean => wanted.size === 0 || wanted.has(part)

interface Rival {
  readonly name: string
  readonly url: string
  readonly paths?: (panel: Panel) => readonly string[]
}

interface Stage {
  readonly wrk: Wrk
  readonly prometheus: Prometheus
  readonly windowpane: Rival
  readonly trickster: Rival
  readonly nginx: Rival
}

async function body(url: string, headers: Record<string, string> = {}): Promise<Buffer> {
  const answer = await request(url, { headers, headersTimeout: 120_000 })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  if (answer.statusCode !== 200)
    throw new Error(`${url}: ${answer.statusCode} ${bytes.toString('utf8', 0, 200)}`)
  return bytes
}

/** Rounds in turn, so that a busy moment of the machine does not hit one rival alone. */
async function compare(
  wrk: Wrk,
  rivals: readonly Rival[],
  loadOf: (rival: Rival, round: number) => Omit<Load, 'seconds' | 'core'>,
): Promise<ReadonlyMap<string, Figure>> {
  const all = new Map<string, Measured[]>(rivals.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const rival of rivals) {
      const load = { ...loadOf(rival, round), seconds, core: loadCore }
      all.get(rival.name)!.push(await wrk.load(rival.url, load))
    }
  }
  return new Map([...all].map(([name, measured]) => [name, figureOf(measured)]))
}

interface Figure {
  readonly perSecond: number
  readonly spread: string
  readonly p50Ms: number
  readonly p99Ms: number
}

function figureOf(measured: readonly Measured[]): Figure {
  const rates = measured.map(({ perSecond }) => perSecond).toSorted((a, b) => a - b)
  const middle = measured.toSorted((a, b) => a.perSecond - b.perSecond)[measured.length >> 1]!
  return { ...middle, spread: `${round(rates[0]!)}–${round(rates.at(-1)!)}` }
}

const round = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

function show(title: string, figures: ReadonlyMap<string, Figure>): void {
  const own = figures.get('Windowpane')!.perSecond
  const cells = [...figures].map(([name, { perSecond, spread, p50Ms, p99Ms }]) => {
    const ratio = name === 'Windowpane' ? '' : `, Windowpane ${round(own / perSecond)}×`
    return `${name} ${round(perSecond)}/s (${spread}; p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(2)} ms${ratio})`
  })
  console.log(`${title}: ${cells.join(' | ')}`)
}

async function warm(rival: Rival, panels: readonly Panel[]): Promise<void> {
  for (const panel of panels)
    for (const path of rival.paths?.(panel) ?? pathsOf(panel)) await body(rival.url + path)
}

async function hits({ wrk, windowpane, trickster, nginx }: Stage): Promise<void> {
  const all = [small, medium, large, wide]
  const named = all.filter(({ name }) => wanted.has(name))
  const panels = named.length === 0 ? all : named
  await warm(windowpane, panels)
  await warm(trickster, panels)
  for (const panel of panels) {
    for (const connections of [1, 8, 32]) {
      const cached = [windowpane, trickster, nginx]
      const figures = await compare(wrk, cached, (rival) => ({
        paths: rival.paths?.(panel) ?? pathsOf(panel),
        connections,
      }))
      show(`hit ${panel.name} ${connections}`, figures)
    }
  }
}

async function gzip({ wrk, windowpane, trickster, nginx }: Stage): Promise<void> {
  const headers = { 'Accept-Encoding': 'gzip' }
  const compressing = { ...trickster, url: trickster.url + compressingRoute }
  await warm(windowpane, [large])
  for (const path of pathsOf(large)) await body(compressing.url + path, headers)
  for (const path of pathsOf(large)) await body(windowpane.url + path, headers)
  for (const connections of [1, 8]) {
    const rivals = [windowpane, { ...compressing, url: trickster.url, paths: prefixed }, nginx]
    const figures = await compare(wrk, rivals, (rival) => ({
      paths: rival.paths?.(large) ?? pathsOf(large),
      connections,
      headers,
    }))
    show(`gzip large ${connections}`, figures)
  }
  // Every window is another one, all of them within the cached range.
  const range = { ...large, points: 720 + 3000 }
  await body(windowpane.url + pathOf(range, windowOf(range, 0)))
  const figures = await compare(wrk, [windowpane], (_, turn) => ({
    paths: { ...slide(large, turn * 700), step },
    connections: 1,
    headers,
  }))
  show('gzip large, windows never compressed before, 1', figures)
}

const prefixed = (panel: Panel): string[] => pathsOf(panel).map((path) => compressingRoute + path)

/** A window that moves one step with every request, from `shift` on. */
function slide(panel: Panel, shift: number): { path: string; start: number; end: number; step: number } {
  const { start, end } = windowOf(panel, shift)
  const path = pathOf(panel, { start: 111111, end: 222222 })
    .replace('111111', 'START')
    .replace('222222', 'END')
  return { path, start, end, step }
}

async function sliding({ wrk, prometheus, windowpane, trickster }: Stage): Promise<void> {
  const direct: Rival = { name: 'Prometheus', url: prometheus.url }
  for (const panel of [medium, large]) {
    // Each rival and round begins where its own cache ends: at the window before.
    const own = { ...panel, query: `${panel.query} + 0` }
    for (const rival of [windowpane, trickster]) await body(rival.url + pathOf(own, windowOf(own, 0)))
    const begins = new Map<string, number>()
    const results = new Map<string, Measured[]>()
    for (let turn = 0; turn < rounds; turn++) {
      for (const rival of [windowpane, trickster, direct]) {
        const from = begins.get(rival.name) ?? 0
        const before = await samples(prometheus)
        const load = { paths: slide(own, from), connections: 1, seconds, core: loadCore }
        const measured = await wrk.load(rival.url, load)
        const asked = ((await samples(prometheus)) - before) / measured.requests
        begins.set(rival.name, from + measured.requests)
        results.set(rival.name, [...(results.get(rival.name) ?? []), measured])
        console.log(`  ${rival.name}: ${round(asked)} samples loaded per request`)
      }
    }
    show(`sliding ${panel.name} 1`, new Map([...results].map(([name, all]) => [name, figureOf(all)])))
  }
}

const samples = (prometheus: Prometheus): Promise<number> =>
  prometheus.metrics('prometheus_engine_query_samples_total')

async function costly({ wrk, prometheus, windowpane, trickster }: Stage): Promise<void> {
  const victoria = await startVictoriametrics()
  if (isUnavailable(victoria)) throw new Error(victoria.unavailable)
  await pin(victoria.pid, serverCore)
  await fill(victoria.url)
  const rivals = [windowpane, trickster, { name: 'VictoriaMetrics', url: victoria.url }]
  for (const rival of rivals) await warm(rival, [expensive])
  for (const connections of [1, 8]) {
    const all = [...rivals, { name: 'Prometheus', url: prometheus.url }]
    show(
      `expensive ${connections}`,
      await compare(wrk, all, () => ({ paths: pathsOf(expensive), connections })),
    )
  }
  await victoria.stop()
}

async function files(prometheus: Prometheus): Promise<ReadonlyMap<string, Buffer>> {
  const all = new Map<string, Buffer>()
  for (const panel of [small, medium, large, wide]) {
    for (const [index, path] of pathsOf(panel).entries()) {
      all.set(`${panel.name}-${index}.json`, await body(prometheus.url + path))
    }
  }
  return all
}

/** A benchmark of wrong answers is worth nothing. */
async function assertEqual(prometheus: Prometheus, rival: Rival): Promise<void> {
  for (const panel of [small, medium, large, wide]) {
    for (let turn = 0; turn < 2; turn++) {
      const path = (rival.paths ?? pathsOf)(panel)[3]!
      const direct = await body(prometheus.url + pathsOf(panel)[3]!)
      if (!direct.equals(await body(rival.url + path)))
        throw new Error(`${rival.name}: other bytes on ${panel.name}`)
    }
  }
}

const wrk = await findWrk()
const prometheus = await startPrometheus()
if (isUnavailable(prometheus)) throw new Error(prometheus.unavailable)
await pin(prometheus.pid, serverCore)
await fill(prometheus.url)
const proxy = await startNode(serverCore, [
  'src/cli/main.ts',
  prometheus.url,
  ...['--listen', '127.0.0.1:0', '--admin.enabled=false', '--telemetry.log-level=warn', '--ttl-cap=1h'],
])
const tricksterServer = await startTrickster(prometheus.url)
await pin(tricksterServer.pid, serverCore)
const nginxServer = await startNginx(await files(prometheus))
await pin(nginxServer.pid, serverCore)
const stage: Stage = {
  wrk,
  prometheus,
  windowpane: { name: 'Windowpane', url: proxy.url },
  trickster: { name: 'Trickster', url: tricksterServer.url },
  nginx: {
    name: 'nginx',
    url: nginxServer.url,
    paths: (panel) => pathsOf(panel).map((_, index) => `/${panel.name}-${index}.json`),
  },
}
for (const rival of [stage.windowpane, stage.trickster, stage.nginx]) await assertEqual(prometheus, rival)
console.log(
  `Prometheus ${prometheus.version}, Node ${process.version}; ${rounds} rounds of ${seconds} s each`,
)
if (isWanted('hits')) await hits(stage)
if (isWanted('gzip')) await gzip(stage)
if (isWanted('sliding')) await sliding(stage)
if (isWanted('expensive')) await costly(stage)
if (isWanted('cold')) {
  const passThrough = await startNode(serverCore, ['bench/pass-through.ts', prometheus.url])
  await coldMisses([
    { name: 'Prometheus', url: prometheus.url },
    { name: 'passing bytes on', url: passThrough.url },
    { name: 'Windowpane', url: proxy.url },
  ])
  passThrough.child.kill()
}
proxy.child.kill()
for (const server of [tricksterServer, nginxServer, prometheus]) await server.stop()
