/**
 * Druid for tests: all roles and ZooKeeper in one JVM, on free ports of loopback. It keeps nothing: the metadata are in
 * memory and the rest is in a folder that goes with it.
 */
import assert from 'node:assert/strict'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../wait.ts'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { freePorts } from '../ports.ts'
import { type ServerLocation, type ServerProcess, startServer } from '../process.ts'
import { ask } from './ask.ts'
import { type Installation, installDruid } from './install.ts'
import {
  type DruidRole,
  type Ports,
  type Properties,
  roleProperties,
  zookeeperProperties,
} from './properties.ts'

export interface DruidOptions {
  /** Druid's own proxy before the broker. */
  readonly router?: boolean
  /** Properties of every role, after the defaults. */
  readonly properties?: Properties
}

/** Where the parts of a Druid are: all that a test needs of a shared one. */
export interface DruidAddresses {
  readonly brokerUrl: string
  /** The broker's where there is no router. */
  readonly routerUrl: string
  /** The overlord answers here too. */
  readonly coordinatorUrl: string
  readonly version: string
}

/** Without restart(), which would give an empty one. */
export interface Druid extends DruidAddresses, Omit<ServerProcess, 'restart' | 'url' | 'port'> {}

export async function startDruid(options: DruidOptions = {}): Promise<Druid | Unavailable> {
  const installation = await installDruid()
  if (isUnavailable(installation)) return installation
  const roles = rolesOf(options)
  let ports: Ports | undefined
  const server = await startServer({
    name: 'druid',
    program: 'java',
    leash: true,
    readyPath: '/status/health',
    args: (place) => jvmArguments(installation, place, roles),
    async prepare(place) {
      ports = await choosePorts(place.port)
      await configure({ folder: place.folder, ports, roles }, options.properties ?? {})
    },
  })
  const druid = Object.assign(server, { version: installation.version, ...addresses(ports!, roles) })
  await dropOverwrittenAtOnce(druid)
  if (options.router) {
    await eventually(
      () => findsBroker(druid.routerUrl),
      (isFound) => isFound,
    )
  }
  return druid
}

/** The broker comes last: when it answers, all do. */
function rolesOf(options: DruidOptions): DruidRole[] {
  const router: DruidRole[] = options.router ? ['router'] : []
  return ['coordinator', 'historical', 'indexer', ...router, 'broker']
}

function jvmArguments(
  installation: Installation,
  { folder }: ServerLocation,
  roles: readonly DruidRole[],
): string[] {
  const { jars, classes } = installation
  return [
    ...JVM_FLAGS,
    ...folderFlags(folder),
    '-cp',
    classes,
    'OneJvm',
    folder,
    jars,
    classes,
    'zookeeper',
    ...roles,
  ]
}

const JVM_FLAGS = [
  '-Xms256m',
  '-Xmx1g',
  '-XX:MaxDirectMemorySize=512m',
  '-XX:+UseSerialGC',
  // It lives for minutes: the slow compiler's work would never pay.
  '-XX:TieredStopAtLevel=1',
  // One level alone gets 48 MB, which tens of thousands of queries fill.
  '-XX:ReservedCodeCacheSize=192m',
  // A fifth of its start is checking classes that thousands of others have checked.
  '-XX:+UnlockDiagnosticVMOptions',
  '-XX:-BytecodeVerificationRemote',
  '-XX:+ExitOnOutOfMemoryError',
  // A signal ends it at once: an orderly shutdown would only save data that is thrown away anyway.
  '-Xrs',
  '-Duser.timezone=UTC',
  '-Dfile.encoding=UTF-8',
  ...['java.base/jdk.internal.misc', 'java.base/jdk.internal.ref'].map(
    (name) => `--add-exports=${name}=ALL-UNNAMED`,
  ),
  ...[
    'java.base/java.nio',
    'java.base/sun.nio.ch',
    'java.base/jdk.internal.ref',
    'java.base/java.io',
    'java.base/java.lang',
    'jdk.management/com.sun.management.internal',
  ].map((name) => `--add-opens=${name}=ALL-UNNAMED`),
]

function folderFlags(folder: string): string[] {
  return [
    `-Djava.io.tmpdir=${join(folder, 'tmp')}`,
    `-Dderby.stream.error.file=${join(folder, 'derby.log')}`,
    `-Dderby.system.home=${folder}`,
  ]
}

async function choosePorts(broker: number): Promise<Ports> {
  const others = await freePorts(6)
  const [zookeeper, derby, coordinator, historical, indexer, router] = others as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  return { zookeeper, derby, coordinator, historical, indexer, router, broker }
}

interface Layout {
  readonly folder: string
  readonly ports: Ports
  readonly roles: readonly DruidRole[]
}

async function configure(layout: Layout, properties: Properties): Promise<void> {
  const { folder, roles } = layout
  await mkdir(join(folder, 'tmp'), { recursive: true })
  await copyFile(join(import.meta.dirname, 'log4j2.xml'), join(folder, 'log4j2.xml'))
  await writeFile(join(folder, 'zookeeper.properties'), zookeeperProperties(layout))
  for (const role of roles) {
    await writeFile(join(folder, `${role}.properties`), roleProperties(layout, role, properties))
  }
}

function addresses(ports: Ports, roles: readonly DruidRole[]): Omit<DruidAddresses, 'version'> {
  const url = (role: DruidRole) => `http://127.0.0.1:${ports[role]}`
  return {
    brokerUrl: url('broker'),
    routerUrl: url(roles.includes('router') ? 'router' : 'broker'),
    coordinatorUrl: url('coordinator'),
  }
}

/** By default overwritten segments stay until the coordinator has run for a quarter of an hour: a test would wait for that. */
async function dropOverwrittenAtOnce({ coordinatorUrl }: DruidAddresses): Promise<void> {
  const { status, text } = await ask(`${coordinatorUrl}/druid/coordinator/v1/config`, {
    millisToWaitBeforeDeleting: 0,
  })
  assert.equal(status, 200, text)
}

async function findsBroker(routerUrl: string): Promise<boolean> {
  const query = { queryType: 'dataSourceMetadata', dataSource: 'none' }
  const answer = await ask(`${routerUrl}/druid/v2`, query).catch(() => null)
  return answer?.status === 200
}
