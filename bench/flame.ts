/**
 * Where the time of a hit goes: `npm run bench:flame` loads the proxy with hits of each panel and draws its CPU time as
 * a flame graph, one SVG per panel, in docs/performance. Idle time is left out.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { flameOf, type Profile } from './flame-svg.ts'
import { startNode } from './node-process.ts'
import { readWhole } from './read-whole.ts'
import { findWrk } from './wrk.ts'

interface Scene {
  readonly name: string
  readonly query: string
  readonly points: number
  readonly headers?: Readonly<Record<string, string>>
}

const scenes: readonly Scene[] = [
  { name: 'small', query: 'stub_1', points: 60 },
  { name: 'medium', query: 'stub_20', points: 240 },
  { name: 'large', query: 'stub_100', points: 720 },
  { name: 'large-gzip', query: 'stub_100', points: 720, headers: { 'Accept-Encoding': 'gzip' } },
]
const begin = 1_767_225_600
const folder = 'docs/performance'

const pathsOf = ({ query, points }: Scene): string[] =>
  Array.from({ length: 16 }, (_, shift) => {
    const start = begin + 60 * shift
    return `/api/v1/query_range?query=${query}&start=${start}&end=${start + 60 * (points - 1)}&step=60`
  })

async function profileOf(database: string, scene: Scene): Promise<{ profile: Profile; perSecond: number }> {
  const directory = await mkdtemp(join(tmpdir(), 'windowpane-flame-'))
  const proxy = await startNode(0, [
    ...['--cpu-prof', `--cpu-prof-dir=${directory}`, '--cpu-prof-interval=500', 'src/cli/main.ts', database],
    ...['--listen', '127.0.0.1:0', '--admin.enabled=false', '--telemetry.log-level=warn'],
  ])
  const paths = pathsOf(scene)
  for (const path of paths) await readWhole(proxy.url + path)
  const load = { paths, connections: 8, seconds: 5, core: 1, headers: scene.headers ?? {} }
  const { perSecond } = await (await findWrk()).load(proxy.url, load)
  const ended = new Promise((resolve) => proxy.child.once('exit', resolve))
  proxy.child.kill('SIGTERM')
  await ended
  const [file] = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile'))
  const profile = JSON.parse(await readFile(join(directory, file!), 'utf8')) as Profile
  await rm(directory, { recursive: true })
  return { profile, perSecond }
}

const database = await startNode(1, ['bench/stub-database.ts'])
await mkdir(folder, { recursive: true })
for (const scene of scenes) {
  const { profile, perSecond } = await profileOf(database.url, scene)
  const title = `Hits of the ${scene.name} panel, 8 connections`
  await writeFile(join(folder, `flame-${scene.name}.svg`), flameOf(profile, title))
  console.log(
    `${scene.name}: ${perSecond.toFixed(0)} hits/s while profiled, ${folder}/flame-${scene.name}.svg`,
  )
}
database.child.kill()
