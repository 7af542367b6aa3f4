/**
 * The cost of the store to a Cassandra: `npm run bench:stores:cassandra`. Starts a server of its own. On the sliding
 * window of 3 h that is refreshed every 10 s: bytes sent per byte fetched, bytes on disk per sample, the time of a read
 * of 180 buckets, and how many tombstones it passes, before and after rows expire.
 */
import { createRequire } from 'node:module'
import { scheduler } from 'node:timers/promises'
import { systemClock } from '../../src/core/clock.ts'
import type { Interval } from '../../src/core/interval.ts'
import { connectionTo } from '../../src/stores/cassandra/client.ts'
import type { Connection } from '../../src/stores/cassandra/connection.ts'
import { createTables } from '../../src/stores/cassandra/inspect.ts'
import { consistencies } from '../../src/stores/cassandra/library.ts'
import { RowStatements, sliceOf } from '../../src/stores/cassandra/row-statements.ts'
import { CassandraRows } from '../../src/stores/cassandra/rows.ts'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { isUnavailable } from '../../test/servers/availability.ts'
import { type Cassandra, startCassandra } from '../../test/servers/cassandra/cassandra.ts'
import { configOf } from '../../test/stores/cassandra-rig.ts'
import { tcpRelay } from '../../test/stores/tcp-relay.ts'
import { answerBytes, answerPane, keyFor, refreshes, shapeFor, windowBuckets } from './workload.ts'

const keyspace = 'bench'
const hour = 3_600_000
const stepMs = 60_000
const reads = 500

interface Bench {
  readonly server: Cassandra
  readonly session: Connection
  /** Bytes that were sent to the server so far. */
  sent(): number
}

interface Fill {
  readonly series: number
  readonly hours: number
  readonly retentionMs: number
}

/** A store whose clock runs through the past, so that write times are those of a workload that has just ended. */
const storeOf = ({ session }: Bench, { hours, retentionMs }: Fill) => {
  const clock = fakeClock(systemClock.now() - hours * hour)
  const { local_one: consistency } = consistencies
  const engine = new CassandraRows({ session, keyspace, consistency, timeoutMs: 60_000 })
  return { clock, store: new RowStore({ engine, clock, retentionMs }) }
}

/** Runs the workload; returns the bytes fetched, and the window that a viewer sees at its end. */
async function fill(
  bench: Bench,
  given: Fill,
): Promise<{ fetched: number; window: Interval; store: RowStore }> {
  const { clock, store } = storeOf(bench, given)
  const shape = shapeFor(given.series)
  let [fetched, to] = [0, 0]
  for (const { now, interval } of refreshes(clock.now(), given.hours)) {
    clock.jump(now)
    const pane = answerPane(given.series, interval, now)
    fetched += answerBytes(pane)
    to = interval.to
    await store.write(keyFor(shape), { pane, shape })
  }
  return { fetched, store, window: { from: to - windowBuckets, to } }
}

const percentile = (sorted: readonly number[], part: number): string =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(2)

async function latency(store: RowStore, series: number, window: Interval): Promise<string> {
  const key = keyFor(shapeFor(series))
  const times: number[] = []
  for (let i = 0; i < reads * 1.4; i++) {
    const began = systemClock.elapsed()
    const found = await store.read(key, window)
    if (i >= reads * 0.4) times.push(systemClock.elapsed() - began)
    const buckets = found?.panes.reduce((sum, { from, to }) => sum + to - from, 0)
    if (buckets !== windowBuckets) throw new Error(`${buckets} buckets were read`)
  }
  times.sort((a, b) => a - b)
  return `p50 ${percentile(times, 0.5)} ms, p99 ${percentile(times, 0.99)} ms`
}

async function diskBytes({ server }: Bench, table: string): Promise<number> {
  const text = await server.nodetool('tablestats', `${keyspace}.${table}`)
  return Number(/Space used \(live\): (\d+)/.exec(text)![1])
}

async function costOf(bench: Bench, series: number): Promise<void> {
  const before = { disk: await flushed(bench), sent: bench.sent() }
  const { fetched, store, window } = await fill(bench, { series, hours: 3, retentionMs: 24 * hour })
  const sent = bench.sent() - before.sent
  const fragmented = await latency(store, series, window)
  await flushed(bench)
  await bench.server.nodetool('compact', keyspace, 'panes')
  const disk = (await diskBytes(bench, 'panes')) - before.disk
  const fresh = await freshLatency(bench, series, window)
  const samples = series * (windowBuckets + 180)
  console.log(
    `${series} series: ${(fetched / 1e6).toFixed(2)} MB fetched, ${(sent / fetched).toFixed(2)} bytes sent per byte, ` +
      `${(disk / samples).toFixed(1)} bytes on disk per sample; 180 buckets: ${fragmented}; fetched at once: ${fresh}`,
  )
}

