/**
 * The cost of a dashboard on DynamoDB: `npm run bench:stores:dynamodb`. The window of 3 h is refreshed every 10 s for 3
 * h: bytes and write units per refresh, bytes stored per sample; then reads of the whole window without memory in
 * front: read units, p50 and p99. DynamoDB Local reports the units, by the rules of the service; its times are those of
 * a Java process on this machine.
 */
import { DynamoDB, type DynamoDBClientConfig, type ScanCommandOutput } from '@aws-sdk/client-dynamodb'
import { systemClock } from '../../src/core/clock.ts'
import { openDynamoDbStore } from '../../src/stores/dynamodb/index.ts'
import type { Item } from '../../src/stores/dynamodb/library.ts'
import { createTables, tablesOf } from '../../src/stores/dynamodb/tables.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { isUnavailable } from '../../test/servers/availability.ts'
import { startDynamoDb } from '../../test/servers/dynamodb/dynamodb.ts'
import { answerBytes, answerPane, keyFor, refreshes, shapeFor, windowBuckets } from './workload.ts'

const hours = 3
const reads = 500
const table = 'bench'

const count = { units: 0, requests: 0, bytes: 0 }
const reset = (): void => void Object.assign(count, { units: 0, requests: 0, bytes: 0 })

/** Names and values, as the service counts an item. */
const sizeOf = (item: Item): number =>
  Object.entries(item).reduce((sum, [name, { S, N, B }]) => {
    const bytes = B?.length ?? (N === undefined ? Buffer.byteLength(S ?? '') : Math.ceil(N.length / 2) + 1)
    return sum + name.length + bytes
  }, 0)

interface Metered {
  readonly ConsumedCapacity?: { readonly CapacityUnits?: number }
}

/** The SDK, with everything that it sends counted. */
class CountingDynamoDb extends DynamoDB {
  constructor(config: DynamoDBClientConfig) {
    super(config)
    this.middlewareStack.add(
      (next) => async (args) => {
        const input = args.input as { Item?: Item; ReturnConsumedCapacity?: string }
        count.requests++
        if (input.Item !== undefined) count.bytes += sizeOf(input.Item)
        const answer = await next({ ...args, input: { ...input, ReturnConsumedCapacity: 'TOTAL' } as never })
        count.units += (answer.output as Metered).ConsumedCapacity?.CapacityUnits ?? 0
        return answer
      },
      { step: 'initialize' },
    )
  }
}

const percentile = (sorted: readonly number[], share: number): string =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(1)

async function main(endpoint: string): Promise<void> {
  const api = new DynamoDB({
    endpoint,
    region: 'local',
    credentials: { accessKeyId: 'x', secretAccessKey: 'x' },
  })
  await createTables(api, tablesOf(table), systemClock)
  for (const series of [1, 10, 50]) await measure(api, endpoint, series)
  api.destroy()
}

async function measure(api: DynamoDB, endpoint: string, series: number): Promise<void> {
  const clock = fakeClock(systemClock.now())
  const opened = await openDynamoDbStore({
    ...{ clock, endpoint, table, retentionMs: 86_400_000, timeoutMs: 60_000 },
    library: async () => ({ DynamoDB: CountingDynamoDb }),
  })
  if ('refused' in opened) throw new Error(opened.detail)
  const shape = shapeFor(series)
  const key = keyFor(shape)
  const before = await storedBytes(api)
  reset()
  let [fetched, refreshCount] = [0, 0]
  for (const { now, interval } of refreshes(clock.now(), hours)) {
    clock.jump(now)
    const pane = answerPane(series, interval, now)
    fetched += answerBytes(pane)
    refreshCount++
    await opened.panes.write(key, { pane, shape })
  }
  const { requests, units, bytes } = count
  const stored = (await storedBytes(api)) - before
  const samples = series * (windowBuckets + hours * 60)
  console.log(
    `${series} series: ${refreshCount} queries, ${(fetched / 1e6).toFixed(2)} MB fetched, ${(bytes / 1e6).toFixed(2)} MB written: ` +
      `${(bytes / fetched).toFixed(2)} bytes per byte; ${(units / refreshCount).toFixed(1)} write units and ` +
      `${(requests / refreshCount).toFixed(1)} requests per refresh; ${(stored / samples).toFixed(1)} bytes stored per sample`,
  )
  const to = Math.floor(clock.now() / 60_000) + 1
  const window = { from: to - windowBuckets, to }
  const times: number[] = []
  for (let i = -50; i < reads; i++) {
    if (i === 0) reset()
    const began = systemClock.elapsed()
    await opened.panes.read(key, window)
    if (i >= 0) times.push(systemClock.elapsed() - began)
  }
  times.sort((a, b) => a - b)
  console.log(
    `  reading ${windowBuckets} buckets: p50 ${percentile(times, 0.5)} ms, p99 ${percentile(times, 0.99)} ms; ` +
      `${(count.units / reads).toFixed(1)} read units in ${(count.requests / reads).toFixed(1)} requests`,
  )
  await opened.close()
}

async function storedBytes(api: DynamoDB): Promise<number> {
  let [bytes, start]: [number, Item | undefined] = [0, undefined]
  do {
    const page: ScanCommandOutput = await api.scan({
      TableName: table,
      ExclusiveStartKey: start,
    })
    for (const item of page.Items ?? []) bytes += sizeOf(item)
    start = page.LastEvaluatedKey
  } while (start !== undefined)
  return bytes
}

const server = await startDynamoDb({ optimised: true })
if (isUnavailable(server)) throw new Error(server.unavailable)
try {
  await main(server.endpoint)
} finally {
  await server.stop()
}
