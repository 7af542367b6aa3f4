/**
 * Full hits of the large panel (100 series × 720 points, 1.7 MB) over HTTP, against a bare node:http server that
 * writes the same bytes: `npm run bench:large`. Server on one core, load on the other, 16 shifted windows.
 */
import { isUnavailable } from '../test/servers/availability.ts'
import { type Prometheus, startPrometheus } from '../test/servers/prometheus.ts'
import { remoteWrite } from '../test/servers/remote-write.ts'
import { startNode } from './node-process.ts'
import { readWhole } from './read-whole.ts'
import { findWrk } from './wrk.ts'

const series = 100
const points = 720
const windows = 16
const step = 60
const begin = Date.UTC(2026, 0, 1) / 1000
const rounds = 3
const mark = 0.6

const path = (window: number): string => {
  const start = begin + window * step
  return `/api/v1/query_range?query=bench_gauge&start=${start}&end=${start + (points - 1) * step}&step=${step}`
}

async function fill(prometheus: Prometheus): Promise<void> {
  for (let at = 0; at < points + windows; at += 100) {
    const samples = Array.from({ length: Math.min(100, points + windows - at) }, (_, i) => at + i)
    await remoteWrite(
      prometheus.url,
      Array.from({ length: series }, (_, column) => ({
        labels: { __name__: 'bench_gauge', instance: `host-${1000 + column}`, group: `g${column % 10}` },
        samples: samples.map((bucket) => ({
          t: (begin + bucket * step) * 1000,
          value: Math.round(1e6 * (50 + 50 * Math.sin(bucket / 9 + column))) / 1e6,
        })),
      })),
    )
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

const wrk = await findWrk()
const prometheus = await startPrometheus()
if (isUnavailable(prometheus)) throw new Error(prometheus.unavailable)
await fill(prometheus)
const proxy = await startNode(0, ['src/cli/main.ts', prometheus.url, '--listen', '127.0.0.1:0'])
const paths = Array.from({ length: windows }, (_, window) => path(window))
for (const each of paths) await readWhole(proxy.url + each)
const bare = await startNode(0, ['bench/bare-server.ts', prometheus.url + path(0)])
prometheus.pause()

let isMet = true
for (const connections of [1, 8, 32]) {
  const load = { paths, connections, seconds: 2, core: 1 }
  const results: { own: number; bound: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const own = await wrk.load(proxy.url, load)
    const bound = await wrk.load(bare.url, load)
    results.push({ own: own.perSecond, bound: bound.perSecond })
  }
  const own = median(results.map((each) => each.own))
  const bound = median(results.map((each) => each.bound))
  const ratios = results.map((each) => (each.own / each.bound).toFixed(2))
  isMet &&= own / bound >= mark
  console.log(
    `${String(connections).padStart(2)} connections: ${own.toFixed(0)} hits/s, bare server ${bound.toFixed(0)}/s, ratio ${(own / bound).toFixed(2)} (rounds ${ratios.join(', ')})`,
  )
}

proxy.child.kill()
bare.child.kill()
prometheus.resume()
await prometheus.stop()
console.log(isMet ? `the mark of ${mark} is met` : `the mark of ${mark} is missed`)
process.exitCode = isMet ? 0 : 1
