/** The package: its content, its installation, and the use of its exports. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import test, { after, before } from 'node:test'
import { startFixture } from '../data/fixture.ts'
import { anchorsIn } from '../docs/anchors.ts'
import { ask, outcomeOf } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { isUnavailable } from '../servers/availability.ts'
import { entriesOf, loadedWith, reachedFrom, specifiersIn, subpathsOf, threadEntries } from './modules.ts'
import { installPackage, type Package, root, run } from './packed.ts'
import { startInstalled } from './started.ts'

let it: Package

before(async () => {
  it = await installPackage()
})
after(() => it?.remove())

test('only files that are to be published are in it', () => {
  const allowed = [
    /^dist\/.+\.(js|d\.ts)$/,
    /^docs\/.+\.(md|json|yaml)$/,
    /^docs\/(guide|performance|images)\/.+\.svg$/,
    /^deploy\//,
    /^(LICENSE|README\.md|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|package\.json)$/,
  ]
  const paths = it.files.map(({ path }) => path)
  const others = paths.filter((path) => !allowed.some((pattern) => pattern.test(path)))
  assert.deepEqual(others, [])
  const forDevelopment = paths.filter((path) => /\.test\.|fixture|\.map$/.test(path))
  assert.deepEqual(forDevelopment, [])
  for (const path of ['LICENSE', 'README.md', 'CHANGELOG.md', 'dist/index.js', 'dist/index.d.ts'])
    assert.ok(paths.includes(path), path)
})

/** Of one page: the targets of its links and pictures, without code. */
function linksIn(text: string): string[] {
  const prose = text.replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, '').replaceAll(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)(?:\s"[^"]*")?\)/g)].map((found) => found[1]!)
}

test('every link of a page leads to a page, a heading or a folder of the package', async () => {
  const paths = it.files.map(({ path }) => path)
  const dead: string[] = []
  for (const page of paths.filter((path) => path.endsWith('.md'))) {
    for (const link of linksIn(await it.text(page))) {
      if (/^[a-z]+:/.test(link)) continue
      const [target, heading] = link.split('#') as [string, string | undefined]
      const path = target === '' ? page : join(page, '..', target).replace(/\/$/, '')
      const isThere = paths.includes(path) || paths.some((each) => each.startsWith(`${path}/`))
      if (!isThere || !(heading === undefined || anchorsIn(await it.text(path)).has(heading)))
        dead.push(`${page}: ${link}`)
    }
  }
  assert.deepEqual(dead, [])
})

test('it is small', () => {
  const unpacked = it.files.reduce((sum, { size }) => sum + size, 0)
  assert.ok(it.packedBytes < 1_000_000, `${it.packedBytes} bytes packed`)
  assert.ok(unpacked < 3_800_000, `${unpacked} bytes unpacked`)
})

test('nothing that a module imports is missing, and all code is reached from the exports', async () => {
  const published = it.files.map(({ path }) => path)
  const code = await reachedFrom(entriesOf(it, 'default'), it)
  const types = await reachedFrom(entriesOf(it, 'types'), it)
  for (const path of [...code.files, ...types.files])
    assert.ok(published.includes(path), `${path} is missing`)
  const { dependencies, peerDependencies, peerDependenciesMeta } = it.manifest
  const declared = ['node:', ...Object.keys(dependencies), ...Object.keys(peerDependencies)]
  for (const name of [...code.packages, ...types.packages]) assert.ok(declared.includes(name), name)
  for (const name of Object.keys(peerDependencies)) assert.ok(peerDependenciesMeta[name]?.optional, name)
  for (const path of published.filter((path) => path.endsWith('.js') && !code.files.has(path))) {
    const isForTypes = types.files.has(path.replace(/\.js$/, '.d.ts')) || isWithoutCode(await it.text(path))
    assert.ok(isForTypes, `nothing imports ${path}`)
  }
  for (const path of published.filter((path) => path.endsWith('.d.ts')))
    assert.ok(types.files.has(path), `nothing leads to ${path}`)
})

