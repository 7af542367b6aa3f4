/** Trickster 2.0.5, the best peer, with the settings that suit it best. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isUnavailable } from '../../test/servers/availability.ts'
import { buildProgram, type GoProgram } from '../../test/servers/go.ts'
import { type ServerProcess, startServer } from '../../test/servers/process.ts'

const release: GoProgram = {
  module: 'github.com/trickstercache/trickster/v2',
  version: 'v2.0.5',
  package: './cmd/trickster',
  release: '2.0.5',
}

/** Under this path it compresses; on its default route it does not. */
export const compressingRoute = '/prom1'

/** Its metrics and management listeners stand on the next two ports. */
const settings = (port: number, origin: string): string => `listeners:
  default: {address: 127.0.0.1, port: ${port}}
  metrics: {address: 127.0.0.1, port: ${port + 1}}
  mgmt: {address: 127.0.0.1, port: ${port + 2}}
caches:
  default: {provider: memory, memory: {max_size_bytes: 4294967296}}
backends:
  prom1:
    provider: prometheus
    origin_url: '${origin}'
    cache_name: default
    is_default: true
    max_object_size_bytes: 268435456
    timeseries_retention_factor: 100000
    fast_forward_disable: true
logging: {log_level: error}
`

export async function startTrickster(origin: string): Promise<ServerProcess> {
  const built = await buildProgram(release)
  if (isUnavailable(built)) throw new Error(built.unavailable)
  return startServer({
    name: 'trickster',
    program: built.path,
    args: ({ folder }) => ['-config', join(folder, 'trickster.yaml')],
    readyPath: '/trickster/ping',
    prepare: ({ folder, port }) => writeFile(join(folder, 'trickster.yaml'), settings(port, origin)),
  })
}
