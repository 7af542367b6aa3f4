/** The command with several workers, in front of a scripted database. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { adminAddress, type Child, readyAddress, startCommand } from '../cli/child.ts'
import { type Answer, ask, askPlainly } from '../proxy/client.ts'
import type { ScriptedUpstream } from '../proxy/scripted-upstream.ts'

export interface RunningWorkers {
  readonly child: Child
  readonly url: string
  readonly admin: string
  /** Sends requests on connections of their own, all at once: the system spreads them over the workers. */
  askMany(paths: readonly string[], headers?: Readonly<Record<string, string>>): Promise<Answer[]>
  post(path: string, body: object): Promise<Record<string, unknown>>
  /** The sum of a counter over all label values that contain a text. */
  counted(name: string, labels?: string): Promise<number>
  /** The value of a metric without labels. */
  gauge(name: string): Promise<number>
}

export interface WorkersOptions {
  readonly workers?: number
  readonly flags?: readonly string[]
  readonly upstream?: Pick<ScriptedUpstream, 'url'>
  /** Files of this folder that every thread loads first. */
  readonly hooks?: readonly string[]
}

const importing = (file: string): string => `--import=${pathToFileURL(join(import.meta.dirname, file)).href}`

export async function startWorkers(t: TestContext, options: WorkersOptions): Promise<RunningWorkers> {
  const { workers = 2, flags = [], upstream, hooks = [] } = options
  const child = startCommand(
    t,
    [
      ...(upstream === undefined ? [] : [upstream.url]),
      // On a busy machine the main thread may take longer to answer; requests then go straight to the database.
      '--limits.store-timeout=1m',
      ...['--listen=127.0.0.1:0', '--admin.listen=127.0.0.1:0', '--admin.allow-writes=true'],
      ...[`--workers=${workers}`, ...flags],
    ],
    { env: { NODE_OPTIONS: ['ending.ts', ...hooks].map(importing).join(' ') } },
  )
  const url = await readyAddress(child)
  const admin = await adminAddress(child)
  const metricLines = async (): Promise<string[]> =>
    (await askPlainly(admin, '/-/metrics')).body.toString().split('\n')
  return {
    ...{ child, url, admin },
    askMany: (paths, headers = {}) => Promise.all(paths.map((path) => ask(url, path, { headers }))),
    async post(path, body) {
      const headers = { 'Content-Type': 'application/json' }
      const answer = await askPlainly(admin, path, { method: 'POST', body: JSON.stringify(body), headers })
      return JSON.parse(answer.body.toString()) as Record<string, unknown>
    },
    async gauge(name) {
      const line = (await metricLines()).find((each) => each.startsWith(`${name} `))
      return Number(line?.split(' ')[1])
    },
    async counted(name, labels = '') {
      const values = (await metricLines()).filter(
        (line) => line.startsWith(`${name}{`) && line.includes(labels),
      )
      return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
    },
  }
}

/** So many of one thing: more connections than chance would put on one worker. */
export const many = <T>(one: T, count = 24): T[] => Array.from({ length: count }, () => one)
