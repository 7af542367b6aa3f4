/**
 * Items of a table: attributes as the API has them, pages of a query, batches, and values that are too long for one item.
 * The attributes of panes have short names, since every write pays for them: `c` is the clock of a value, `v` the value.
 */

import { hash } from 'node:crypto'
import type { WriteRequest } from '@aws-sdk/client-dynamodb'
import { bufferOf } from '../../core/bytes.ts'
import type { EpochSeconds } from '../cells.ts'
import { inParallel } from '../rows/in-parallel.ts'
import { throttledError } from './errors.ts'
import { partKey } from './keys.ts'
import type { Item } from './library.ts'
import type { Requests } from './requests.ts'

/** An item may have 400 KB, names and numbers included. */
const maxValueBytes = 390 * 1024
/** BatchWriteItem takes 25 items; fewer are sent in parallel, since 10 MB in one request would not arrive in time. */
const maxBatch = 4

export const bytesIn = (item: Item, name: string): Buffer | undefined => {
  const bytes = item[name]?.B
  return bytes && bufferOf(bytes)
}

export const numberIn = (item: Item, name: string): number | undefined =>
  item[name]?.N === undefined ? undefined : Number(item[name].N)

/** A number as the API takes it: every double is written so that it is read back as the same one. */
export const numeral = (value: number): { N: string } => ({ N: String(value) })

export interface KeyRange {
  readonly pk: string
  /** The first and the last sort key, both included; undefined for all of the partition. */
  readonly between?: readonly [Buffer, Buffer]
  /** Strongly consistent, at twice the price. */
  readonly isConsistent?: boolean
}

/** The items of a range, page by page. A page may be short or empty although more pages follow. */
export async function* pages(requests: Requests, range: KeyRange): AsyncGenerator<readonly Item[]> {
  const condition = conditionOf(range)
  let start: Item | undefined
  do {
    const ExclusiveStartKey = start
    const ConsistentRead = range.isConsistent ?? false
    const page = await requests.send((api) =>
      api.query({ TableName: requests.table, ...condition, ExclusiveStartKey, ConsistentRead }),
    )
    yield page.Items ?? []
    start = page.LastEvaluatedKey
  } while (start !== undefined)
}

function conditionOf({ pk, between }: KeyRange) {
  if (between === undefined)
    return { KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': { S: pk } } }
  const [from, to] = between
  return {
    KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
    ExpressionAttributeValues: { ':pk': { S: pk }, ':from': { B: from }, ':to': { B: to } },
  }
}

export async function itemsIn(requests: Requests, range: KeyRange): Promise<Item[]> {
  const items: Item[] = []
  for await (const page of pages(requests, range)) items.push(...page)
  return items
}

/** Puts items without conditions. Unprocessed items of a batch were throttled, and are sent again. */
async function putAll(requests: Requests, items: readonly Item[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(items.length / maxBatch) }, (_, i) =>
    items.slice(i * maxBatch, (i + 1) * maxBatch).map((item) => ({ PutRequest: { Item: item } })),
  )
  await inParallel(batches, (batch) => putBatch(requests, batch))
}

async function putBatch(requests: Requests, batch: readonly WriteRequest[]): Promise<void> {
  let open = [...batch]
  await requests.send(async (api) => {
    const answer = await api.batchWriteItem({ RequestItems: { [requests.table]: open } })
    open = answer.UnprocessedItems?.[requests.table] ?? []
    if (open.length > 0) throw throttledError(`${open.length} items of a batch were left unprocessed`)
  })
}

/**
 * The attributes that hold a value: the value itself, or the place of its parts. Parts have keys of their own for every
 * value, and are written before the item that names them: a reader of that item finds all parts or, where one is lost,
 * no value. The parts of a replaced value are left to the TTL, which deletes without charge.
 */
export async function storeValue(
  requests: Requests,
  { pk, value, ttl }: { readonly pk: string; readonly value: Buffer; readonly ttl: EpochSeconds },
): Promise<Item> {
  if (value.length <= maxValueBytes) return { v: { B: value } }
  const set = hash('sha256', value, 'base64url')
  const parts = Math.ceil(value.length / maxValueBytes)
  const items = Array.from({ length: parts }, (_, part) => ({
    pk: { S: `${pk}#${set}` },
    sk: { B: partKey(part) },
    v: { B: value.subarray(part * maxValueBytes, (part + 1) * maxValueBytes) },
    ttl: numeral(ttl),
  }))
  await putAll(requests, items)
  return { set: { S: set }, parts: numeral(parts) }
}

/** The value of an item; undefined where a part is missing. */
export async function loadValue(requests: Requests, pk: string, item: Item): Promise<Buffer | undefined> {
  const parts = numberIn(item, 'parts')
  if (parts === undefined) return bytesIn(item, 'v')
  const found = await itemsIn(requests, { pk: `${pk}#${item['set']?.S}` })
  return found.length === parts ? Buffer.concat(found.map((part) => bytesIn(part, 'v')!)) : undefined
}
