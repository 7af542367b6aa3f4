/**
 * The long form: `npm run test:hostile [-- --only NAME --seconds 15]`. For each attack of attack.ts, a normal client
 * requests hits and misses, before the attack and during it. Windowpane, its database and the attackers have processes
 * of their own. The marks: all answers are right, their 99th percentiles during the attack are at most 5 times those
 * before, and the process takes no more than 1.3 × `limits.memory` + 80 MB. Prints a table; exits with 1 where a mark
 * is missed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer } from 'node:stream/consumers'
import { scheduler } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/core/clock.ts'
import { rangePath, rangeSearch } from '../proxy/matrix.ts'
import { root } from '../selection.ts'
import { type Attack, attacks } from './attack.ts'
import { largeQuery, settled, truth } from './database.ts'

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, seconds: { type: 'string', default: '15' } },
})
const measuredMs = Number(options.seconds) * 1000
const mostTimes = 5
const memoryMb = 512 * 1.048576
const mostMb = 1.3 * memoryMb + 80

/** The results of a normal client. */
interface Seen {
  readonly hits: number[]
  readonly misses: number[]
  /** Wrong answers. */
  readonly wrong: string[]
}

const children: ChildProcess[] = []
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** A program that prints where it listens. */
async function start(
  args: readonly string[],
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: root })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
    if (url === undefined) continue
    child.stdout!.resume()
    return { url, child }
  }
  throw new Error(`${args.join(' ')} ended without saying where it is`)
}

/** One question after the other on one connection, a hit and then a miss. */
class NormalClient {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #misses = 0

  constructor(url: string) {
    this.#url = url
  }

  async warm(): Promise<void> {
    for (const query of ['known', largeQuery]) await this.#ask(query)
    // Settled: the second answer is a hit.
    await this.#ask('known')
  }

  async ask(forMs: number): Promise<Seen> {
    const seen: Seen = { hits: [], misses: [], wrong: [] }
    const end = systemClock.elapsed() + forMs
    while (systemClock.elapsed() < end) {
      for (let i = 0; i < 4; i++) await this.#note(seen, 'known', seen.hits)
      await this.#note(seen, `miss_${this.#misses++}`, seen.misses)
      await scheduler.wait(2)
    }
    return seen
  }

  async #note(seen: Seen, query: string, times: number[]): Promise<void> {
    const began = systemClock.elapsed()
    const wrong = await this.#ask(query).catch((error: Error) => error.message)
    times.push(systemClock.elapsed() - began)
    const expected = query === 'known' ? 'hit' : 'miss'
    if (wrong !== expected) seen.wrong.push(`${query}: ${wrong}`)
  }

  /** The outcome, or the mistake in the answer. */
  async #ask(query: string): Promise<string> {
    const range = { ...settled, query }
    const { status, outcome, body } = await get(`${this.#url}${rangePath(range)}`, this.#agent)
    if (status !== 200) return `status ${status}`
    const isRight = body.equals(Buffer.from(truth(new URLSearchParams(rangeSearch(range)))))
    return isRight ? outcome : 'another body'
  }
}

interface Got {
  readonly status: number
  readonly outcome: string
  readonly body: Buffer
}

function get(url: string, agent: Agent): Promise<Got> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { agent }, async (response) => {
      const outcome = /detail="([a-z]+)/.exec(String(response.headers['cache-status']))?.[1] ?? ''
      buffer(response).then((body) => resolve({ status: response.statusCode!, outcome, body }), reject)
    })
      .on('error', reject)
      .end()
  })
}

/** The most that a process has ever taken of its own, as far as seen. */
function anonymousMb({ pid }: ChildProcess): number {
  const kilobytes = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return (Number(kilobytes) * 1024) / 1e6
}

function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(0.99 * sorted.length))] ?? Number.NaN
}

async function tried(name: string, attack: Attack): Promise<Record<string, string | number>> {
  const database = await start([join(import.meta.dirname, 'database.ts')])
  const proxy = await start([
    'src/cli/main.ts',
    database.url,
    '--listen',
    '127.0.0.1:0',
    '--admin.enabled',
    'false',
    '--telemetry.log-level',
    'warn',
  ])
  const client = new NormalClient(proxy.url)
  await client.warm()
  await client.ask(1000)
  const quiet = await client.ask(measuredMs)
  // From the first connection of the attack on.
  const attackers = start([join(import.meta.dirname, 'attackers.ts'), proxy.url, name])
  let peak = 0
  let isOver = false
  const watch = (async () => {
    while (!isOver) {
      peak = Math.max(peak, anonymousMb(proxy.child))
      await scheduler.wait(100)
    }
  })()
  const attacked = await client.ask(measuredMs)
  isOver = true
  await watch
  for (const { child } of [await attackers, proxy, database]) child.kill('SIGKILL')
  return judged(attack, { quiet, attacked, peak })
}

function judged(
  { name, clients }: Attack,
  { quiet, attacked, peak }: { readonly quiet: Seen; readonly attacked: Seen; readonly peak: number },
): Record<string, string | number> {
  const times = (kind: 'hits' | 'misses') => p99(attacked[kind]) / p99(quiet[kind])
  const missed = [
    ...(times('hits') <= mostTimes ? [] : ['hits']),
    ...(times('misses') <= mostTimes ? [] : ['misses']),
    ...(peak <= mostMb ? [] : ['memory']),
    ...(quiet.wrong.length + attacked.wrong.length === 0 ? [] : ['answers']),
  ]
  for (const wrong of attacked.wrong.slice(0, 5)) process.stderr.write(`${name}: ${wrong}\n`)
  const shown = (kind: 'hits' | 'misses') =>
    `${p99(quiet[kind]).toFixed(1)} → ${p99(attacked[kind]).toFixed(1)} (×${times(kind).toFixed(1)})`
  return {
    attack: `${clients} ${name}`,
    'hits, p99 ms': shown('hits'),
    'misses, p99 ms': shown('misses'),
    answers: attacked.hits.length + attacked.misses.length,
    wrong: attacked.wrong.length,
    'memory MB': Math.round(peak),
    missed: missed.join(', '),
  }
}

const rows: Record<string, string | number>[] = []
for (const [name, attack] of Object.entries(attacks)) {
  if (options.only === undefined || options.only === name) rows.push(await tried(name, attack))
}
console.table(rows)
process.exit(rows.every(({ missed }) => missed === '') ? 0 : 1)
