/** A Windowpane process in front of a Prometheus and of a database that is gone, watched by a second Prometheus. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { request } from 'undici'
import { END, HOUR } from '../data/series.ts'
import { ask, outcomeOf } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { isUnavailable, type Unavailable } from '../servers/availability.ts'
import { type ServerLocation, type ServerProcess, startServer } from '../servers/process.ts'
import { type Prometheus, startPrometheus } from '../servers/prometheus.ts'
import { eventually } from '../wait.ts'
import { rulesFile } from './dashboard.ts'

const main = join(import.meta.dirname, '../../src/cli/main.ts')

const configuration = (database: string, { folder, port }: ServerLocation): string => `
listen: 127.0.0.1:0
admin: { listen: '127.0.0.1:${port}' }
telemetry: { logLevel: silent }
policies:
  budget: { type: learned, staleness: 1% }
backends:
  main: { url: '${database}', store: disk, policy: budget }
  gone: { url: 'http://127.0.0.1:1', route: { path: /gone } }
  unseen: { type: druid, url: 'http://127.0.0.1:1', route: { path: /unseen }, segments: { watch: true } }
quotas: { limits: [{ name: requests, capacity: 1000000 }] }
stores:
  disk: { type: lmdb, path: ${join(folder, 'panes')}, reserve: 0B }
`

/** Its url is that of the admin listener. */
function startProxy(database: string): Promise<ServerProcess> {
  const file = ({ folder }: ServerLocation): string => join(folder, 'windowpane.yaml')
  return startServer({
    name: 'windowpane',
    program: process.execPath,
    args: (place) => [main, '--config', file(place)],
    readyPath: '/-/healthy',
    prepare: (place) => writeFile(file(place), configuration(database, place)),
  })
}

const watching = (proxy: ServerProcess): string => `
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ['${rulesFile}']
scrape_configs:
  - job_name: windowpane
    metrics_path: /-/metrics
    static_configs: [{ targets: ['127.0.0.1:${proxy.port}'] }]
`

export interface Watched {
  readonly prometheus: Prometheus
  /** The admin listener of Windowpane. */
  readonly admin: string
  /** The outcomes of clients. */
  readonly outcomes: readonly string[]
}

/** Resolves when the traffic is over and the second Prometheus has seen the time before and after it. */
export async function startWatched(t: TestContext, database: string): Promise<Watched | Unavailable> {
  const proxy = await startProxy(database)
  t.after(() => proxy.stop())
  const prometheus = await startPrometheus({ extraConfig: watching(proxy) })
  if (isUnavailable(prometheus)) return prometheus
  t.after(() => prometheus.stop())
  await seen(prometheus, 'windowpane_build_info')
  const url = await eventually(
    async () => readyUrl(proxy),
    (found) => found !== undefined,
  )
  const outcomes = await runTraffic(url!)
  await seen(prometheus, `sum(windowpane_requests_total) >= ${outcomes.length}`)
  const scrapes = `count_over_time(windowpane_build_info[1h])`
  const before = (await vector(prometheus, scrapes))[0]!.value[1]
  await seen(prometheus, `${scrapes} > ${before}`)
  return { prometheus, admin: proxy.url, outcomes }
}

const readyUrl = (proxy: ServerProcess): string | undefined =>
  /is listening: (http:\/\/[^/\s]+)/.exec(proxy.log())?.[1]

/** A hit, a partial answer, a miss, a bypass of each kind and an error, some of them more than once. */
async function runTraffic(url: string): Promise<string[]> {
  const ranges = [4, 4, 4, 3, 3, 2].map((hours) => ({ start: END - 5 * HOUR, end: END - hours * HOUR }))
  const paths = [
    ...ranges.map((range) => rangePath({ query: 'sum(ramp_seconds)', stepMs: 60_000, ...range })),
    rangePath({ query: 'abs(sort(ramp_seconds))', stepMs: 60_000, ...ranges[0]! }),
    '/api/v1/labels',
    `/gone${rangePath({ query: 'up', stepMs: 60_000, ...ranges[0]! })}`,
  ]
  const outcomes: string[] = []
  for (const path of paths) outcomes.push(outcomeOf(await ask(url, path)))
  return outcomes
}

interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

async function vector(prometheus: Prometheus, query: string): Promise<Series[]> {
  return (await result(prometheus, '/api/v1/query', { query })) as Series[]
}

/** @throws with the error of Prometheus, where it does not answer the query. */
export async function result(
  prometheus: Prometheus,
  path: string,
  form: Readonly<Record<string, string>>,
): Promise<readonly unknown[]> {
  const response = await request(`${prometheus.url}${path}?${new URLSearchParams(form)}`)
  const body = (await response.body.json()) as { data?: { result: unknown[] }; error?: string }
  if (response.statusCode !== 200) throw new Error(`${form['query']}: ${body.error}`)
  return body.data!.result
}

const seen = (prometheus: Prometheus, query: string): Promise<Series[]> =>
  eventually(
    () => vector(prometheus, query),
    (series) => series.length > 0,
  )
