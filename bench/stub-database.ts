/**
 * A database that costs nothing: answers of any size, made of the requested times, prepared before the request. The
 * query names the number of series: `stub_100_x` has 100. The series of `stub_100_short3` have 3 points each, somewhere
 * in the window. Values repeat from series to series, except in `stub_100_gauge` (six decimals), `stub_100_counter` and
 * `stub_100_digits` (random, all digits of a double). `node bench/stub-database.ts 20` takes 20 ms for each. `/count`
 * returns the number of range queries.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../src/core/clock.ts'

const buildInfo = '{"status":"success","data":{"version":"3.5.3","revision":"8be3a95","goVersion":"go1.24"}}'
const answers = new Map<string, Buffer>()

function answerTo(search: URLSearchParams): Buffer {
  const query = search.get('query') ?? ''
  const [, series = '1', life = '0'] = /^stub_(\d+)(?:_short(\d+))?/.exec(query) ?? []
  const [kind = 'wave'] = /gauge|counter|digits/.exec(query) ?? []
  const name = `${series} ${life} ${kind} ${search.get('start')} ${search.get('end')} ${search.get('step')}`
  const known = answers.get(name)
  if (known !== undefined) return known
  const made = matrix({ series: Number(series), life: Number(life), value: values[kind]! }, search)
  if (answers.size > 64) answers.clear()
  answers.set(name, made)
  return made
}

type Value = (at: number, column: number) => string

const wave = (at: number, phase: number): number => 50 + 50 * Math.sin(at / 540 + phase)
/** Between 0 and 1, the same for the same. */
const noise = (at: number, column: number): number =>
  Math.abs(Math.sin(at * 12.9898 + column * 78.233) * 43758.5453) % 1

const values: Readonly<Record<string, Value>> = {
  wave: (at, column) => wave(at, column).toFixed(6),
  gauge: (at, column) => (wave(at, 1.2345 * column) + noise(at, column)).toFixed(6),
  counter: (at, column) =>
    String(1e9 * (column + 1) + 20 * (at % 1e7) + Math.floor(1000 * noise(at, column))),
  digits: (at, column) => String(100 * noise(at, column)),
}

interface Form {
  readonly series: number
  /** How many points a series has; 0 for one at every step. Short ones begin evenly over the window. */
  readonly life: number
  readonly value: Value
}

function matrix({ series, life, value }: Form, search: URLSearchParams): Buffer {
  const [start, end, step] = ['start', 'end', 'step'].map((name) => Number(search.get(name))) as [
    number,
    number,
    number,
  ]
  const steps = Math.floor((end - start) / step) + 1
  const length = life === 0 ? steps : Math.min(life, steps)
  const all = Array.from({ length: series }, (_, column) => {
    const points: string[] = []
    const first = Math.floor((column / series) * (steps - length))
    for (let i = first; i < first + length; i++) {
      const at = start + i * step
      points.push(`[${at},"${value(at, column)}"]`)
    }
    const labels = `{"__name__":"stub","group":"g${column % 10}","instance":"host-${String(column).padStart(5, '0')}"}`
    return `{"metric":${labels},"values":[${points.join(',')}]}`
  })
  const body = all.toSorted((a, b) => (a < b ? -1 : 1)).join(',')
  return Buffer.from(`{"status":"success","data":{"resultType":"matrix","result":[${body}]}}`)
}

export async function startStubDatabase(delayMs = 0): Promise<{ url: string; close(): void }> {
  let queries = 0
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://stub')
    response.setHeader('Content-Type', 'application/json')
    if (pathname === '/count') response.end(String(queries))
    else if (pathname !== '/api/v1/query_range') response.end(buildInfo)
    else {
      queries++
      const answer = () => response.end(answerTo(searchParams))
      if (delayMs === 0) answer()
      else systemClock.after(delayMs, answer)
    }
  })
  // A machine that stalls for longer than this must not look like a database that fails.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() }
}

if (import.meta.main) console.log((await startStubDatabase(Number(process.argv[2] ?? 0))).url)
