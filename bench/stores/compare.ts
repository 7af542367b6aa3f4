/**
 * A window of 180 buckets from each store, without memory in front, next to the same window from Prometheus: `npm run
 * bench:stores`. Stores hold the rows of three hours of refreshes: long rows, and many short ones at the end. Servers
 * and client share the machine: the rows compare engines, and do not predict the times of separate machines.
 */
import { openStore } from '../../src/config/open-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { Store } from '../../src/stores/store.ts'
import { isUnavailable } from '../../test/servers/availability.ts'
import { type Prometheus, startPrometheus } from '../../test/servers/prometheus.ts'
import { remoteWrite } from '../../test/servers/remote-write.ts'
import { engines } from './engines.ts'
import { answerPane, keyFor, refreshes, shapeFor, windowBuckets } from './workload.ts'

const hours = 3
const minuteMs = 60_000
const reads = 800
const atOnce = 8
const widths = [1, 10, 50]

type Read = () => Promise<unknown>

async function fill(store: Store, series: number): Promise<Read> {
  const shape = shapeFor(series)
  const key = keyFor(shape)
  let to = 0
  for (const { now, interval } of refreshes(systemClock.now() - hours * 60 * minuteMs, hours)) {
    to = interval.to
    await store.write(key, { pane: answerPane(series, interval, now), shape })
  }
  return async () => {
    const found = await store.read(key, { from: to - windowBuckets, to })
    if (found === undefined || found.panes.length === 0) throw new Error('the window is not there')
  }
}

async function timed(read: Read): Promise<number> {
  const began = systemClock.elapsed()
  await read()
  return systemClock.elapsed() - began
}

/** Latency one after the other, throughput with some at once. */
async function measure(read: Read): Promise<string> {
  for (let i = 0; i < reads / 2; i++) await read()
  const times: number[] = []
  for (let i = 0; i < reads; i++) times.push(await timed(read))
  times.sort((a, b) => a - b)
  const worker = async () => {
    for (let i = 0; i < reads / atOnce; i++) await read()
  }
  const took = await timed(() => Promise.all(Array.from({ length: atOnce }, worker)))
  const at = (share: number) => times[Math.floor(share * reads)]!.toFixed(1)
  return `${at(0.5)} / ${at(0.99)} | ${((1000 * reads) / took).toFixed(0)}`
}

async function fillDatabase({ url }: Prometheus, end: number): Promise<void> {
  const points = windowBuckets + 10
  for (let from = 0; from < points; from += 20) {
    const count = Math.min(20, points - from)
    const series = Array.from({ length: 50 }, (_, i) => ({
      labels: { __name__: 'bench_total', instance: `host-${i}.example:9100`, job: 'node' },
      samples: Array.from({ length: count }, (_, j) => ({
        t: end - (points - from - j) * minuteMs,
        value: (from + j) * (i + 1) * 1.37,
      })),
    }))
    await remoteWrite(url, series)
  }
}

function query({ url }: Prometheus, series: number, end: number): Read {
  const hosts = Array.from({ length: series }, (_, i) => `host-${i}.example:9100`).join('|')
  const search = new URLSearchParams({
    query: `rate(bench_total{instance=~"${hosts}"}[5m])`,
    ...{ start: String(end / 1000 - 60 * (windowBuckets - 1)), end: String(end / 1000), step: '60' },
  })
  return async () => {
    const answer = await fetch(`${url}/api/v1/query_range?${search}`)
    const bytes = await answer.arrayBuffer()
    if (answer.status !== 200 || bytes.byteLength < 1000) throw new Error(`Prometheus: ${answer.status}`)
  }
}

const chosen = process.argv.slice(2)
const isChosen = (name: string): boolean =>
  chosen.length === 0 || chosen.some((part) => name.startsWith(part))
const row = (name: string, cells: readonly string[]): void =>
  console.log(`| ${name} | ${cells.join(' | ')} |`)

row(
  '180 buckets: ms p50 / p99, then per second',
  widths.flatMap((series) => [`${series} series`, '/s']),
)
row(
  '---',
  widths.flatMap(() => ['---', '---']),
)
if (isChosen('prometheus')) {
  const prometheus = await startPrometheus()
  if (isUnavailable(prometheus)) throw new Error(prometheus.unavailable)
  const end = Math.floor(systemClock.now() / minuteMs) * minuteMs
  await fillDatabase(prometheus, end)
  const cells: string[] = []
  for (const series of widths) cells.push(await measure(query(prometheus, series, end)))
  row('Prometheus, asked directly', cells)
  await prometheus.stop()
}
for (const [name, start] of Object.entries(engines)) {
  if (!isChosen(name)) continue
  const engine = await start()
  if (isUnavailable(engine)) {
    console.log(`${name}: ${engine.unavailable}`)
    continue
  }
  const store = await openStore(engine.url, { timeoutMs: 60_000 })
  const cells: string[] = []
  for (const series of widths) cells.push(await measure(await fill(store.panes, series)))
  row(name, cells)
  await store.close()
  await engine.stop()
}
