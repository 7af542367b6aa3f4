/** Cortex for tests. */
import type { Unavailable } from '../availability.ts'
import type { ServerLocation, ServerProcess } from '../process.ts'
import { commonConfiguration, startBlocksServer } from './blocks-server.ts'
import { cortex } from './programs.ts'

const ring = '{ kvstore: { store: inmemory } }'

const configuration = (place: ServerLocation, [grpc]: readonly number[]): string => `
auth_enabled: true
${commonConfiguration(place, grpc!)}
distributor: { shard_by_all_labels: true, ring: { kvstore: { store: inmemory }, instance_addr: 127.0.0.1 } }
ingester:
  lifecycler:
    address: 127.0.0.1
    min_ready_duration: 0s
    final_sleep: 0s
    ring: { kvstore: { store: inmemory }, replication_factor: 1 }
compactor: { data_dir: ${place.folder}/compactor, sharding_ring: ${ring} }
frontend_worker: { match_max_concurrent: true }
ruler: { rule_path: ${place.folder}/rule-path }
ruler_storage: { backend: local, local: { directory: ${place.folder}/rules } }
alertmanager: { external_url: http://127.0.0.1:${place.port}/alertmanager, data_dir: ${place.folder}/alertmanager }
alertmanager_storage: { backend: local, local: { path: ${place.folder}/alerts } }
`

export const startCortex = (): Promise<ServerProcess | Unavailable> =>
  startBlocksServer({
    ...{ name: 'cortex', program: cortex, ports: 1, configuration },
    flags: ['-api.build-info-enabled'],
    folders: ['alerts', 'rules', 'rule-path'],
  })
