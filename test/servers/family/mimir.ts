/** Mimir for tests: all components in one process, which keeps its blocks in a folder. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { buildProgram } from '../go.ts'
import { freePorts, type ServerLocation, type ServerProcess, startServer } from '../process.ts'
import { mimir } from './programs.ts'

const ring = '{ instance_addr: 127.0.0.1, kvstore: { store: inmemory } }'
const ringOfOne = '{ instance_addr: 127.0.0.1, kvstore: { store: inmemory }, replication_factor: 1 }'

const configuration = ({ folder, port }: ServerLocation, grpc: number, gossip: number): string => `
target: all
multitenancy_enabled: true
usage_stats: { enabled: false }
activity_tracker: { filepath: ${folder}/activity.log }
server:
  http_listen_address: 127.0.0.1
  http_listen_port: ${port}
  grpc_listen_address: 127.0.0.1
  grpc_listen_port: ${grpc}
  log_level: warn
memberlist: { bind_addr: [127.0.0.1], bind_port: ${gossip}, join_members: [] }
blocks_storage:
  backend: filesystem
  filesystem: { dir: ${folder}/blocks }
  tsdb: { dir: ${folder}/tsdb }
  bucket_store: { sync_dir: ${folder}/sync }
compactor: { data_dir: ${folder}/compactor, sharding_ring: ${ring} }
distributor: { ring: ${ring} }
ingester: { ring: { ${ringOfOne.slice(2, -2)}, min_ready_duration: 0s } }
store_gateway: { sharding_ring: ${ringOfOne} }
ruler: { rule_path: ${folder}/rule-path, ring: ${ring} }
ruler_storage: { backend: filesystem, filesystem: { dir: ${folder}/rules } }
alertmanager: { data_dir: ${folder}/alertmanager }
frontend: { address: 127.0.0.1 }
query_scheduler: { ring: ${ring} }
limits: { max_total_query_length: ${longestRangeHours}h, query_ingesters_within: 0s }
`

/** Parts of a longer range succeed where the whole fails. */
export const longestRangeHours = 24

/** Its Prometheus API is below `/prometheus`; samples are pushed to `/api/v1/push`, with a tenant. */
export async function startMimir(): Promise<ServerProcess | Unavailable> {
  const program = await buildProgram(mimir)
  if (isUnavailable(program)) return program
  return startServer({
    name: 'mimir',
    program: program.path,
    readyPath: '/ready',
    args: ({ folder }) => [`-config.file=${join(folder, 'mimir.yml')}`],
    async prepare(place) {
      const [grpc, gossip] = await freePorts(2)
      await writeFile(join(place.folder, 'mimir.yml'), configuration(place, grpc!, gossip!))
    },
  })
}