test('a proxy that is started loads nothing of the demo', async () => {
  const modules = ['dist/cli/bin.js', 'dist/cli/main.js', 'dist/cli/start.js', ...threadEntries]
  const { files } = await loadedWith(modules, it)
  assert.ok(files.has('dist/cli/demo.js') && files.has('dist/proxy/assembly/server.js'))
  assert.deepEqual(
    [...files].filter((path) => path.startsWith('dist/demo/')),
    [],
  )
  const others = it.files.filter(({ path }) => /^dist\/(?!demo\/|cli\/demo\.js).*\.js$/.test(path))
  for (const { path } of others) assert.doesNotMatch(await it.text(path), /\bimport\(['"][./]+demo\//, path)
})

const isWithoutCode = (text: string): boolean =>
  text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '').trim() === 'export {};'

test('no module imports a .ts file, and none points to a source map', async () => {
  for (const { path } of it.files.filter(({ path }) => path.startsWith('dist/'))) {
    const text = await it.text(path)
    const wrong = specifiersIn(text).filter((name) => /^\..*(?<!\.d)\.ts$/.test(name) || !hasEnding(name))
    assert.deepEqual(wrong, [], path)
    assert.doesNotMatch(text, /sourceMappingURL/, path)
  }
})

const hasEnding = (name: string): boolean => !name.startsWith('.') || name.endsWith('.js')

test('types come first wherever there are conditions', () => {
  for (const [subpath, target] of Object.entries(it.manifest.exports)) {
    if (typeof target === 'string') continue
    assert.deepEqual(Object.keys(target), ['types', 'default'], subpath)
    assert.equal(target['types'], target['default']!.replace(/\.js$/, '.d.ts'))
  }
})

test('the command can be executed', () => {
  const file = it.files.find(({ path }) => path === it.manifest.bin.windowpane)
  assert.equal(file!.mode & 0o111, 0o111)
})

test('engines has the needs of the dependencies, and the command reports it to an older Node', async () => {
  const [major, minor] = lowest(it.manifest.engines.node)
  for (const name of Object.keys(it.manifest.dependencies)) {
    const text = await readFile(join(it.app, 'node_modules', name, 'package.json'), 'utf8')
    const { engines } = JSON.parse(text) as { engines?: { node?: string } }
    const [a, b] = lowest(engines?.node ?? '>=0.0')
    assert.ok(a < major || (a === major && b <= minor), `${name} needs Node ${engines?.node}`)
  }
  const tooOld = await onNode(`${major}.${minor - 1}.9`)
  assert.equal(tooOld.code, 2)
  assert.equal(
    tooOld.err,
    `windowpane: needs Node ${major}.${minor} or later, and this is v${major}.${minor - 1}.9\nInstall a newer Node, or put it first in PATH.\n`,
  )
  assert.equal((await onNode(`${major - 2}.99.0`)).code, 2)
  assert.deepEqual(await onNode(`${major}.${minor}.0`), { code: 0, out: versionLine(), err: '' })
  assert.equal((await onNode(`${major + 2}.0.0`)).code, 0)
})

function lowest(range: string): [number, number] {
  const found = /^>=\s*(\d+)(?:\.(\d+))?/.exec(range)
  assert.ok(found, `"${range}" is no lower bound`)
  return [Number(found[1]), Number(found[2] ?? 0)]
}

/** `windowpane --version` in a process that takes its Node for another one. */
async function onNode(version: string) {
  const claim = join(it.app, 'claim.cjs')
  const versions = `{ ...process.versions, node: '${version}' }`
  await writeFile(
    claim,
    `Object.defineProperty(process, 'versions', { value: ${versions} })
     Object.defineProperty(process, 'version', { value: 'v${version}' })`,
  )
  const command = join(it.home, it.manifest.bin.windowpane)
  return run(process.execPath, ['--require', claim, command, '--version'], { cwd: it.app })
}

const versionLine = () => `windowpane ${it.manifest.version}\n`

test('npx windowpane: version, help and check', async () => {
  const npx = (...args: string[]) => run('npx', ['--no-install', 'windowpane', ...args], { cwd: it.app })
  const version = await npx('--version')
  assert.deepEqual([version.code, version.out], [0, versionLine()])
  const help = await npx('--help')
  assert.equal(help.code, 0)
  assert.match(help.out, /^Usage: windowpane/)
  assert.deepEqual((await npx('check', 'http://127.0.0.1:9090')).out, 'ok\n')
  assert.equal((await npx('check', '--listen=nowhere', 'http://127.0.0.1:9090')).code, 2)
})

test('installed, it caches', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const proxy = await startInstalled(t, it, [upstream.url])
  const end = Date.UTC(2026, 0, 1)
  const path = rangePath({ start: end - 600_000, end })
  assert.equal(outcomeOf(await ask(proxy.url, path)), 'miss/absent')
  assert.equal(outcomeOf(await ask(proxy.url, path)), 'hit')
  assert.equal(upstream.seen.length, 1)
  assert.equal(await proxy.stop(), 0)
})

test('installed, it names the package of a durable store, and runs without', async (t) => {
  if (isInstalledAbove('lmdb')) return t.skip('a folder above the one for temporary files has lmdb')
  const upstream = await startScriptedUpstream(t)
  const flags = ['--stores.disk.url', `lmdb:${join(it.app, 'disk')}`]
  const proxy = await startInstalled(t, it, [upstream.url, '--backends.main.store=disk', ...flags])
  assert.equal(await proxy.stop(), 0)
  assert.match(proxy.err(), /npm install lmdb@\d/)
})

function isInstalledAbove(name: string): boolean {
  try {
    createRequire(join(it.home, 'package.json')).resolve(name)
    return true
  } catch {
    return false
  }
}

test('installed, the demo runs without a terminal', async () => {
  const command = join(it.app, 'node_modules/.bin/windowpane')
  const demo = await run(command, ['demo', '--seconds', '2', '--listen', '127.0.0.1:0'], { cwd: it.app })
  assert.deepEqual([demo.code, demo.err], [0, ''])
  assert.match(demo.out, /the viewers sent \d+ queries/)
  assert.ok(!demo.out.includes('\u001b'))
})

test('every subpath can be imported, and nothing else', async () => {
  const subpaths = subpathsOf(it)
  assert.ok(subpaths.includes('windowpane') && subpaths.includes('windowpane/backends/prometheus'))
  const program = `
    for (const name of ${JSON.stringify(subpaths)}) {
      if (Object.keys(await import(name)).length === 0) throw new Error(name + ' exports nothing')
    }
    for (const name of ['windowpane/dist/index.js', 'windowpane/stores/tile', 'windowpane/backends/backend']) {
      const code = await import(name).then(() => 'imported', (error) => error.code)
      if (!/^ERR_(PACKAGE_PATH_NOT_EXPORTED|MODULE_NOT_FOUND)$/.test(code)) throw new Error(name + ': ' + code)
    }`
  const ran = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: it.app })
  assert.deepEqual(ran, { code: 0, out: '', err: '' })
})

