/**
 * Behaviour of DynamoDB that DynamoDB Local never shows: throttling, unprocessed items of a batch, conflicting
 * transactions, lost answers. A faulty client is put before the real one.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import type { Cell } from '../../src/stores/cells.ts'
import type { DynamoDbApi } from '../../src/stores/dynamodb/library.ts'
import { RowCells } from '../../src/stores/rows/row-cells.ts'
import type { RowWrite } from '../../src/stores/rows/row-engine.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { until } from '../wait.ts'
import { enginesOn, hourMs, withDynamoDb } from './dynamodb-rig.ts'

type Method = Exclude<keyof DynamoDbApi, 'config' | 'destroy'>
type Fault = (send: () => Promise<unknown>, input: never) => Promise<unknown>

const failure = (name: string, more: object = {}): Error =>
  Object.assign(new Error(`stub: ${name}`), { name }, more)
const throws =
  (name: string, more: object = {}): Fault =>
  () =>
    Promise.reject(failure(name, more))
const cancelled = (...codes: readonly string[]): Fault =>
  throws('TransactionCanceledException', { CancellationReasons: codes.map((Code) => ({ Code })) })
const loseAnswer: Fault = async (send) => {
  await send()
  throw failure('TimeoutError')
}

/** Each call of a method meets the next of its faults, while there are any. */
function faulty(
  api: DynamoDbApi,
  faults: Partial<Record<Method, Fault[]>>,
): DynamoDbApi & { calls: Method[] } {
  const calls: Method[] = []
  const wrapped = Object.fromEntries(
    (Object.keys(faults) as Method[]).map((method) => [
      method,
      (input: never) => {
        calls.push(method)
        const send = (): Promise<unknown> => (api[method] as (input: never) => Promise<unknown>)(input)
        const fault = faults[method]!.shift()
        return fault === undefined ? send() : fault(send, input)
      },
    ]),
  )
  return new Proxy(api, {
    get: (target, name) => (name === 'calls' ? calls : (wrapped[name as Method] ?? bound(target, name))),
  }) as DynamoDbApi & { calls: Method[] }
}

const bound = (target: object, name: string | symbol): unknown => {
  const member = Reflect.get(target, name)
  return typeof member === 'function' ? member.bind(target) : member
}

/** Moves time on until a request that pauses between attempts has come to its end. */
async function settled<T>(clock: FakeClock, request: Promise<T>): Promise<PromiseSettledResult<T>> {
  let isOver = false
  const ended = Promise.allSettled([request]).finally(() => {
    isOver = true
  })
  while (!isOver) {
    await until(() => isOver || clock.pending > 0)
    if (!isOver) await clock.advance(1)
  }
  return (await ended)[0]
}

