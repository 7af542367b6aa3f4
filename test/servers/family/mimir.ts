/** Mimir for tests. */
import type { Unavailable } from '../availability.ts'
import type { ServerLocation, ServerProcess } from '../process.ts'
import { commonConfiguration, startBlocksServer } from './blocks-server.ts'
import { mimir } from './programs.ts'

const ring = '{ instance_addr: 127.0.0.1, kvstore: { store: inmemory } }'
const ringOfOne = '{ instance_addr: 127.0.0.1, kvstore: { store: inmemory }, replication_factor: 1 }'

const configuration = (place: ServerLocation, [grpc, gossip]: readonly number[]): string => `
target: all
multitenancy_enabled: true
usage_stats: { enabled: false }
activity_tracker: { filepath: ${place.folder}/activity.log }
${commonConfiguration(place, grpc!)}
memberlist: { bind_addr: [127.0.0.1], bind_port: ${gossip}, join_members: [] }
compactor: { data_dir: ${place.folder}/compactor, sharding_ring: ${ring} }
distributor: { ring: ${ring} }
ingester: { ring: { ${ringOfOne.slice(2, -2)}, min_ready_duration: 0s } }
store_gateway: { sharding_ring: ${ringOfOne} }
ruler: { rule_path: ${place.folder}/rule-path, ring: ${ring} }
ruler_storage: { backend: filesystem, filesystem: { dir: ${place.folder}/rules } }
alertmanager: { data_dir: ${place.folder}/alertmanager }
frontend: { address: 127.0.0.1 }
query_scheduler: { ring: ${ring} }
limits: { max_total_query_length: ${longestRangeHours}h, query_ingesters_within: 0s }
`

/** Parts of a longer range succeed where the whole fails. */
export const longestRangeHours = 24

export const startMimir = (): Promise<ServerProcess | Unavailable> =>
  startBlocksServer({ name: 'mimir', program: mimir, ports: 2, configuration })
