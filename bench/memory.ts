/**
 * The memory of cached points, in use and idle, and the effect of a flood of one-off queries on the process and on the
 * hits of dashboards: `npm run bench:memory [live|cold|flood]`. Exits with 1 where a mark is missed.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'undici'
import { prometheus } from '../src/backends/prometheus/index.ts'
import { startWindowpane } from '../src/proxy/assembly/windowpane.ts'
import { cool } from './memory-cold.ts'
import { startNode } from './node-process.ts'

const begin = 1_767_225_600
const mib = 2 ** 20
/** Megabytes, as in the mark; the configuration is in MiB. */
const mb = 1e6
const marks: { name: string; found: string; isMet: boolean }[] = []

const path = (query: string, points: number): string =>
  `/api/v1/query_range?query=${query}&start=${begin}&end=${begin + 60 * (points - 1)}&step=60`

interface Filling {
  readonly name: string
  readonly paths: readonly string[]
  readonly points: number
  /** Bytes per point, or times the text of the answers. */
  readonly mark: { readonly perPoint: number } | { readonly timesText: number }
}

const fillings: readonly Filling[] = [
  {
    name: '1 query, 100 × 10 080',
    paths: [path('stub_100_long', 10_080)],
    points: 100 * 10_080,
    mark: { perPoint: 35 },
  },
  {
    name: '200 queries, 20 × 240',
    paths: Array.from({ length: 200 }, (_, i) => path(`stub_20_${i}`, 240)),
    points: 200 * 20 * 240,
    mark: { perPoint: 35 },
  },
  {
    name: '1 query, 50 000 × 3 in 720',
    paths: [path('stub_50000_short3', 720)],
    points: 150_000,
    mark: { timesText: 2 },
  },
]

