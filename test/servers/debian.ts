/**
 * Programs from the packages of a newer Debian than the system's, without touching the system: a private apt state
 * fetches the .deb files, `dpkg -x` unpacks them into the cache folder. Signatures are checked with the system's own
 * keyring and the mirror is the system's own. Dependencies are not resolved: a program that needs more than libc names
 * the packages of its libraries.
 *
 * The suite moves, so no version is pinned; the found version is printed, and kept until the cache folder is removed.
 * Users of other systems name their own program: WINDOWPANE_PROMETHEUS_BIN, WINDOWPANE_PROMTOOL_BIN, and so on.
 */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isUnavailable, type Unavailable } from './availability.ts'
import { cacheFolder, exists, onceFolder } from './cache.ts'

const run = promisify(execFile)

const NEWER_SUITE = 'forky'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const FETCH_TIMEOUT_MS = 5 * 60_000

export interface Program {
  readonly path: string
  /** The package's version, or 'own' for a program named by the environment. */
  readonly version: string
  /** The folder of the libraries that were fetched with it, for LD_LIBRARY_PATH. */
  readonly libraryFolder?: string
}

export interface ProgramSource {
  /** The Debian package; also the source of the environment variable's name. */
  readonly package: string
  /** Where the program lies inside the package, when not usr/bin/PACKAGE. */
  readonly file?: string
  /** `own`: from the system's own release, for programs that need libraries of it. Otherwise the name of a release. */
  readonly suite?: 'own' | 'bookworm'
  /** Further packages that are unpacked next to it. */
  readonly libraries?: readonly string[]
}

/** Returns where the program is, fetching its package when this machine has not got it yet. */
export async function findProgram(source: ProgramSource): Promise<Program | Unavailable> {
  const variable = overrideVariable(source.package)
  const own = process.env[variable]
  if (own) {
    return (await exists(own))
      ? { path: own, version: 'own' }
      : { unavailable: `${variable}: no file ${own}` }
  }
  const suite = source.suite === 'own' ? await ownSuite() : (source.suite ?? NEWER_SUITE)
  const unpacked = await fetchPackage(source, suite)
  if (isUnavailable(unpacked)) {
    return { unavailable: `${unpacked.unavailable} (or name your own program by ${variable})` }
  }
  const path = join(unpacked.root, source.file ?? `usr/bin/${source.package}`)
  if (source.libraries === undefined) return { path, version: unpacked.version }
  return { path, version: unpacked.version, libraryFolder: await libraryFolderOf(unpacked.root) }
}

/** Debian keeps libraries in a folder that is named after the architecture. */
async function libraryFolderOf(root: string): Promise<string> {
  const folders = await readdir(join(root, 'usr/lib'))
  return join(root, 'usr/lib', folders.find((name) => name.endsWith('-linux-gnu')) ?? '')
}

function overrideVariable(packageName: string): string {
  return `WINDOWPANE_${packageName.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_BIN`
}

interface Unpacked {
  readonly root: string
  readonly version: string
}

/** The name of the system's release, as its own apt sources call it. */
async function ownSuite(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return /^VERSION_CODENAME=(\S+)/m.exec(release)?.[1] ?? NEWER_SUITE
}

async function fetchPackage(source: ProgramSource, suite: string): Promise<Unpacked | Unavailable> {
  const name = source.package
  const target = join(cacheFolder(), `debian-${suite}-${name}`)
  try {
    await onceFolder(target, (folder) => fetchInto(folder, source, suite))
  } catch (error) {
    return { unavailable: `package ${name} of Debian ${suite}: ${describe(error)}` }
  }
  return { root: join(target, 'root'), version: await readFile(join(target, 'version'), 'utf8') }
}

async function fetchInto(folder: string, source: ProgramSource, suite: string): Promise<void> {
  const name = source.package
  const apt = join(folder, 'apt')
  const environment = { ...process.env, APT_CONFIG: await privateAptState(apt, suite) }
  const options = { env: environment, cwd: join(apt, 'debs'), timeout: FETCH_TIMEOUT_MS }
  // Without this, an unreachable mirror is only a warning, and the message would be "unable to locate package".
  await run('apt-get', ['-qq', '-o', 'APT::Update::Error-Mode=any', 'update'], options)
  await run('apt-get', ['-qq', 'download', name, ...(source.libraries ?? [])], options)
  const debs = await readdir(join(apt, 'debs'))
  for (const deb of debs) await run('dpkg', ['-x', join(apt, 'debs', deb), join(folder, 'root')])
  const own = debs.find((deb) => deb.startsWith(`${name}_`))!
  const { stdout } = await run('dpkg-deb', ['-f', join(apt, 'debs', own), 'Version'])
  await writeFile(join(folder, 'version'), stdout.trim())
  await rm(apt, { recursive: true })
  process.stderr.write(`fetched ${name} ${stdout.trim()} of Debian ${suite}\n`)
}

/** Returns the path of an apt configuration whose lists, caches and status all lie in `folder`. */
async function privateAptState(folder: string, suite: string): Promise<string> {
  for (const part of ['lists/partial', 'cache/archives/partial', 'debs']) {
    await mkdir(join(folder, part), { recursive: true })
  }
  await writeFile(join(folder, 'status'), '')
  const source = `deb [signed-by=${KEYRING}] ${await systemMirror()} ${suite} main\n`
  await writeFile(join(folder, 'sources.list'), source)
  const settings = {
    'Dir::State': folder,
    'Dir::State::status': join(folder, 'status'),
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    // The sandbox user of apt may not enter the cache folder of a person.
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
  }
  const text = Object.entries(settings).map(([key, value]) => `${key} "${value}";\n`)
  await writeFile(join(folder, 'apt.conf'), text.join(''))
  return join(folder, 'apt.conf')
}

/** Returns the mirror of the system's own sources; files apt itself ignores (for example *.disabled) do not count. */
async function systemMirror(): Promise<string> {
  const folder = '/etc/apt/sources.list.d'
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => /\.(list|sources)$/.test(name)).map((name) => join(folder, name))
  const texts = ['/etc/apt/sources.list', ...files].map((file) => readFile(file, 'utf8').catch(() => ''))
  const lines = (await Promise.all(texts)).join('\n').split('\n')
  const uris = lines
    .filter((line) => /^(URIs:|deb )/.test(line))
    .flatMap((line) => line.match(/https?:\S+/g) ?? [])
  const mirror = uris.find((uri) => /\/debian\/?$/.test(uri))
  if (!mirror) throw new Error('the system names no Debian mirror in its apt sources')
  return mirror
}

function describe(error: unknown): string {
  const { code, path, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
  if (code === 'ENOENT' && (path === 'apt-get' || path === 'dpkg')) return `this system has no ${path}`
  return (stderr?.trim() || message).split('\n')[0]!
}
