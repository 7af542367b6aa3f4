/** The results of the simulated fleet next to the predictions of the model for the same workload. */
import { type FleetCase, type FleetResult, fleetDefaults } from '../../test/rigs/fleet-simulation.ts'
import { dashboard, demandOf } from './model.ts'
import { count, tableOf } from './tables.ts'

export interface Comparison {
  readonly name: 'queries' | 'reads' | 'writes' | 'cell reads' | 'cell writes' | 'bytes'
  /** Per second. */
  readonly simulated: number
  readonly predicted: number
}

export function compare(asked: FleetCase, result: FleetResult): readonly Comparison[] {
  const { nodes, viewers, shapes, serviceMs, storeDelayMs } = { ...fleetDefaults, ...asked }
  const workload = {
    ...dashboard,
    ...{ nodes, viewers, shapes, viewersOf: result.viewersOf },
    ...{ queryS: serviceMs / 1000, storeS: (2 * storeDelayMs) / 1000 },
    // One short row per bucket: its head is most of it.
    ...{ bytesPerBucket: 30, storedPerByte: 0.5 },
  }
  const demand = demandOf(workload)
  const { traffic, queries, minutes } = result
  const simulated = (total: number) => total / (60 * minutes)
  const bytes = traffic.bytesRead + traffic.bytesWritten + traffic.cellBytes
  // Only the engine is simulated, without heartbeats and modes.
  const beats =
    nodes === 1 ? { reads: 0, writes: 0 } : { reads: nodes / 5 + nodes / 2, writes: (1.5 * nodes) / 5 }
  return [
    { name: 'queries', simulated: simulated(queries), predicted: demand.queries },
    { name: 'reads', simulated: simulated(traffic.reads), predicted: demand.reads },
    { name: 'writes', simulated: simulated(traffic.writes), predicted: demand.writes },
    {
      ...{ name: 'cell reads', simulated: simulated(traffic.cellReads) },
      predicted: demand.cellReads - beats.reads,
    },
    {
      ...{ name: 'cell writes', simulated: simulated(traffic.cellWrites) },
      predicted: demand.cellWrites - beats.writes,
    },
    {
      ...{ name: 'bytes', simulated: simulated(bytes) },
      predicted: demand.storeBytesOut + demand.storeBytesIn,
    },
  ]
}

const heads = [
  ...['nodes', 'viewers', 'shapes', 'store', 'queries per shape and minute', 'hits', 'wrong'],
  ...[
    'queries/s',
    'store reads/s',
    'cell reads/s',
    'cell writes/s',
    'store bytes/s',
    'fewest far hits of a node',
  ],
]

/** Simulated, and in brackets predicted. */
export function rowOf(asked: FleetCase, result: FleetResult): readonly string[] {
  const of = new Map(compare(asked, result).map((each) => [each.name, each]))
  const both = (name: Comparison['name']) =>
    `${count(of.get(name)!.simulated)} (${count(of.get(name)!.predicted)})`
  const { nodes, viewers, shapes, faults, isShared = true } = asked
  const store = isShared ? (faults ? 'failing' : 'shared') : 'none'
  return [
    ...[nodes, viewers, shapes].map(count),
    ...[store, (result.queries / result.minutes / shapes).toFixed(1)],
    ...[`${((100 * result.hits) / result.requests).toFixed(1)} %`, String(result.wrong)],
    ...(['queries', 'reads', 'cell reads', 'cell writes', 'bytes'] as const).map(both),
    count(Math.min(...result.farHits)),
  ]
}

export const fleetTable = (rows: readonly (readonly string[])[]): string => tableOf(heads, rows)
