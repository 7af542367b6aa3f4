/** Cortex for tests: all components in one process, which keeps its blocks in a folder. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { buildProgram } from '../go.ts'
import { freePorts, type ServerLocation, type ServerProcess, startServer } from '../process.ts'
import { cortex } from './programs.ts'

const ring = '{ kvstore: { store: inmemory } }'

const configuration = ({ folder, port }: ServerLocation, grpc: number): string => `
auth_enabled: true
server:
  http_listen_address: 127.0.0.1
  http_listen_port: ${port}
  grpc_listen_address: 127.0.0.1
  grpc_listen_port: ${grpc}
  log_level: warn
distributor: { shard_by_all_labels: true, ring: { kvstore: { store: inmemory }, instance_addr: 127.0.0.1 } }
ingester:
  lifecycler:
    address: 127.0.0.1
    min_ready_duration: 0s
    final_sleep: 0s
    ring: { kvstore: { store: inmemory }, replication_factor: 1 }
blocks_storage:
  backend: filesystem
  filesystem: { dir: ${folder}/blocks }
  tsdb: { dir: ${folder}/tsdb }
  bucket_store: { sync_dir: ${folder}/sync }
compactor: { data_dir: ${folder}/compactor, sharding_ring: ${ring} }
frontend_worker: { match_max_concurrent: true }
ruler: { rule_path: ${folder}/rule-path }
ruler_storage: { backend: local, local: { directory: ${folder}/rules } }
alertmanager: { external_url: http://127.0.0.1:${port}/alertmanager, data_dir: ${folder}/alertmanager }
alertmanager_storage: { backend: local, local: { path: ${folder}/alerts } }
`

/** Its Prometheus API is below `/prometheus`; samples are pushed to `/api/v1/push`, with a tenant. */
export async function startCortex(): Promise<ServerProcess | Unavailable> {
  const program = await buildProgram(cortex)
  if (isUnavailable(program)) return program
  return startServer({
    name: 'cortex',
    program: program.path,
    readyPath: '/ready',
    args: ({ folder }) => [`-config.file=${join(folder, 'cortex.yml')}`, '-api.build-info-enabled'],
    async prepare(place) {
      for (const name of ['alerts', 'rules', 'rule-path'])
        await mkdir(join(place.folder, name), { recursive: true })
      const [grpc] = await freePorts(1)
      await writeFile(join(place.folder, 'cortex.yml'), configuration(place, grpc!))
    },
  })
}