await withDynamoDb('faults', ({ api }) => {
  const start = systemClock.now()
  const row = (value: Buffer) => ({ from: 0, buckets: 1, clock: start, value })
  const write = (value: Buffer): RowWrite => ({
    put: [row(value)],
    drop: [],
    now: start,
    retentionMs: hourMs,
  })
  const cell = (rev: string): Cell => ({
    ...{ kind: 'k', v: 1, clocks: {}, collectAt: 'never', value: Buffer.from(rev) },
    rev,
  })
  const rig = (name: string, faults: Partial<Record<Method, Fault[]>>, timeoutMs = 10_000) => {
    const clock = fakeClock(start)
    const client = faulty(api, faults)
    return { clock, client, ...enginesOn(client, 'faults', { clock, timeoutMs }), key: name }
  }

  for (const name of [
    'ProvisionedThroughputExceededException',
    'ThrottlingException',
    'RequestLimitExceeded',
  ])
    test(`${name}: counted, and sent again after a pause`, async () => {
      const it = rig(name, { putItem: [throws(name), throws(name)], query: [throws(name)] })
      assert.equal(
        (await settled(it.clock, it.rows.write(it.key, write(Buffer.from('x'))))).status,
        'fulfilled',
      )
      const read = await settled(it.clock, it.rows.read(it.key, { from: 0, to: 1 }))
      assert.ok(read.status === 'fulfilled' && read.value.rows.length === 1)
      assert.equal(it.paneRequests.throttled, 3)
      assert.equal(it.paneRequests.conditionBeside([]).state, 'ok')
      assert.ok(it.clock.elapsed() >= 25)
    })

  test('throttling that does not end within the timeout fails, and shows until a request succeeds', async () => {
    const faults = Array.from({ length: 50 }, () => throws('ThrottlingException'))
    const it = rig('endless', { query: faults }, 500)
    const read = await settled(it.clock, it.rows.read(it.key, undefined))
    assert.equal(read.status, 'rejected')
    assert.ok(it.clock.elapsed() < 500, `gave up after ${it.clock.elapsed()} ms`)
    assert.equal(it.paneRequests.conditionBeside([]).trouble, 'throttled')
    assert.match(
      it.paneRequests.conditionBeside([]).detail ?? '',
      /table faults: ThrottlingException.*raise the maximum/s,
    )
    faults.length = 0
    await it.rows.read(it.key, undefined)
    assert.equal(it.paneRequests.conditionBeside([]).state, 'ok')
  })

  test('items that a batch leaves unprocessed are sent again, and only those', async () => {
    const sizes: number[] = []
    const leaving =
      (left: number): Fault =>
      async (_, input) => {
        const { RequestItems } = input as { RequestItems: Record<string, object[]> }
        const [table, requests] = Object.entries(RequestItems)[0]!
        sizes.push(requests.length)
        const done = requests.slice(left)
        if (done.length > 0) await api.batchWriteItem({ RequestItems: { [table]: done } })
        return { UnprocessedItems: { [table]: requests.slice(0, left) } }
      }
    const it = rig('batches', { batchWriteItem: [leaving(3), leaving(3), leaving(1)] })
    const value = randomBytes(1_500_000)
    assert.equal((await settled(it.clock, it.rows.write(it.key, write(value)))).status, 'fulfilled')
    assert.deepEqual(sizes, [4, 3, 3])
    assert.deepEqual((await it.rows.read(it.key, { from: 0, to: 1 })).rows[0]?.value, value)
    assert.equal(it.paneRequests.throttled, 3)
  })

  test('unprocessed keys of a batch are requested again', async () => {
    const half: Fault = async (_, input) => {
      const { RequestItems } = input as { RequestItems: Record<string, { Keys: [] }> }
      const [table, { Keys }] = Object.entries(RequestItems)[0]!
      const answer = await api.batchGetItem({ RequestItems: { [table]: { Keys: Keys.slice(0, 1) } } })
      return { ...answer, UnprocessedKeys: { [table]: { Keys: Keys.slice(1) } } }
    }
    const it = rig('keys', { batchGetItem: [half, half] })
    for (const sk of ['a', 'b', 'c'])
      await it.cells.commit('keys', [{ sk, expected: undefined, row: cell(sk) }])
    const loaded = await settled(it.clock, it.cells.load('keys', ['c', 'none', 'a', 'b']))
    assert.ok(loaded.status === 'fulfilled')
    assert.deepEqual(
      loaded.value.map((one) => one?.rev),
      ['c', undefined, 'a', 'b'],
    )
  })

  const two = (pk: string) => [
    { sk: `${pk}1`, expected: undefined, row: cell(`${pk}1`) },
    { sk: `${pk}2`, expected: undefined, row: cell(`${pk}2`) },
  ]

  test('a transaction conflict is no refusal: the transaction is sent again with the same token', async () => {
    const tokens: unknown[] = []
    const conflict: Fault = (_, input) => {
      tokens.push((input as { ClientRequestToken: string }).ClientRequestToken)
      return cancelled('None', 'TransactionConflict')(async () => {}, input)
    }
    const it = rig('conflict', { transactWriteItems: [conflict, conflict, conflict] })
    const outcome = await settled(it.clock, it.cells.commit('p', two('conflict')))
    assert.deepEqual(outcome, { status: 'fulfilled', value: true })
    assert.equal(new Set(tokens).size, 1)
    assert.match(String(tokens[0]), /^[0-9a-f]{36}$/)
    assert.ok(it.clock.elapsed() >= 87 && it.clock.elapsed() <= 175, `paused ${it.clock.elapsed()} ms`)
  })

  test('a conflict that stays is an error, not a refusal', async () => {
    const it = rig('stays', {
      transactWriteItems: Array.from({ length: 9 }, () => cancelled('TransactionConflict')),
    })
    assert.equal((await settled(it.clock, it.cells.commit('p', two('stays')))).status, 'rejected')
    assert.equal(it.client.calls.length, 4)
  })

  test('a single row that a transaction holds is written after it', async () => {
    const it = rig('held', { putItem: [throws('TransactionConflictException')] })
    const commit = it.cells.commit('p', [{ sk: 'held', expected: undefined, row: cell('held') }])
    assert.deepEqual(await settled(it.clock, commit), { status: 'fulfilled', value: true })
  })

  test('a failed condition decides, also where another item met a conflict', async () => {
    const it = rig('both', {
      transactWriteItems: [cancelled('TransactionConflict', 'ConditionalCheckFailed')],
    })
    assert.deepEqual(await settled(it.clock, it.cells.commit('p', two('both'))), {
      status: 'fulfilled',
      value: false,
    })
    assert.equal(it.client.calls.length, 1)
  })

  test('a throttled transaction is counted and sent again', async () => {
    const it = rig('slow', { transactWriteItems: [cancelled('ThrottlingError', 'None')] })
    assert.deepEqual(await settled(it.clock, it.cells.commit('p', two('slow'))), {
      status: 'fulfilled',
      value: true,
    })
    assert.equal(it.cellRequests.throttled, 1)
  })

  test('a write without an answer is not sent again, and its revision shows that it was done', async () => {
    const it = rig('lost', { putItem: [loseAnswer] })
    await assert.rejects(
      it.cells.commit('p', [{ sk: 'lost', expected: undefined, row: cell('lost') }]),
      /stub/,
    )
    assert.equal(it.client.calls.length, 1)
    const again = rig('lost', { putItem: [loseAnswer] })
    const draft = { kind: 'k', v: 1, clocks: {}, collectAt: 'never' as const, value: Buffer.from('x') }
    const put = await new RowCells(again.cells, again.clock).put({ pk: 'p', sk: 'lost2' }, draft, {
      is: 'absent',
    })
    assert.equal(put.ok, true)
  })

  test('a transaction without an answer is sent again: the service recognises it', async () => {
    const it = rig('lost transaction', { transactWriteItems: [loseAnswer] })
    assert.equal(await it.cells.commit('p', two('lost-transaction')), true)
    assert.equal(it.client.calls.length, 2)
  })

  test('a read or a write of rows without an answer is sent once more', async () => {
    const it = rig('rows', { putItem: [loseAnswer], query: [throws('ECONNRESET')] })
    await it.rows.write(it.key, write(Buffer.from('x')))
    assert.equal((await it.rows.read(it.key, { from: 0, to: 1 })).rows.length, 1)
  })
})
