/** VictoriaMetrics for tests: one process, empty at first, that scrapes nothing. */
import { join } from 'node:path'
import { request } from 'undici'
import { isUnavailable, type Unavailable } from './availability.ts'
import { findProgram } from './debian.ts'
import { type ServerProcess, startServer } from './process.ts'

export interface Victoriametrics extends ServerProcess {
  readonly version: string
  /** Writes samples, one per line: `name{label="value"} 1.5 1700000000000`, and waits until queries see them. */
  load(lines: Iterable<string>): Promise<void>
}

const LINES_AT_ONCE = 20_000

export async function startVictoriametrics(
  extraFlags: readonly string[] = [],
): Promise<Victoriametrics | Unavailable> {
  const program = await findProgram({ package: 'victoria-metrics' })
  if (isUnavailable(program)) return program
  const server = await startServer({
    name: 'victoriametrics',
    program: program.path,
    readyPath: '/health',
    args: ({ port, folder }) => [
      `-httpListenAddr=127.0.0.1:${port}`,
      `-storageDataPath=${join(folder, 'data')}`,
      '-retentionPeriod=100y',
      '-loggerLevel=WARN',
      ...extraFlags,
    ],
  })
  // Not a spread: `pid` is a getter, it changes with restart().
  return Object.assign(server, {
    version: program.version,
    load: (lines: Iterable<string>) => load(server.url, lines),
  })
}

async function load(url: string, lines: Iterable<string>): Promise<void> {
  let part: string[] = []
  const send = async () => {
    await post(`${url}/api/v1/import/prometheus`, part.join('\n'))
    part = []
  }
  for (const line of lines) if (part.push(line) === LINES_AT_ONCE) await send()
  await send()
  await post(`${url}/internal/force_flush`, '')
}

async function post(url: string, body: string): Promise<void> {
  const answer = await request(url, { method: 'POST', body })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`${url}: status ${answer.statusCode}, ${text}`)
}