/** The reachable memory; each collection frees objects that the one before has finalised. */
function live(): number {
  for (let i = 0; i < 4; i++) globalThis.gc!()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function weigh(database: string, filling: Filling): Promise<void> {
  const backend = prometheus({ settledAgeMs: 3_600_000, maxBuckets: 11_001 })
  const options = { upstream: database, backend, listen: '127.0.0.1:0' }
  const proxy = await startWindowpane({ ...options, limits: { memoryBytes: 2048 * mib } })
  const get = async (target: string): Promise<number> => {
    const { body, statusCode } = await request(proxy.url + target)
    let bytes = 0
    for await (const chunk of body) bytes += (chunk as Buffer).length
    if (statusCode !== 200) throw new Error(`${target}: ${statusCode}`)
    return bytes
  }
  await get(path('stub_1_first', 1))
  let text = 0
  for (const each of filling.paths) text += await get(each)
  await get(filling.paths[0]!)
  const full = live()
  await proxy.close()
  // Compared with the end: the runtime's own memory has found its size by then.
  const held = full - live()
  const perPoint = held / filling.points
  const timesText = held / text
  const { mark, name } = filling
  marks.push(
    'perPoint' in mark
      ? {
          name: `${name}: bytes per point, at most ${mark.perPoint}`,
          found: perPoint.toFixed(1),
          isMet: perPoint <= mark.perPoint,
        }
      : {
          name: `${name}: times the text, at most ${mark.timesText}`,
          found: timesText.toFixed(2),
          isMet: timesText <= mark.timesText,
        },
  )
  console.log(
    `live    ${name.padEnd(28)} ${(held / mib).toFixed(1)} MiB, ${perPoint.toFixed(1)} bytes per point, ${timesText.toFixed(2)} × the text of ${(text / mib).toFixed(1)} MiB`,
  )
}

const flood = { dashboards: 100, rounds: 4, atOnce: 16 }
/** Most by number are small, most by bytes are large. */
const floodForms = [
  ...Array.from({ length: 6 }, () => ({ series: 1, points: 60 })),
  ...Array.from({ length: 3 }, () => ({ series: 20, points: 240 })),
  { series: 100, points: 720 },
]

interface Share {
  hits: number
  asked: number
}

class Flood {
  readonly #url: string
  #asked = 0
  bytes = 0
  failed = 0

  constructor(url: string) {
    this.#url = url
  }

  async ask(target: string): Promise<{ isHit: boolean; bytes: number }> {
    const { statusCode, headers, body } = await request(this.#url + target)
    let bytes = 0
    for await (const chunk of body) bytes += (chunk as Buffer).length
    if (statusCode !== 200) this.failed++
    return { isHit: /; hit/.test(String(headers['cache-status'])), bytes }
  }

  async dashboards(share: Share): Promise<void> {
    for (let i = 0; i < flood.dashboards; i++) {
      const { isHit } = await this.ask(path(`stub_20_dashboard${i}`, 240))
      share.asked++
      if (isHit) share.hits++
    }
  }

  /** One-off queries, until this many bytes came. */
  async pour(bytes: number): Promise<void> {
    const until = this.bytes + bytes
    const one = async (): Promise<void> => {
      while (this.bytes < until) {
        const { series, points } = floodForms[this.#asked % floodForms.length]!
        const answer = await this.ask(path(`stub_${series}_flood${this.#asked++}`, points))
        this.bytes += answer.bytes
      }
    }
    await Promise.all(Array.from({ length: flood.atOnce }, one))
  }

  get asked(): number {
    return this.#asked
  }
}

const statusOf = (pid: number, field: string): number =>
  Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

const shown = ({ hits, asked }: Share): string => `${((100 * hits) / asked).toFixed(0)} %`

/** `share`: how much of the memory comes between two requests of the dashboards. */
async function inundate(database: string, memory: number, share: number): Promise<void> {
  // The installed package: Node needs 30 MiB more to run the sources.
  const { url, child } = await startNode(0, [
    ...['dist/cli/main.js', database, '--listen', '127.0.0.1:0', '--admin.enabled=false'],
    ...['--telemetry.log-level=warn', `--memory=${memory / mib}MiB`],
  ])
  const own = new Flood(url)
  const before: Share = { hits: 0, asked: 0 }
  const during: Share = { hits: 0, asked: 0 }
  await own.dashboards({ hits: 0, asked: 0 })
  await own.dashboards(before)
  await own.dashboards(before)
  for (let round = 0; round < flood.rounds; round++) {
    await own.pour(share * memory)
    await own.dashboards(during)
  }
  // The small program between is taskset, which becomes node.
  const [peak, last] = [statusOf(child.pid!, 'VmHWM'), statusOf(child.pid!, 'VmRSS')]
  child.kill()
  const bound = 1.3 * memory + 80 * mb
  const name = `${share} × ${memory / mib} MiB`
  marks.push(
    {
      name: `flood of ${name}: MiB of the process, at most ${(bound / mib).toFixed(0)}`,
      found: (peak / mib).toFixed(0),
      isMet: peak <= bound,
    },
    { name: `flood of ${name}: failed requests, none`, found: String(own.failed), isMet: own.failed === 0 },
    {
      name: `flood of ${name}: hits of the dashboards, before and during, 95 % of them`,
      found: `${shown(before)}, ${shown(during)}`,
      isMet: during.hits / during.asked >= (0.95 * before.hits) / before.asked,
    },
  )
  console.log(
    `flood   ${name} per round, ${own.asked} shapes, ${(own.bytes / mib).toFixed(0)} MiB: process at most ${(peak / mib).toFixed(0)} MiB (bound ${(bound / mib).toFixed(0)}), at the end ${(last / mib).toFixed(0)}; dashboards hit ${shown(before)} before, ${shown(during)} during; ${own.failed} failed`,
  )
}

const what = process.argv[2] ?? 'all'
const isWanted = (part: string): boolean => what === 'all' || what === part
const database = await startNode(1, ['bench/stub-database.ts'])
if (isWanted('live')) for (const filling of fillings) await weigh(database.url, filling)
if (isWanted('cold')) {
  for (const kind of ['gauge', 'counter'] as const) {
    const perPoint = await cool({ kind, database: database.url, path, live })
    const name = `${kind}, left alone: bytes per point, less than 12`
    marks.push({ name, found: perPoint.toFixed(1), isMet: perPoint < 12 })
  }
  // Without a mark: nothing makes random digits short.
  await cool({ kind: 'digits', database: database.url, path, live })
}
if (isWanted('flood')) {
  spawnSync(process.execPath, ['scripts/build.ts'], { stdio: 'inherit' })
  // As the container and the systemd unit start it.
  process.env['MALLOC_ARENA_MAX'] = '1'
  for (const [size, share] of [
    [512, 0.5],
    [512, 3],
    [256, 3],
    [1024, 3],
  ] as const)
    await inundate(database.url, size * mib, share)
}
database.child.kill()

console.log()
for (const { name, found, isMet } of marks) console.log(`${isMet ? 'met   ' : 'MISSED'}  ${name}: ${found}`)
process.exitCode = marks.every(({ isMet }) => isMet) ? 0 : 1
