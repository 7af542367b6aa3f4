/**
 * A Druid that this machine can start: jars by Maven, and the classes that start it, compiled once. Both are in the
 * cache folder under names that change with their sources.
 */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { cacheFolder, exists, onceFolder } from '../cache.ts'
import { describeToolError, fingerprint, mavenJars } from '../maven.ts'

const run = promisify(execFile)

/** Also the lowest that Druid's own flags are known to fit. */
const LOWEST_JAVA = 17
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
    const { folder: jars, version } = await mavenJars('druid', join(import.meta.dirname, 'pom.xml'))
    return { jars, version, classes: await compile({ jars, java }) }
  } catch (error) {
    return { unavailable: describe(error) }
  }
}

/** Returns the release of the Java on the path, such as 17. */
async function javaVersion(): Promise<number | Unavailable> {
  try {
    // Every Java prints its version on standard error, the older ones as 1.8.
    const { stderr } = await run('java', ['-version'])
    const release = Number(/version "(\d+)/.exec(stderr)?.[1])
    if (release >= LOWEST_JAVA) return release
    return { unavailable: `Java ${release} is too old for Druid; ${HOW_TO_HAVE}` }
  } catch (error) {
    return { unavailable: describe(error) }
  }
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

const describe = (error: unknown): string => describeToolError(error, 'Druid', HOW_TO_HAVE)
