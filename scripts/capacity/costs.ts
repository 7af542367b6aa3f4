/** Measured costs, as in costs.json, applied to a demand. */
import { readFileSync } from 'node:fs'
import { type Demand, measured, type Workload } from './model.ts'

/** Processor time of a node per operation, in microseconds; null where it was not measured. */
export interface StoreCosts {
  readonly tailReadUs: number
  readonly windowReadUs: number
  readonly writeUs: number
  readonly cellReadUs: number | null
  readonly cellWriteUs: number | null
  readonly storedPerByte: number | null
}

export interface Costs {
  readonly requestUs: { readonly hit: number; readonly query: number }
  /** By name; null until it is measured. */
  readonly stores: Readonly<Record<string, StoreCosts | null>>
  readonly dynamodb: {
    readonly dollarsPerMillionReads: number
    readonly dollarsPerMillionWrites: number
  }
}

export const readCosts = (): Costs =>
  JSON.parse(readFileSync(new URL('costs.json', import.meta.url), 'utf8')) as Costs

/** Cores that all nodes together are busy with. */
export function coresFor(demand: Demand, { requestUs }: Costs, store: StoreCosts): number {
  const { requests, queries, reads, notices, writes, cellReads, cellWrites } = demand
  const requestsUs = (requests - queries) * requestUs.hit + queries * requestUs.query
  const readsUs = (reads - notices) * store.tailReadUs + notices * store.windowReadUs
  const cellsUs = cellReads * (store.cellReadUs ?? 0) + cellWrites * (store.cellWriteUs ?? 0)
  return (requestsUs + readsUs + writes * store.writeUs + cellsUs) / 1e6
}

const monthS = (365.25 * 86_400) / 12

/** On-demand prices: panes are read eventually consistent in units of 4 KB, cells consistently; writes in units of 1 KB. */
export function dynamoDbPerMonth(demand: Demand, workload: Workload, { dynamodb }: Costs): number {
  const paneBytes = demand.storeBytesOut - demand.claimReads * measured.claimBytes
  const readUnits = Math.max(paneBytes / 4096, demand.reads) / 2 + demand.cellReads
  const bucketsPerRow = measured.bucketsPerQuery / measured.rowsPerQuery
  const rowBytes = bucketsPerRow * workload.bytesPerBucket * workload.storedPerByte + measured.rowBytes
  const itemsPerWrite = 1 + measured.rowsPerQuery * Math.ceil(rowBytes / 1024)
  const writeUnits = demand.writes * itemsPerWrite + demand.cellWrites
  const { dollarsPerMillionReads, dollarsPerMillionWrites } = dynamodb
  return (monthS * (readUnits * dollarsPerMillionReads + writeUnits * dollarsPerMillionWrites)) / 1e6
}
