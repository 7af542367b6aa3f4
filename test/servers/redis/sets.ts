/** Several Valkeys as one service: a primary with a replica that a sentinel watches, and a cluster of three. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../wait.ts'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { freePort } from '../ports.ts'
import { type RedisServer, startRedis } from './redis.ts'

export interface SentinelSet {
  readonly version: string
  readonly primary: RedisServer
  readonly replica: RedisServer
  readonly sentinel: RedisServer
  /** The name by which sentinels know the primary. */
  readonly name: string
  stop(): Promise<void>
}

/** A primary counts as down after this long without an answer. */
const DOWN_AFTER_MS = 1000

export async function startSentinelSet(): Promise<SentinelSet | Unavailable> {
  const primary = await startRedis('valkey')
  if (isUnavailable(primary)) return primary
  const replicaOf = ['--replicaof', '127.0.0.1', String(primary.port), '--repl-diskless-sync-delay', '0']
  const replica = (await startRedis('valkey', { options: replicaOf })) as RedisServer
  await eventually(() => replica.command('INFO', 'replication'), has('master_link_status:up'))
  const sentinel = await startSentinel(primary.port)
  await eventually(() => sentinel.command('INFO', 'sentinel'), has('slaves=1'))
  const servers = [sentinel, replica, primary]
  return { version: primary.version, primary, replica, sentinel, name: 'main', stop: () => stopAll(servers) }
}

async function startSentinel(primaryPort: number): Promise<RedisServer> {
  const settings = [
    `sentinel monitor main 127.0.0.1 ${primaryPort} 1`,
    `sentinel down-after-milliseconds main ${DOWN_AFTER_MS}`,
    'sentinel failover-timeout main 3000',
  ]
  const file = (folder: string) => join(folder, 'sentinel.conf')
  const started = await startRedis('valkey', {
    prepare: ({ folder }) => writeFile(file(folder), settings.join('\n')),
    file: ({ folder }) => [file(folder), '--sentinel'],
  })
  return started as RedisServer
}

export interface RedisCluster {
  readonly version: string
  readonly nodes: readonly RedisServer[]
  stop(): Promise<void>
}

const SLOTS = 16_384
const NODES = 3

export async function startRedisCluster(): Promise<RedisCluster | Unavailable> {
  const first = await startClusterNode()
  if (isUnavailable(first)) return first
  const nodes = [
    first,
    ...(await Promise.all(Array.from({ length: NODES - 1 }, startClusterNode))),
  ] as ClusterNode[]
  for (const [i, node] of nodes.entries()) {
    const bound = (of: number) => Math.floor((of * SLOTS) / NODES)
    await node.command('CLUSTER', 'ADDSLOTSRANGE', bound(i), bound(i + 1) - 1)
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
  }
  for (const node of nodes.slice(1))
    await first.command('CLUSTER', 'MEET', '127.0.0.1', node.port, node.busPort())
  for (const node of nodes) {
    await eventually(() => node.command('CLUSTER', 'INFO'), has(`cluster_known_nodes:${NODES}`))
    await eventually(() => node.command('CLUSTER', 'INFO'), has('cluster_state:ok'))
  }
  return { version: first.version, nodes, stop: () => stopAll(nodes) }
}

type ClusterNode = RedisServer & { busPort(): number }

/** The port for other nodes is a free one too: the usual one, 10 000 above, may be taken or too large. */
async function startClusterNode(): Promise<ClusterNode | Unavailable> {
  let bus = 0
  const server = await startRedis('valkey', {
    async prepare() {
      bus = await freePort()
    },
    options: () => [
      ...['--cluster-enabled', 'yes', '--cluster-port', String(bus)],
      '--cluster-node-timeout',
      '5000',
    ],
  })
  return isUnavailable(server) ? server : Object.assign(server, { busPort: () => bus })
}

const has =
  (part: string) =>
  (reply: unknown): boolean =>
    String(reply).includes(part)

async function stopAll(servers: readonly RedisServer[]): Promise<void> {
  for (const server of servers) await server.stop()
}
