/**
 * The properties of each role of a Druid for tests. Everything is small, on loopback, in one folder, and in a hurry:
 * new segments are served within a second or two. Druid's own caches are off: with them the same data has several
 * texts. Queries can switch on the caches of the broker.
 */
import { join } from 'node:path'

export interface Ports {
  readonly zookeeper: number
  readonly derby: number
  readonly coordinator: number
  readonly historical: number
  readonly indexer: number
  readonly router: number
  readonly broker: number
}

export type DruidRole = 'coordinator' | 'historical' | 'indexer' | 'router' | 'broker'

export type Properties = Readonly<Record<string, string>>

export interface DruidPlace {
  readonly folder: string
  readonly ports: Ports
}

/** Returns the text of the properties file of a role; `own` comes last, so that it wins. */
export function roleProperties(place: DruidPlace, role: DruidRole, own: Properties): string {
  return propertiesText({
    ...common(place),
    'druid.service': `druid/${role}`,
    'druid.plaintextPort': String(place.ports[role]),
    ...ofRole[role](place),
    ...own,
  })
}

export function zookeeperProperties(place: DruidPlace): string {
  return propertiesText({ port: String(place.ports.zookeeper), folder: join(place.folder, 'zookeeper') })
}

function common({ folder, ports }: DruidPlace): Properties {
  return {
    'druid.host': '127.0.0.1',
    // Otherwise it listens on every address of the machine.
    'druid.bindOnHost': 'true',
    'druid.extensions.loadList': '[]',
    'druid.zk.service.host': `127.0.0.1:${ports.zookeeper}`,
    'druid.zk.paths.base': '/druid',
    'druid.metadata.storage.type': 'derby',
    'druid.metadata.storage.connector.connectURI': `jdbc:derby://127.0.0.1:${ports.derby}/memory:druid;create=true`,
    'druid.metadata.storage.connector.host': '127.0.0.1',
    'druid.metadata.storage.connector.port': String(ports.derby),
    'druid.storage.type': 'local',
    'druid.storage.storageDirectory': join(folder, 'deep'),
    'druid.indexer.logs.type': 'file',
    'druid.indexer.logs.directory': join(folder, 'task-logs'),
    'druid.indexer.task.baseDir': join(folder, 'tasks'),
    'druid.processing.tmpDir': join(folder, 'tmp'),
    'druid.processing.numThreads': '2',
    'druid.processing.numMergeBuffers': '2',
    'druid.processing.buffer.sizeBytes': '10MiB',
    'druid.server.http.numThreads': '20',
    'druid.global.http.numConnections': '20',
    'druid.broker.http.numConnections': '10',
    'druid.cache.type': 'caffeine',
    'druid.cache.sizeInBytes': '20000000',
    'druid.emitter': 'noop',
    'druid.startup.logging.logProperties': 'false',
    'druid.lookup.enableLookupSyncOnStartup': 'false',
    'druid.selectors.indexing.serviceName': 'druid/overlord',
    'druid.selectors.coordinator.serviceName': 'druid/coordinator',
  }
}

const ofRole: Record<DruidRole, (place: DruidPlace) => Properties> = {
  coordinator: () => ({
    'druid.coordinator.asOverlord.enabled': 'true',
    'druid.coordinator.asOverlord.overlordService': 'druid/overlord',
    'druid.coordinator.startDelay': 'PT0.1S',
    'druid.coordinator.period': 'PT0.5S',
    'druid.manager.segments.pollDuration': 'PT0.5S',
    'druid.indexer.queue.startDelay': 'PT0S',
    'druid.indexer.queue.restartDelay': 'PT0S',
    'druid.indexer.runner.type': 'httpRemote',
    'druid.indexer.storage.type': 'metadata',
  }),
  historical: ({ folder }) => ({
    'druid.segmentCache.locations': JSON.stringify([{ path: join(folder, 'segments'), maxSize: '2g' }]),
    'druid.historical.cache.useCache': 'false',
    'druid.historical.cache.populateCache': 'false',
  }),
  indexer: () => ({ 'druid.worker.capacity': '4' }),
  router: () => ({
    'druid.router.managementProxy.enabled': 'true',
    'druid.router.defaultBrokerServiceName': 'druid/broker',
  }),
  broker: () => ({
    'druid.sql.planner.metadataRefreshPeriod': 'PT0.1S',
    'druid.sql.planner.metadataSegmentPollPeriod': '100',
    // Waiting for segments takes 5 s where there are none; ingest() waits for its own.
    'druid.sql.planner.awaitInitializationOnStart': 'false',
    'druid.broker.segment.awaitInitializationOnStart': 'false',
    ...switchable('useCache'),
    ...switchable('populateCache'),
    ...switchable('useResultLevelCache'),
    ...switchable('populateResultLevelCache'),
  }),
}

/** A cache of the broker that is off, unless a query switches it on in its context. */
const switchable = (name: string): Properties => ({
  [`druid.broker.cache.${name}`]: 'true',
  [`druid.query.default.context.${name}`]: 'false',
})

/** A backslash would begin an escape; keys here have none of the characters that need one. */
function propertiesText(properties: Properties): string {
  const lines = Object.entries(properties).map(([key, value]) => `${key}=${value.replaceAll('\\', '\\\\')}\n`)
  return lines.join('')
}
