/**
 * Prometheus for tests. By default it scrapes nothing, so that its answers depend only on the written samples.
 *
 * How to count the work a proxy caused, in falling order of exactness (checked in prometheus.test.ts):
 *
 * - `queryLog()` / `evaluatedSteps()`: the query log names start, end and step of every evaluated query, whatever the
 *   expression (steps of whole seconds only). It needs `queryLog: true`. This is the one to assert "steps fetched = steps missing" with.
 * - `metrics('prometheus_engine_query_samples_total')`: samples loaded, not steps. A plain selector (also inside sum,
 *   and so on) loads one sample per step and series that has one within the lookback delta; for a selector of N series
 *   without gaps: steps = increase / N, so with one series (catalogue: `ramp_seconds`) the increase is the number of steps.
 *   `f(x[R])` adds the samples in the window at each step, and expressions without selectors (`time()`) add none.
 * - `metrics('prometheus_http_requests_total', { handler: '/api/v1/query_range' })`: the number of requests.
 *
 * The counters are the server's: a test that counts must not share its server with other tests.
 */
import { execFile } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isUnavailable, type Unavailable } from './availability.ts'
import { findProgram } from './debian.ts'
import { type LabelMatcher, readMetric } from './metrics-text.ts'
import { type ServerLocation, type ServerProcess, type ServerSpec, startServer } from './process.ts'
import { type LoggedQuery, parseQueryLog, stepsOf } from './query-log.ts'

const run = promisify(execFile)

/**
 * Hidden flags: the head is never cut into blocks of its own, and takes samples of any age. Without them hours of data
 * written at once are compacted right away, and late samples that come meanwhile now and then make
 * Prometheus panic ("expected newly cut file to have sequence:offset").
 */
export const ONE_BLOCK = [
  '--storage.tsdb.min-block-duration=1000d',
  '--storage.tsdb.max-block-duration=1000d',
] as const

export interface PrometheusOptions {
  /** Blocks to start from; they are copied, so the folder stays as it is. Absent: empty. */
  readonly dataDir?: string
  /** How late a remote-written sample may be, such as '1h'. Absent: not at all. */
  readonly outOfOrderWindow?: string
  /** Writes the query log, for queryLog() and evaluatedSteps(). */
  readonly queryLog?: boolean
  readonly extraFlags?: readonly string[]
  /** YAML appended to the configuration, such as scrape_configs. */
  readonly extraConfig?: string
}

export interface Prometheus extends ServerProcess {
  readonly version: string
  /** Returns the value of one of its own metrics, summed over the label sets that match. */
  metrics(name: string, labels?: LabelMatcher): Promise<number>
  /** Returns the queries evaluated since the start, oldest first. */
  queryLog(): Promise<LoggedQuery[]>
  /** Returns the number of steps evaluated since the start by range queries. */
  evaluatedSteps(): Promise<number>
}

export async function startPrometheus(options: PrometheusOptions = {}): Promise<Prometheus | Unavailable> {
  const program = await findProgram({ package: 'prometheus' })
  if (isUnavailable(program)) return program
  const version = await programVersion(program.path)
  const server = await startServer(serverSpec(program.path, options))
  const queryLog = async () => parseQueryLog(await readFile(queryLogFile(server), 'utf8'))
  // Not a spread: `pid` is a getter, it changes with restart().
  return Object.assign(server, {
    version,
    queryLog,
    metrics: (name: string, labels?: LabelMatcher) => readMetric(server.url, name, labels),
    evaluatedSteps: async () => (await queryLog()).reduce((sum, query) => sum + stepsOf(query), 0),
  })
}

/** Returns Prometheus' own version, such as '3.5.3+ds1'. */
export async function programVersion(path: string): Promise<string> {
  const { stdout, stderr } = await run(path, ['--version'])
  return /version (\S+)/.exec(stdout + stderr)?.[1] ?? 'unknown'
}

function serverSpec(program: string, options: PrometheusOptions): ServerSpec {
  return {
    name: 'prometheus',
    program,
    readyPath: '/-/ready',
    args: (place) => [
      ...flags(place),
      ...(options.outOfOrderWindow ? ONE_BLOCK : []),
      ...(options.extraFlags ?? []),
    ],
    async prepare(place) {
      await writeFile(join(place.folder, 'prometheus.yml'), configuration(place, options))
      if (options.dataDir) await cp(options.dataDir, dataFolder(place), { recursive: true })
    },
  }
}

function flags(place: ServerLocation): string[] {
  return [
    `--config.file=${join(place.folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${dataFolder(place)}`,
    '--storage.tsdb.retention.time=100y',
    `--web.listen-address=127.0.0.1:${place.port}`,
    '--web.enable-remote-write-receiver',
    // 3.5 refuses native histograms without it; where they are stable the flag is accepted and does nothing.
    '--enable-feature=native-histograms,promql-experimental-functions',
    '--log.level=warn',
  ]
}

function configuration(place: ServerLocation, options: PrometheusOptions): string {
  const lines: string[] = []
  if (options.queryLog) lines.push('global:', `  query_log_file: ${queryLogFile(place)}`)
  if (options.outOfOrderWindow) {
    lines.push('storage:', '  tsdb:', `    out_of_order_time_window: ${options.outOfOrderWindow}`)
  }
  if (options.extraConfig) lines.push(options.extraConfig)
  return `${lines.join('\n')}\n`
}

function dataFolder(place: ServerLocation): string {
  return join(place.folder, 'data')
}

function queryLogFile(place: ServerLocation): string {
  return join(place.folder, 'queries.log')
}