/** The entry for authors of stores and backends is named after them. */
const authorsEntry = (path: string): string => path.replace(/^(store|backend)s$/, '$1')

for (const resolution of ['nodenext', 'bundler']) {
  test(`a program in TypeScript can be compiled against it (${resolution})`, async () => {
    const subpaths = subpathsOf(it).map((name, i) => `import * as all${i} from '${name}'\nvoid all${i}\n`)
    const program = await readFile(join(import.meta.dirname, 'consumer.ts'), 'utf8')
    // Here it is checked against the sources; there against the published files.
    const there = program.replace(/'\.\.\/\.\.\/src\/(.*?)(?:\/?index)?\.ts'/g, (_, path: string) =>
      path === '' ? "'windowpane'" : `'windowpane/${authorsEntry(path)}'`,
    )
    await writeFile(join(it.app, 'consumer.ts'), subpaths.join('') + there)
    const module = resolution === 'bundler' ? 'esnext' : resolution
    await compile('consumer.ts', ['--module', module, '--moduleResolution', resolution])
  })
}

/** Fails with the output of the compiler. */
async function compile(file: string, how: readonly string[]): Promise<void> {
  const options = '--strict --noEmit --target es2024 --types node --skipLibCheck false --ignoreConfig'
  const tsc = join(root, 'node_modules/.bin/tsc')
  const ran = await run(tsc, [...options.split(' '), ...how, file], { cwd: it.app })
  assert.deepEqual([ran.code, ran.out], [0, ''])
}

test('the examples of docs/extend can be compiled against it and pass their own tests', async (t) => {
  const prometheus = await startFixture()
  const isScripted = isUnavailable(prometheus)
  if (!isScripted) t.after(() => prometheus.stop())
  const env = { PROMETHEUS_URL: isScripted ? (await startScriptedUpstream(t)).url : prometheus.url }
  const pages = it.files.map(({ path }) => path).filter((path) => path.startsWith('docs/extend/'))
  for (const name of ['backend', 'library', 'limiter', 'object-cache', 'store'])
    assert.ok(pages.includes(`docs/extend/${name}.md`), name)
  for (const page of pages) {
    const blocks = [...(await it.text(page)).matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((block) => block[1]!)
    const file = `${basename(page, '.md')}.test.ts`
    await writeFile(join(it.app, file), blocks.join(''))
    await compile(file, ['--module', 'nodenext'])
    const ran = await run(process.execPath, ['--test', '--test-reporter=spec', file], { cwd: it.app, env })
    assert.equal(ran.code, 0, ran.out + ran.err)
    assert.match(ran.out, /^ℹ pass [1-9]/m, page)
  }
})
