/** What Mimir and Cortex have in common: all components in one process, which keeps its blocks in a folder. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { buildProgram, type GoProgram } from '../go.ts'
import { freePorts } from '../ports.ts'
import { type ServerLocation, type ServerProcess, startServer } from '../process.ts'

export interface BlocksServer {
  readonly name: string
  readonly program: GoProgram
  /** How many ports it needs besides its HTTP port. */
  readonly ports: number
  readonly configuration: (place: ServerLocation, ports: readonly number[]) => string
  readonly flags?: readonly string[]
  /** Folders that it does not make itself. */
  readonly folders?: readonly string[]
}

/** The part of a configuration that is the same in all of them. */
export const commonConfiguration = ({ folder, port }: ServerLocation, grpc: number): string => `
server:
  http_listen_address: 127.0.0.1
  http_listen_port: ${port}
  grpc_listen_address: 127.0.0.1
  grpc_listen_port: ${grpc}
  log_level: warn
blocks_storage:
  backend: filesystem
  filesystem: { dir: ${folder}/blocks }
  tsdb: { dir: ${folder}/tsdb }
  bucket_store: { sync_dir: ${folder}/sync }
`

/** Its Prometheus API is below `/prometheus`; samples are pushed to `/api/v1/push`, with a tenant. */
export async function startBlocksServer(server: BlocksServer): Promise<ServerProcess | Unavailable> {
  const { name, ports, configuration, flags = [], folders = [] } = server
  const program = await buildProgram(server.program)
  if (isUnavailable(program)) return program
  return startServer({
    name,
    program: program.path,
    readyPath: '/ready',
    args: ({ folder }) => [`-config.file=${join(folder, `${name}.yml`)}`, ...flags],
    async prepare(place) {
      for (const each of folders) await mkdir(join(place.folder, each), { recursive: true })
      await writeFile(join(place.folder, `${name}.yml`), configuration(place, await freePorts(ports)))
    },
  })
}
