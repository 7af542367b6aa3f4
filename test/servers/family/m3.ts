/** M3 for tests: database, coordinator and etcd in one process. Its ports are fixed: one at a time on a machine. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { systemClock } from '../../../src/core/clock.ts'
import { eventually } from '../../wait.ts'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { buildProgram } from '../go.ts'
import { type ServerProcess, startServer } from '../process.ts'
import { m3 } from './programs.ts'

const coordinator = 'http://127.0.0.1:7201'

const configuration = (folder: string): string => `
coordinator:
  listenAddress: 127.0.0.1:7201
db:
  filesystem:
    filePathPrefix: ${folder}/m3
  discovery:
    type: m3db_single_node
    m3dbCluster:
      env: default_env
`

export interface M3 extends Pick<ServerProcess, 'stop' | 'log'> {
  readonly url: string
}

/** It takes samples of the last ten minutes and the next two. */
export async function startM3(): Promise<M3 | Unavailable> {
  const program = await buildProgram(m3)
  if (isUnavailable(program)) return program
  const server = await startServer({
    name: 'm3',
    program: program.path,
    args: ({ folder }) => ['-f', join(folder, 'm3.yml')],
    prepare: ({ folder }) => writeFile(join(folder, 'm3.yml'), configuration(folder)),
    isReady: () =>
      accepts('/api/v1/database/create', { type: 'local', namespaceName: 'default', retentionTime: '12h' }),
  })
  const isTrue = (reply: boolean) => reply
  await eventually(() => accepts('/api/v1/services/m3db/namespace/ready', { name: 'default' }), isTrue)
  await eventually(() => accepts('/api/v1/json/write', probe()), isTrue)
  return { url: coordinator, stop: () => server.stop(), log: () => server.log() }
}

/** It is up long before it takes samples. */
const probe = () => ({
  tags: { __name__: 'probe' },
  timestamp: String(Math.floor(systemClock.now() / 1000)),
  value: 1,
})

async function accepts(path: string, value: unknown): Promise<boolean> {
  try {
    const response = await request(`${coordinator}${path}`, { method: 'POST', body: JSON.stringify(value) })
    await response.body.dump()
    return response.statusCode < 300
  } catch {
    return false
  }
}
