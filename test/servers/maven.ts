/**
 * Jars of a server, resolved by Maven into the cache folder. The folder's name changes with the POM, so that another
 * version is fetched anew and both can be used side by side.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder, onceFolder } from './cache.ts'

const run = promisify(execFile)
const FETCH_TIMEOUT_MS = 8 * 60_000

export interface Jars {
  readonly folder: string
  /** The value of the property `<name>.version` of the POM. */
  readonly version: string
}

/** Returns the jars that a POM names. @throws where Maven is missing or fails; `describeToolError` has the reason. */
export async function mavenJars(name: string, pomFile: string): Promise<Jars> {
  const pom = await readFile(pomFile, 'utf8')
  const version = new RegExp(`<${name}.version>(.*)</${name}.version>`).exec(pom)![1]!
  const target = join(cacheFolder(), `${name}-${version}-jars-${fingerprint(pom)}`)
  const folder = await onceFolder(target, (empty) => resolveJars(name, pomFile, { empty, target }))
  return { folder, version }
}

/**
 * Maven's repository stands beside the folder until the jars are complete: a fetch that failed half-way goes on from
 * there, and afterwards nothing lies on the disk twice.
 */
async function resolveJars(
  name: string,
  pomFile: string,
  { empty, target }: { readonly empty: string; readonly target: string },
): Promise<void> {
  const repository = `${target}.repository`
  await mkdir(repository, { recursive: true })
  process.stderr.write(`fetching the jars of ${name}: this takes minutes\n`)
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${empty}`]
  await run('mvn', ['-B', '-q', '-f', pomFile, `-Dmaven.repo.local=${repository}`, ...goal], {
    timeout: FETCH_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  await rm(repository, { recursive: true })
}

export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Why a JDK tool or Maven failed, in one line; `remedy` is appended where the program itself is missing. */
export function describeToolError(error: unknown, server: string, remedy: string): string {
  const { code, path, stderr, stdout, message } = error as NodeJS.ErrnoException & {
    stderr?: string
    stdout?: string
  }
  if (code === 'ENOENT' && path !== undefined)
    return `${server} needs ${path}, which this system has not; ${remedy}`
  // Maven complains on standard output; Java speaks of its environment before it complains.
  const lines = `${stderr ?? ''}\n${stdout ?? ''}\n${message}`.split('\n')
  return lines.find((line) => line.trim() !== '' && !line.startsWith('Picked up '))!.trim()
}
