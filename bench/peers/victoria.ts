/** VictoriaMetrics with its own cache of query results, filled with the same samples as Prometheus. */
import { isUnavailable } from '../../test/servers/availability.ts'
import { findProgram } from '../../test/servers/debian.ts'
import { type ServerProcess, startServer } from '../../test/servers/process.ts'

export async function startVictoria(): Promise<ServerProcess> {
  const program = await findProgram({ package: 'victoria-metrics' })
  if (isUnavailable(program)) throw new Error(program.unavailable)
  return startServer({
    name: 'victoria',
    program: program.path,
    args: ({ folder, port }) => [
      `-storageDataPath=${folder}/data`,
      `-httpListenAddr=127.0.0.1:${port}`,
      '-retentionPeriod=100y',
      // Samples that were just written are hidden otherwise.
      '-search.latencyOffset=0s',
      '-loggerLevel=ERROR',
    ],
    readyPath: '/health',
  })
}
