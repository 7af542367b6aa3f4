/**
 * The memory of the process while it serves mixed traffic for long: `npm run bench:soak [-- --requests 400000 --only
 * 96]`. Hits, sliding windows and one-off queries, answers of up to 2 MB, a third of them compressed, on 32
 * connections. The mark is 1.3 × `limits.memory` + 80 MB, for the anonymous memory of the process (RssAnon). Mapped
 * pages of a store's file (RssFile) can be reclaimed by the system, and are shown beside it. The peak of each tenth of
 * the run shows whether the process still grows. Exits with 1 where the mark is missed.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { systemClock } from '../src/core/clock.ts'
import { seededRandom } from '../src/testing/random.ts'
import { containerEnvironment } from '../test/deploy/environment.ts'
import { cpuSecondsOf, startNode } from './node-process.ts'

const { values: options } = parseArgs({
  options: { requests: { type: 'string', default: '400000' }, only: { type: 'string' } },
})
const requests = Number(options.requests)
const connections = 32
/** Three quarters of the requests repeat; a small memory does not hold all of them. */
const leastHits = 0.25
const mib = 2 ** 20
const mb = 1e6
/** A day ago: settled. */
const begin = Math.floor(systemClock.now() / 3_600_000) * 3600 - 2 * 86_400

interface Setup {
  readonly memoryMiB: number
  readonly workers: number
  readonly isDurable: boolean
}

const setups: readonly Setup[] = [
  { memoryMiB: 96, workers: 1, isDurable: false },
  { memoryMiB: 128, workers: 2, isDurable: true },
  { memoryMiB: 256, workers: 1, isDurable: false },
]

interface Form {
  /** Of a hundred requests. */
  readonly share: number
  readonly series: number
  readonly points: number
  /** How many different queries of this form there are; none repeats where it is infinite. */
  readonly questions: number
}

const forms: readonly Form[] = [
  { share: 50, series: 1, points: 60, questions: 200 },
  { share: 22, series: 20, points: 120, questions: 100 },
  { share: 4, series: 100, points: 720, questions: 8 },
  { share: 14, series: 1, points: 60, questions: Number.POSITIVE_INFINITY },
  { share: 6, series: 20, points: 240, questions: Number.POSITIVE_INFINITY },
  { share: 3, series: 100, points: 360, questions: Number.POSITIVE_INFINITY },
  { share: 1, series: 100, points: 860, questions: Number.POSITIVE_INFINITY },
]

/** The form at so many of a hundred requests. */
function formAt(percent: number): Form {
  let sum = 0
  for (const form of forms) {
    sum += form.share
    if (percent < sum) return form
  }
  return forms[0]!
}

/** Requests by number: the same in every run. */
class Traffic {
  readonly #random = seededRandom(1)
  #number = 0

  next(): { path: string; headers: Record<string, string> } {
    const number = this.#number++
    const { series, points, questions } = formAt(100 * this.#random())
    const isOneOff = questions === Number.POSITIVE_INFINITY
    const question = isOneOff ? `once${number}` : `q${Math.floor(questions * this.#random())}`
    // Windows slide by a step every few thousand requests: part of every repeated window is new.
    const start = begin + 60 * (isOneOff ? 0 : Math.floor(number / 5_000))
    const search = `query=stub_${series}_${question}&start=${start}&end=${start + 60 * (points - 1)}&step=60`
    const isPacked = this.#random() < 1 / 3
    return {
      path: `/api/v1/query_range?${search}`,
      headers: isPacked ? { 'accept-encoding': 'gzip' } : {},
    }
  }
}

class Peaks {
  rss = 0
  file = 0
  /** Anonymous memory, one peak for each tenth of the run. */
  readonly tenths: number[] = []
  /** Hits up to the end of each tenth. */
  readonly hits: number[] = []

