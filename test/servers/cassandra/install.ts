/** A Cassandra that this machine can start: its jars by Maven, and the only JDK that it runs on. */
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { describeToolError, mavenJars } from '../maven.ts'

const run = promisify(execFile)

/** Later releases have no security manager, without which Cassandra 5.0 refuses to start. */
const JAVA = 17
const JVM_FOLDER = '/usr/lib/jvm'
const HOW_TO_HAVE =
  'install a JDK 17 and Maven (Debian 12: openjdk-17-jre-headless maven), or name the JDK by JAVA17_HOME'

export interface Installation {
  /** The folder of Cassandra's jars. */
  readonly jars: string
  /** The program of a Java 17. */
  readonly java: string
  readonly version: string
}

export async function installCassandra(): Promise<Installation | Unavailable> {
  const java = await findJava()
  if (isUnavailable(java)) return java
  try {
    const { folder, version } = await mavenJars('cassandra', join(import.meta.dirname, 'pom.xml'))
    return { jars: folder, java, version }
  } catch (error) {
    return { unavailable: describeToolError(error, 'Cassandra', HOW_TO_HAVE) }
  }
}

/** The one that the environment names, else the one on the path if it is a 17, else one that the system has beside it. */
async function findJava(): Promise<string | Unavailable> {
  const own = process.env['JAVA17_HOME']
  for (const java of own ? [join(own, 'bin', 'java')] : ['java', ...(await otherJavas())]) {
    if ((await releaseOf(java)) === JAVA) return java
  }
  return { unavailable: `Cassandra needs Java ${JAVA}, which this system has not; ${HOW_TO_HAVE}` }
}

async function otherJavas(): Promise<string[]> {
  const installed = await readdir(JVM_FOLDER).catch(() => [])
  return installed
    .filter((name) => name.includes(`${JAVA}`))
    .map((name) => join(JVM_FOLDER, name, 'bin', 'java'))
}

/** The release of a Java, such as 17; undefined where the program cannot be run. */
async function releaseOf(java: string): Promise<number | undefined> {
  try {
    const { stderr } = await run(java, ['-version'])
    return Number(/version "(\d+)/.exec(stderr)?.[1])
  } catch {
    return undefined
  }
}
