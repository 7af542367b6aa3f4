/** Thanos for tests: a sidecar beside a Prometheus, and queriers in front of it. */
import { join } from 'node:path'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { buildProgram } from '../go.ts'
import { freePort } from '../ports.ts'
import { type ServerProcess, startServer } from '../process.ts'
import { type Prometheus, startPrometheus } from '../prometheus.ts'
import { thanos } from './programs.ts'

export interface Thanos {
  readonly prometheus: Prometheus
  readonly sidecar: ServerProcess
  /** Starts a querier with these flags besides. */
  query(...flags: string[]): Promise<ServerProcess>
  stop(): Promise<void>
}

/** Compaction must be off beside a sidecar. */
const oneBlockSize = ['--storage.tsdb.min-block-duration=2h', '--storage.tsdb.max-block-duration=2h']

export async function startThanos(): Promise<Thanos | Unavailable> {
  const program = await buildProgram(thanos)
  if (isUnavailable(program)) return program
  const extraConfig = 'global: { external_labels: { cluster: one, replica: a } }'
  const prometheus = await startPrometheus({ extraConfig, extraFlags: oneBlockSize })
  if (isUnavailable(prometheus)) return prometheus
  const grpc = await freePort()
  const store = `127.0.0.1:${grpc}`
  const started: { stop(): Promise<void> }[] = [prometheus]
  const start = async (name: string, args: readonly string[]) => {
    const server = await startServer({
      name: `thanos-${name}`,
      program: program.path,
      readyPath: '/-/ready',
      args: ({ port }) => [name, `--http-address=127.0.0.1:${port}`, '--log.level=warn', ...args],
    })
    started.unshift(server)
    return server
  }
  const data = join(prometheus.folder, 'data')
  const sidecar = await start('sidecar', [
    ...[`--grpc-address=${store}`, `--prometheus.url=${prometheus.url}`, `--tsdb.path=${data}`],
  ])
  return {
    prometheus,
    sidecar,
    async query(...flags) {
      const own = await freePort()
      return start('query', [`--grpc-address=127.0.0.1:${own}`, `--endpoint=${store}`, ...flags])
    },
    async stop() {
      for (const server of started) await server.stop()
    },
  }
}
