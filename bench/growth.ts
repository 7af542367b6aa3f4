/**
 * The cost of a hit as more is cached, as windows lie elsewhere, and as answers grow: `npm run bench:growth`. Costs are
 * time of the core; plots go to docs/performance. Exits with 1 where a hit exceeds its expected cost.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpuSeconds, type NodeProcess, startNode } from './node-process.ts'
import { svgOf } from './plot.ts'
import { readWhole } from './read-whole.ts'
import { findWrk } from './wrk.ts'

const rounds = 5
const begin = 1_767_225_600
const shapeCounts = [1_000, 10_000, 100_000, 1_000_000]
const panels = [
  [1, 60],
  [5, 120],
  [20, 240],
  [50, 480],
  [100, 720],
  [200, 1440],
] as const
/** As much as the cost may differ where it should not, beside the noise. */
const tolerance = 1.5

const path = (query: string, first: number, points: number): string =>
  `/api/v1/query_range?query=${query}&start=${begin + 60 * first}&end=${begin + 60 * (first + points - 1)}&step=60`
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!
const row = (...cells: readonly (string | number)[]): void =>
  console.log(
    cells
      .map((cell) => (typeof cell === 'number' ? cell.toFixed(1) : cell))
      .map((cell) => cell.padStart(12))
      .join(''),
  )

const wrk = await findWrk()
const database = await startNode(1, ['bench/stub-database.ts'])
const missed: string[] = []

interface Hits {
  /** Microseconds of the core, and bytes, per hit. */
  readonly cost: number
  readonly bytes: number
}

/** Two at a time: with eight answers of 8 MB under way the caches of the processor would be measured. */
async function hits(server: NodeProcess, paths: readonly string[]): Promise<Hits> {
  for (const each of paths) await readWhole(server.url + each)
  const began = cpuSeconds(server)
  const load = { paths, connections: 2, seconds: 1, core: 1 }
  const { requests, bytesEach } = await wrk.load(server.url, load)
  return { cost: (1e6 * (cpuSeconds(server) - began)) / requests, bytes: bytesEach }
}

const shifted = (query: string, points: number): string[] =>
  Array.from({ length: 16 }, (_, first) => path(query, first, points))

async function byShapes(): Promise<void> {
  const servers = []
  for (const shapes of shapeCounts)
    servers.push({
      shapes,
      server: await startNode(0, ['bench/growth-server.ts', database.url, String(shapes)]),
    })
  const costs = servers.map(() => [] as number[])
  for (const { server } of servers) await hits(server, shifted('stub_5_hit', 60))
  for (let round = 0; round < rounds; round++)
    for (const [i, { server }] of servers.entries())
      costs[i]!.push((await hits(server, shifted('stub_5_hit', 60))).cost)
  for (const { server } of servers) server.child.kill()
  row('shapes', 'µs per hit')
  const points = servers.map(({ shapes }, i) => ({ x: shapes, y: median(costs[i]!) }))
  for (const { x, y } of points) row(String(x), y)
  if (points.at(-1)!.y > tolerance * points[0]!.y)
    missed.push('the cost of a hit grows with the number of shapes')
  const title = 'Cost of a hit (5 × 60) by the number of cached shapes'
  plot('hit-by-shapes', { title, x: 'cached shapes', y: 'µs of one core', points })
}

async function byBytes(server: NodeProcess): Promise<void> {
  row('panel', 'bytes', 'µs per hit', 'ns per byte')
  const points: { x: number; y: number }[] = []
  for (const [series, length] of panels) {
    const measured: Hits[] = []
    for (let round = 0; round < rounds; round++)
      measured.push(await hits(server, shifted(`stub_${series}_hit`, length)))
    const [bytes, cost] = [measured[0]!.bytes, median(measured.map((each) => each.cost))]
    points.push({ x: bytes, y: cost })
    row(`${series} × ${length}`, bytes, cost, (1000 * cost) / bytes)
  }
  const [large, largest] = points.slice(-2).map(({ x, y }) => y / x) as [number, number]
  if (largest > tolerance * large) missed.push('the cost of a hit grows faster than its bytes')
  const title = 'Cost of a hit by the bytes of its answer'
  plot('hit-by-bytes', { title, x: 'bytes of the answer', y: 'µs of one core', points })
}

async function byPosition(server: NodeProcess): Promise<void> {
  const length = 10_000
  await readWhole(server.url + path('stub_10_long', 0, length))
  row('window at', 'µs per hit')
  const places = [0, 0.25, 0.5, 0.75, 1]
  const costs = places.map(() => [] as number[])
  for (let round = 0; round < rounds; round++) {
    for (const [i, place] of places.entries()) {
      const first = Math.round(place * (length - 76))
      const paths = Array.from({ length: 16 }, (_, shift) => path('stub_10_long', first + shift, 60))
      costs[i]!.push((await hits(server, paths)).cost)
    }
  }
  for (const [i, place] of places.entries()) row(`${100 * place} %`, median(costs[i]!))
  const medians = costs.map(median)
  if (Math.max(...medians) > tolerance * Math.min(...medians))
    missed.push('the cost of a hit depends on where its window lies')
}

function plot(name: string, given: Parameters<typeof svgOf>[0]): void {
  mkdirSync('docs/performance', { recursive: true })
  writeFileSync(`docs/performance/${name}.svg`, svgOf(given))
}

await byShapes()
const server = await startNode(0, ['bench/growth-server.ts', database.url, '1000'])
await byBytes(server)
await byPosition(server)
server.child.kill()
database.child.kill()
for (const each of missed) console.log(`missed: ${each}`)
process.exitCode = missed.length > 0 ? 1 : 0