/** Returns the size of `panes` on disk. */
async function flushed(bench: Bench): Promise<number> {
  await bench.server.nodetool('flush', keyspace)
  return diskBytes(bench, 'panes')
}

/** Of a window that one query fetched. */
async function freshLatency(bench: Bench, series: number, window: Interval): Promise<string> {
  const now = systemClock.now()
  const { store, clock } = storeOf(bench, { series, hours: 0, retentionMs: 24 * hour })
  clock.jump(now)
  const shape = shapeFor(series)
  await store.write(keyFor(shape), { pane: answerPane(series, window, now), shape })
  return latency(store, series, window)
}

/** The part of the driver that traces, which the store does not use. */
interface TracingClient {
  connect(): Promise<void>
  execute(query: string, params: readonly unknown[], options: object): Promise<{ info: { traceId: object } }>
  metadata: { getTrace(id: object): Promise<{ events: readonly { activity: string | null }[] }> }
  shutdown(): Promise<void>
}

/** The server's trace of a read of the window's rows: the number of live rows and of tombstones that it passed. */
async function traced({ server }: Bench, series: number, window: Interval): Promise<string> {
  const { Client } = createRequire(import.meta.url)('cassandra-driver')
  const client: TracingClient = new Client({
    ...{ contactPoints: [server.contact], localDataCenter: server.dataCenter },
    encoding: { useBigIntAsLong: true },
  })
  await client.connect()
  const statements = new RowStatements(keyspace)
  const prefix = await storedPrefix(client, keyFor(shapeFor(series)))
  let [live, dead] = [0, 0]
  for (let slice = sliceOf(window.from); slice <= sliceOf(window.to - 1); slice++) {
    const { query, params } = statements.rows(prefix, slice, window)
    const { info } = await client.execute(query, params, { prepare: true, traceQuery: true })
    const { events } = await client.metadata.getTrace(info.traceId)
    for (const { activity } of events) {
      const [, rows, tombstones] = /Read (\d+) live rows and (\d+) tombstone/.exec(activity ?? '') ?? []
      live += Number(rows ?? 0)
      dead += Number(tombstones ?? 0)
    }
  }
  await client.shutdown()
  return `${live} live rows, ${dead} tombstones`
}

/** The key as it is stored, behind the version of the layout. */
async function storedPrefix(client: TracingClient, key: string): Promise<string> {
  const { rows } = (await client.execute(`SELECT DISTINCT key FROM ${keyspace}.records`, [], {
    prepare: true,
  })) as unknown as { rows: readonly { key: string }[] }
  return rows.find((row) => row.key.endsWith(key))!.key
}

/** An hour of refreshes, all of whose rows expire within a minute of real time. */
async function tombstones(bench: Bench, series: number): Promise<void> {
  const retentionMs = 30_000
  const { window } = await fill(bench, { series, hours: 1, retentionMs })
  console.log(`an hour of refreshes, ${series} series, reads of 180 buckets:`)
  console.log(`  before they expire: ${await traced(bench, series, window)}`)
  await scheduler.wait(retentionMs + 5000)
  console.log(`  all expired, in memory: ${await traced(bench, series, window)}`)
  await bench.server.nodetool('flush', keyspace)
  console.log(`  all expired, on disk: ${await traced(bench, series, window)}`)
  const next = { from: window.to, to: window.to + windowBuckets }
  console.log(`  the window after it: ${await traced(bench, series, next)}`)
  const { store } = storeOf(bench, { series, hours: 0, retentionMs: hour })
  const now = systemClock.now()
  const shape = shapeFor(series)
  await store.write(keyFor(shape), { pane: answerPane(series, window, now), shape })
  console.log(`  fetched again at once: ${await traced(bench, series, window)}`)
}

async function main(): Promise<void> {
  const server = await startCassandra({ optimised: true })
  if (isUnavailable(server)) throw new Error(server.unavailable)
  const relay = await tcpRelay(server.port)
  await relay.open()
  const config = { ...configOf(server, keyspace), hosts: `127.0.0.1:${relay.port}` }
  await createTables(config, systemClock)
  const session = await connectionTo(config, { clock: systemClock, timeoutMs: 60_000 })
  if ('refused' in session) throw new Error(session.detail)
  await session.open()
  const bench: Bench = { server, session, sent: () => relay.received }
  console.log(`Cassandra ${server.version}, one node; minutes of ${stepMs / 1000} s, window ${windowBuckets}`)
  try {
    for (const series of [1, 10, 50]) await costOf(bench, series)
    for (const series of [2, 20]) await tombstones(bench, series)
  } finally {
    await session.close()
    await relay.close()
    await server.stop()
  }
}

await main()