  sample(pid: number, { done, hits }: Answered): void {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const of = (field: string): number =>
      Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) * 1024
    this.rss = Math.max(this.rss, of('VmRSS'))
    this.file = Math.max(this.file, of('RssFile'))
    const tenth = Math.min(9, Math.floor((10 * done) / requests))
    this.tenths[tenth] = Math.max(this.tenths[tenth] ?? 0, of('RssAnon'))
    this.hits[tenth] = hits
  }

  /** The share of hits in each tenth: a cache that loses its content shows in the later ones. */
  hitPercents(): string[] {
    return this.hits.map((hits, tenth) =>
      ((1000 * (hits - (this.hits[tenth - 1] ?? 0))) / requests).toFixed(0),
    )
  }
}

/** Counts of responses so far. A proxy that caches nothing needs little memory, so hits are counted, too. */
interface Answered {
  done: number
  failed: number
  hits: number
}

async function load(url: string, answered: Answered): Promise<void> {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const traffic = new Traffic()
  let left = requests
  const one = async (): Promise<void> => {
    while (left-- > 0) {
      const { statusCode, headers, body } = await pool.request({ method: 'GET', ...traffic.next() })
      for await (const _ of body);
      answered.done++
      if (statusCode !== 200) answered.failed++
      if (/; hit\b/.test(String(headers['cache-status']))) answered.hits++
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  await pool.close()
}

async function soak(database: string, { memoryMiB, workers, isDurable }: Setup): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'windowpane-soak-'))
  const store = isDurable
    ? [`--stores.disk.path=${folder}`, '--stores.disk.type=lmdb', '--backends.main.store=disk']
    : []
  const { url, child } = await startNode('0,1', [
    ...['dist/cli/main.js', database, '--listen', '127.0.0.1:0', '--admin.enabled=false'],
    ...['--telemetry.log-level=warn', `--memory=${memoryMiB}MiB`, `--workers=${workers}`, ...store],
  ])
  const peaks = new Peaks()
  const answered = { done: 0, failed: 0, hits: 0 }
  const began = systemClock.elapsed()
  let isOver = false
  const watch = (): void => {
    peaks.sample(child.pid!, answered)
    if (!isOver) systemClock.after(50, watch)
  }
  watch()
  await load(url, answered)
  isOver = true
  const seconds = (systemClock.elapsed() - began) / 1000
  const cpu = cpuSecondsOf(child.pid!)
  child.kill()
  rmSync(folder, { recursive: true, force: true })
  const bound = 1.3 * memoryMiB * mib + 80 * mb
  const anonymous = Math.max(...peaks.tenths)
  const { failed, hits } = answered
  const isMet = anonymous <= bound && failed === 0 && hits / requests > leastHits
  const inMb = (bytes: number): string => (bytes / mb).toFixed(0)
  console.log(
    `${isMet ? 'met   ' : 'MISSED'}  ${memoryMiB} MiB, ${workers} workers${isDurable ? ', LMDB' : ''}: anonymous ${inMb(anonymous)} MB (at most ${inMb(bound)}), mapped ${inMb(peaks.file)} MB, all ${inMb(peaks.rss)} MB; ${failed} of ${requests} failed, ${((100 * hits) / requests).toFixed(0)} % hits, ${(requests / seconds).toFixed(0)}/s, ${((1e6 * cpu) / requests).toFixed(0)} µs of processor time each`,
  )
  console.log(`        anonymous MB in each tenth: ${peaks.tenths.map(inMb).join(' ')}`)
  console.log(`        % hits in each tenth: ${peaks.hitPercents().join(' ')}`)
  return isMet
}

spawnSync(process.execPath, ['scripts/build.ts'], { stdio: 'inherit' })
// As the container and the systemd unit start it.
Object.assign(process.env, containerEnvironment())
const database = await startNode('0,1', ['bench/stub-database.ts'])
let isMet = true
for (const setup of setups) {
  if (options.only !== undefined && Number(options.only) !== setup.memoryMiB) continue
  isMet = (await soak(database.url, setup)) && isMet
}
database.child.kill()
process.exitCode = isMet ? 0 : 1
