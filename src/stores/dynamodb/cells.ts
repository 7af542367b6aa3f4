/**
 * Cells in DynamoDB: an item each, whose members and attributes are attributes of the item under their own names, so that
 * readers in other languages need nothing but this list: kind, v, rev, value, levels (bucket-text.ts), fresh_until, stale_until, error_until,
 * lease_until and refilled_at (milliseconds), ttl (seconds).
 */
import { hash } from 'node:crypto'
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { levelsIn, levelsText } from '../bucket-text.ts'
import { clocksFrom, namedClocks, reservedNames } from '../cell-names.ts'
import type { Cell, CellAttributes, CellCapabilities, Revision } from '../cells.ts'
import type { CellCommit, CellEngine } from '../rows/cell-engine.ts'
import { isCondition, throttledError } from './errors.ts'
import { bytesIn, itemsIn, numberIn, numeral } from './items.ts'
import type { Item } from './library.ts'
import type { Requests } from './requests.ts'

/** The limit of one BatchGetItem. */
const maxKeys = 100
const maxTokenLength = 36

export class DynamoDbCells implements CellEngine {
  readonly name = 'dynamodb'
  readonly capabilities: CellCapabilities = { shared: true, durable: true, maxValueBytes: 64 * 1024 }
  readonly #requests: Requests
  /** Before every partition key: stores that share a table keep apart by it. */
  readonly #prefix: string

  constructor(requests: Requests, prefix: string) {
    this.#requests = requests
    this.#prefix = prefix
  }

  async load(pk: string, sks: readonly string[]): Promise<readonly (Cell | undefined)[]> {
    const items = sks.length === 1 ? [await this.#item(pk, sks[0]!)] : await this.#items(pk, sks)
    const found = new Map(items.map((item) => [item?.['sk']?.S, item]))
    return sks.map((sk) => cellOf(found.get(sk)))
  }

  async list(pk: string): Promise<readonly (readonly [string, Cell])[]> {
    const range = { pk: this.#prefix + pk, isConsistent: true }
    const items = await itemsIn(this.#requests, range)
    return items.flatMap((item) => {
      const cell = cellOf(item)
      return cell === undefined ? [] : [[item['sk']!.S!, cell] as const]
    })
  }

  async commit(pk: string, changes: readonly CellCommit[]): Promise<boolean> {
    const writes = changes.map((change) => this.#writeOf(pk, change))
    try {
      await (writes.length === 1 ? this.#single(writes[0]!) : this.#transaction(pk, changes, writes))
      return true
    } catch (error) {
      if (isCondition(error)) return false
      throw error
    }
  }

  /** The client is closed with the rows. */
  #keyOf(pk: string, sk: string): Item {
    return { pk: { S: this.#prefix + pk }, sk: { S: sk } }
  }

  async #item(pk: string, sk: string): Promise<Item | undefined> {
    const request = { TableName: this.#requests.table, Key: this.#keyOf(pk, sk), ConsistentRead: true }
    const found = await this.#requests.send((api) => api.getItem(request))
    return found.Item
  }

  async #items(pk: string, sks: readonly string[]): Promise<Item[]> {
    const { table } = this.#requests
    const items: Item[] = []
    for (let i = 0; i < sks.length; i += maxKeys) {
      let open: Item[] = sks.slice(i, i + maxKeys).map((sk) => this.#keyOf(pk, sk))
      await this.#requests.send(async (api) => {
        const answer = await api.batchGetItem({
          RequestItems: { [table]: { Keys: open, ConsistentRead: true } },
        })
        items.push(...(answer.Responses?.[table] ?? []))
        open = answer.UnprocessedKeys?.[table]?.Keys ?? []
        if (open.length > 0) throw throttledError(`${open.length} keys of a batch were left unprocessed`)
      })
    }
    return items
  }

  #writeOf(pk: string, { sk, expected, row }: CellCommit): TransactWriteItem {
    const key = this.#keyOf(pk, sk)
    const write = { TableName: this.#requests.table, ...conditionOn(expected) }
    return row === undefined
      ? { Delete: { ...write, Key: key } }
      : { Put: { ...write, Item: { ...key, ...itemOf(row) } } }
  }

  /** Half the price of a transaction. Without an answer it is not sent again: its own first attempt would make it fail. */
  async #single({ Put, Delete }: TransactWriteItem): Promise<void> {
    const once = { once: true }
    if (Put !== undefined) await this.#requests.send((api) => api.putItem(Put), once)
    else await this.#requests.send((api) => api.deleteItem(Delete!), once)
  }

  /** The token makes the service recognise a transaction that is sent again. Revisions are unique, and so is their hash. */
  async #transaction(pk: string, changes: readonly CellCommit[], writes: TransactWriteItem[]): Promise<void> {
    const revisions = changes.map(({ sk, expected, row }) => [sk, expected, row?.rev])
    const text = JSON.stringify([this.#requests.table, this.#prefix, pk, revisions])
    const ClientRequestToken = hash('sha256', text, 'hex').slice(0, maxTokenLength)
    await this.#requests.send((api) => api.transactWriteItems({ TransactItems: writes, ClientRequestToken }))
  }
}

function conditionOn(expected: Revision | undefined) {
  if (expected === undefined) return { ConditionExpression: 'attribute_not_exists(pk)' }
  return {
    ConditionExpression: '#rev = :rev',
    ExpressionAttributeNames: { '#rev': 'rev' },
    ExpressionAttributeValues: { ':rev': { S: expected } },
  }
}

function itemOf({ kind, v, rev, value, levels, collectAt, clocks, attributes = {} }: Cell): Item {
  const item: Item = { kind: { S: kind }, v: numeral(v), rev: { S: rev }, value: { B: value } }
  if (levels !== undefined) item['levels'] = { S: levelsText(levels) }
  if (collectAt !== 'never') item['ttl'] = numeral(collectAt)
  for (const [name, at] of namedClocks(clocks)) item[name] = numeral(at)
  for (const [name, value] of Object.entries(attributes))
    item[name] = typeof value === 'string' ? { S: value } : numeral(value)
  return item
}

/** Undefined for an item that is not a cell, such as one that was put there by hand. */
function cellOf(item: Item | undefined): Cell | undefined {
  const [rev, v] = [item?.['rev']?.S, item && numberIn(item, 'v')]
  if (item === undefined || rev === undefined || v === undefined) return undefined
  const levels = item['levels']?.S
  const attributes = attributesOf(item)
  return {
    kind: item['kind']?.S ?? '',
    v,
    rev,
    clocks: clocksFrom((name) => numberIn(item, name)),
    collectAt: numberIn(item, 'ttl') ?? 'never',
    value: Uint8Array.from(bytesIn(item, 'value') ?? []),
    ...(levels !== undefined && { levels: levelsIn(levels) }),
    ...(attributes !== undefined && { attributes }),
  }
}

function attributesOf(item: Item): CellAttributes | undefined {
  const own = Object.entries(item).filter(([name]) => !reservedNames.has(name))
  if (own.length === 0) return undefined
  return Object.fromEntries(own.map(([name, { S, N }]) => [name, S ?? Number(N)]))
}
