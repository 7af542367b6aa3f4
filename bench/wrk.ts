/** The load generator: wrk from PATH or from the system's packages, pinned to one core. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isUnavailable } from '../test/servers/availability.ts'
import { findProgram } from '../test/servers/debian.ts'

const run = promisify(execFile)

export interface Load {
  /** Requested in rotation, so that no two neighbours are the same request; or a window that moves with every request. */
  readonly paths: readonly (string | Post)[] | Sliding
  readonly connections: number
  readonly seconds: number
  /** One, or a list such as `0,1`. */
  readonly core: number | string
  readonly headers?: Readonly<Record<string, string>>
  /** This many requests are sent at once on each connection: the load itself costs a fraction then. 1 by default. */
  readonly pipelined?: number
}

/** A request with a body. */
export interface Post {
  readonly path: string
  readonly body: string
}

/** A path with START and END in it, which grow by `step` with every request. */
export interface Sliding {
  readonly path: string
  readonly start: number
  readonly end: number
  readonly step: number
}

export interface Measured {
  readonly perSecond: number
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Received per request, heads included. */
  readonly bytesEach: number
}

export interface Wrk {
  /** @throws where a single answer was not a 2xx or was cut short. */
  load(url: string, load: Load): Promise<Measured>
}

export async function findWrk(): Promise<Wrk> {
  const libraries = await luaLibraries()
  const program = (await onPath()) ?? (await fetched())
  return { load: (url, load) => runWrk({ program, libraries }, url, load) }
}

async function runWrk(
  wrk: { program: string; libraries: string },
  url: string,
  load: Load,
): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-wrk-'))
  try {
    const script = join(folder, 'rotate.lua')
    await writeFile(script, scriptOf(load))
    const args = ['-t1', `-c${load.connections}`, `-d${load.seconds}s`, '--timeout', '20s', '-s', script, url]
    const { stdout } = await run('taskset', ['-c', String(load.core), wrk.program, ...args], {
      env: { ...process.env, LD_LIBRARY_PATH: wrk.libraries },
    })
    if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk saw failed requests:\n${stdout}`)
    return JSON.parse(/^MEASURED (.*)$/m.exec(stdout)![1]!) as Measured
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Requests are formatted in `init`: before it the Host header is not known and every answer would be a fast 400. */
const scriptOf = ({ paths, headers = {}, pipelined = 1 }: Load): string => `
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`)
  .join('\n')}
${'step' in paths ? slidingScript(paths) : rotation(paths, pipelined)}
done = function(summary, latency)
  io.write(string.format('MEASURED {"perSecond":%f,"requests":%d,"p50Ms":%f,"p99Ms":%f,"bytesEach":%f}\\n',
    summary.requests / summary.duration * 1e6, summary.requests, latency:percentile(50) / 1000,
    latency:percentile(99) / 1000, summary.bytes / math.max(1, summary.requests)))
end
`

const rotation = (paths: readonly (string | Post)[], pipelined: number): string => `
local requests, turn = {}, 0
init = function()
  local each = {}
  ${paths.map((path, index) => `each[${index + 1}] = ${formatted(path)}`).join('\n  ')}
  for i = 1, #each do
    requests[i] = ''
    for j = 0, ${pipelined - 1} do requests[i] = requests[i] .. each[(i + j - 1) % #each + 1] end
  end
end
request = function() turn = turn % #requests + 1; return requests[turn] end
`

const formatted = (path: string | Post): string =>
  typeof path === 'string'
    ? `wrk.format("GET", ${JSON.stringify(path)})`
    : `wrk.format("POST", ${JSON.stringify(path.path)}, nil, ${JSON.stringify(path.body)})`

const slidingScript = ({ path, start, end, step }: Sliding): string => `
local start, finish = ${start}, ${end}
request = function()
  start, finish = start + ${step}, finish + ${step}
  local path = string.gsub(string.gsub(${JSON.stringify(path)}, "START", start), "END", finish)
  return wrk.format("GET", path)
end
`

async function onPath(): Promise<string | undefined> {
  return run('which', ['wrk']).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
}

async function fetched(): Promise<string> {
  const program = await findProgram({ package: 'wrk', suite: 'own' })
  if (isUnavailable(program)) throw new Error(`wrk cannot be had: ${program.unavailable}`)
  return program.path
}

async function luaLibraries(): Promise<string> {
  const folder = { package: 'libluajit-5.1-2', file: 'usr/lib/x86_64-linux-gnu', suite: 'own' } as const
  const library = await findProgram(folder)
  return isUnavailable(library) ? '' : library.path
}
