/**
 * A Druid that this machine can start: jars by Maven, and the classes that start it, compiled once. Both lie in the
 * cache folder under names that change with what they were made from.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { cacheFolder, exists, onceFolder } from '../cache.ts'

const run = promisify(execFile)

/** Also the lowest that Druid's own flags are known to fit. */
const LOWEST_JAVA = 17
const FETCH_TIMEOUT_MS = 8 * 60_000
const HOW_TO_HAVE = 'install a JDK 17 or later and Maven (Debian: default-jdk-headless maven)'

export interface Installation {
  /** The folder of Druid's jars. */
  readonly jars: string
  /** The folder of the classes that start it. */
  readonly classes: string
  readonly version: string
}

export async function installDruid(): Promise<Installation | Unavailable> {
  const java = await javaVersion()
  if (isUnavailable(java)) return java
  try {
    const pom = await readFile(join(import.meta.dirname, 'pom.xml'), 'utf8')
    const version = /<druid.version>(.*)<\/druid.version>/.exec(pom)![1]!
    const jars = join(cacheFolder(), `druid-${version}-jars-${fingerprint(pom)}`)
    await onceFolder(jars, (folder) => resolveJars(folder, jars))
    return { jars, version, classes: await compile({ jars, java }) }
  } catch (error) {
    return { unavailable: describe(error) }
  }
}

/** Returns the release of the Java on the path, such as 17. */
async function javaVersion(): Promise<number | Unavailable> {
  try {
    // Every Java says its version on standard error, the older ones as 1.8.
    const { stderr } = await run('java', ['-version'])
    const release = Number(/version "(\d+)/.exec(stderr)?.[1])
    if (release >= LOWEST_JAVA) return release
    return { unavailable: `Java ${release} is too old for Druid; ${HOW_TO_HAVE}` }
  } catch (error) {
    return { unavailable: describe(error) }
  }
}

/**
 * Maven's repository stands beside the folder until the jars are complete: a fetch that failed half-way goes on from
 * there, and afterwards nothing lies on the disk twice.
 */
async function resolveJars(folder: string, target: string): Promise<void> {
  const repository = `${target}.repository`
  await mkdir(repository, { recursive: true })
  process.stderr.write('fetching the jars of Druid: this takes minutes\n')
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${folder}`]
  const pom = join(import.meta.dirname, 'pom.xml')
  await run('mvn', ['-B', '-q', '-f', pom, `-Dmaven.repo.local=${repository}`, ...goal], {
    timeout: FETCH_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
  await rm(repository, { recursive: true })
}

async function compile(from: { readonly jars: string; readonly java: number }): Promise<string> {
  const sources = await javaSources()
  const texts = await Promise.all(sources.map((source) => readFile(source, 'utf8')))
  const classes = join(cacheFolder(), `druid-classes-${fingerprint(`${from.java}${from.jars}${texts}`)}`)
  if (await exists(classes)) return classes
  return onceFolder(classes, async (folder) => {
    await run('javac', ['-nowarn', '-cp', join(from.jars, '*'), '-d', folder, ...sources])
  })
}

async function javaSources(): Promise<string[]> {
  const folder = join(import.meta.dirname, 'java')
  return (await readdir(folder)).sort().map((name) => join(folder, name))
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

function describe(error: unknown): string {
  const { code, path, stderr, stdout, message } = error as NodeJS.ErrnoException & {
    stderr?: string
    stdout?: string
  }
  if (code === 'ENOENT' && path !== undefined)
    return `Druid needs ${path}, which this system has not; ${HOW_TO_HAVE}`
  // Maven complains on standard output; Java speaks of its environment before it complains.
  const lines = `${stderr ?? ''}\n${stdout ?? ''}\n${message}`.split('\n')
  return lines.find((line) => line.trim() !== '' && !line.startsWith('Picked up '))!.trim()
}
