/** Cassandra for tests: one node on free ports of loopback, in a folder that goes with it. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { freePorts } from '../ports.ts'
import { type ServerProcess, startServer } from '../process.ts'
import { type Installation, installCassandra } from './install.ts'
import {
  jvmFlags,
  type Layout,
  logback,
  moduleFlags,
  type Ports,
  serverProperties,
  yamlOf,
} from './settings.ts'

const run = promisify(execFile)

export interface CassandraOptions {
  /** Lines of cassandra.yaml. */
  readonly settings?: readonly string[]
  /** For measurements: the slow compiler's work does not pay in a test, and doubles the CPU time of the start. */
  readonly optimised?: boolean
}

/** Where it listens: all that a test needs of a shared one. */
export interface CassandraAddress {
  /** host:port of the native protocol. */
  readonly contact: string
  readonly dataCenter: string
  readonly version: string
}

export interface Cassandra extends CassandraAddress, Omit<ServerProcess, 'url'> {
  /** Runs a command of nodetool and returns its output. */
  nodetool(...command: readonly string[]): Promise<string>
}

export async function startCassandra(options: CassandraOptions = {}): Promise<Cassandra | Unavailable> {
  const installation = await installCassandra()
  if (isUnavailable(installation)) return installation
  let ports: Ports | undefined
  const layoutOf = (folder: string): Layout => ({ folder, ports: ports!, settings: options.settings ?? [] })
  const server = await startServer({
    name: 'cassandra',
    program: installation.java,
    args: ({ folder }) => serverArguments(installation, layoutOf(folder), options),
    async prepare({ folder, port }) {
      const [storage, jmx] = await freePorts(2)
      ports = { cql: port, storage: storage!, jmx: jmx! }
      await writeFile(join(folder, 'cassandra.yaml'), yamlOf(layoutOf(folder)))
      await writeFile(join(folder, 'logback.xml'), logback)
    },
  })
  const { version } = installation
  const { stop } = server
  let isStopped = false
  return Object.assign(server, {
    contact: `127.0.0.1:${server.port}`,
    dataCenter: 'datacenter1',
    version,
    /** Its orderly end writes everything to disk, which takes seconds, and the folder goes anyway. */
    async stop() {
      if (!isStopped) process.kill(server.pid, 'SIGKILL')
      isStopped = true
      await stop()
    },
    nodetool: (...command: readonly string[]) => nodetool(installation, layoutOf(server.folder), command),
  })
}

function serverArguments(
  { jars }: Installation,
  layout: Layout,
  { optimised = false }: CassandraOptions,
): string[] {
  return [
    ...jvmFlags,
    ...(optimised ? [] : ['-XX:TieredStopAtLevel=1']),
    ...moduleFlags,
    ...serverProperties(layout),
    '-cp',
    join(jars, '*'),
    'org.apache.cassandra.service.CassandraDaemon',
  ]
}

async function nodetool(
  { jars, java }: Installation,
  layout: Layout,
  command: readonly string[],
): Promise<string> {
  const place = ['-p', String(layout.ports.jmx)]
  const properties = serverProperties(layout).filter((flag) => !flag.includes('jmx'))
  const jvm = ['-XX:TieredStopAtLevel=1', '-Xmx64m', ...moduleFlags, ...properties]
  const tool = ['-cp', join(jars, '*'), 'org.apache.cassandra.tools.NodeTool']
  const { stdout } = await run(java, [...jvm, ...tool, ...place, ...command], { maxBuffer: 16 * 1024 * 1024 })
  return stdout
}
