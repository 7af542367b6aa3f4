/** The configuration of a Cassandra for tests: one node on loopback, small memory, no waiting for a ring that is not there. */

export interface Ports {
  readonly cql: number
  readonly storage: number
  /** For nodetool. */
  readonly jmx: number
}

export interface Layout {
  readonly folder: string
  readonly ports: Ports
  /** Settings of the server after the rest, such as `batch_size_fail_threshold: 5MiB`. */
  readonly settings?: readonly string[]
}

/** The fixed token, and itself as the seed, spare it the allocation of tokens. */
export const yamlOf = ({ folder, ports, settings = [] }: Layout): string => `cluster_name: test
num_tokens: 1
initial_token: 0
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{ seeds: "127.0.0.1:${ports.storage}" }]
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
native_transport_port: ${ports.cql}
storage_port: ${ports.storage}
start_native_transport: true
authenticator: AllowAllAuthenticator
authorizer: AllowAllAuthorizer
data_file_directories: [${folder}/data]
commitlog_directory: ${folder}/commitlog
saved_caches_directory: ${folder}/saved_caches
hints_directory: ${folder}/hints
cdc_raw_directory: ${folder}/cdc_raw
commitlog_sync: periodic
commitlog_sync_period: 10000ms
commitlog_segment_size: 32MiB
commitlog_total_space: 128MiB
hinted_handoff_enabled: false
disk_failure_policy: stop
commit_failure_policy: stop
key_cache_size: 8MiB
row_cache_size: 0MiB
counter_cache_size: 0MiB
file_cache_enabled: false
concurrent_reads: 8
concurrent_writes: 8
concurrent_counter_writes: 4
concurrent_compactors: 1
memtable_heap_space: 64MiB
memtable_offheap_space: 64MiB
memtable_allocation_type: heap_buffers
memtable:
  configurations:
    skiplist: { class_name: SkipListMemtable }
    trie: { class_name: TrieMemtable }
    default: { inherits: trie }
sstable: { selected_format: bti }
auto_snapshot: false
auto_bootstrap: false
incremental_backups: false
materialized_views_enabled: false
# Without it, version 5 behaves as an upgraded 4 does.
storage_compatibility_mode: NONE
${settings.map((line) => `${line}\n`).join('')}`

export const logback = `<configuration scan="false">
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{HH:mm:ss.SSS} %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="STDOUT"/></root>
</configuration>
`

const exported = [
  ...['misc', 'ref'].map((name) => `java.base/jdk.internal.${name}`),
  'java.base/java.lang.ref',
  'java.base/java.lang.reflect',
  'java.base/sun.nio.ch',
  'java.management.rmi/com.sun.jmx.remote.internal.rmi',
  ...['registry', 'server', 'transport.tcp'].map((name) => `java.rmi/sun.rmi.${name}`),
  'java.sql/java.sql',
  'jdk.unsupported/sun.misc',
  'jdk.attach/sun.tools.attach',
]

const opened = [
  ...['io', 'lang', 'lang.module', 'lang.reflect', 'net', 'nio'].map((name) => `java.base/java.${name}`),
  ...['util', 'util.concurrent', 'util.concurrent.atomic'].map((name) => `java.base/java.${name}`),
  ...['loader', 'math', 'misc', 'module', 'ref', 'reflect', 'util.jar'].map(
    (name) => `java.base/jdk.internal.${name}`,
  ),
  'java.base/sun.nio.ch',
  'jdk.management.jfr/jdk.management.jfr',
  'jdk.management/com.sun.management.internal',
]

/** The server and nodetool both need them. */
export const moduleFlags: readonly string[] = [
  ...exported.map((name) => `--add-exports=${name}=ALL-UNNAMED`),
  ...opened.map((name) => `--add-opens=${name}=ALL-UNNAMED`),
]

export const jvmFlags: readonly string[] = [
  '-Xms128m',
  '-Xmx512m',
  '-Xss256k',
  '-XX:MaxDirectMemorySize=256m',
  '-XX:+UseSerialGC',
  '-XX:+PerfDisableSharedMem',
  '-Djava.net.preferIPv4Stack=true',
  '-Djdk.attach.allowAttachSelf=true',
  '-Dio.netty.tryReflectionSetAccessible=true',
  '-Dio.netty.eventLoop.maxPendingTasks=65536',
]

/** Where its files are, and no waits for other nodes. */
export const serverProperties = ({ folder, ports }: Pick<Layout, 'folder' | 'ports'>): readonly string[] =>
  [
    `cassandra.config=file://${folder}/cassandra.yaml`,
    `cassandra.storagedir=${folder}`,
    `cassandra.logdir=${folder}`,
    `logback.configurationFile=file://${folder}/logback.xml`,
    'cassandra.skip_wait_for_gossip_to_settle=0',
    'cassandra.ring_delay_ms=1',
    'cassandra.superuser_setup_delay_ms=0',
    'cassandra.disable_auth_caches_remote_configuration=true',
    `cassandra.jmx.local.port=${ports.jmx}`,
    // It closes its standard output otherwise, and with it the log.
    'cassandra-foreground=yes',
  ].map((property) => `-D${property}`)
