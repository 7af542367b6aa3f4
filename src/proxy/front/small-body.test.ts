/** Bodies that are passed on: complete where they are small, streams where they are not. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import test from 'node:test'
import { scheduler } from 'node:timers/promises'
import { Budget } from '../../core/budget.ts'
import { Arrivals } from './arrivals.ts'
import { type ForwardBody, smallBodyOf } from './body.ts'

const MiB = 2 ** 20

class Message extends Readable {
  readonly headers: Record<string, string>
  constructor(headers: Record<string, string> = {}) {
    super({ read() {} })
    this.headers = headers
  }
}

function setUp({
  limit = 64 * MiB,
  headers = {},
}: {
  limit?: number
  headers?: Record<string, string>
} = {}) {
  const budget = new Budget(limit)
  const arrivals = new Arrivals(budget, MiB)
  const message = new Message(headers)
  const told: ForwardBody[] = []
  let held = 0
  const hold = (bytes: number) => {
    held += bytes
    return budget.reserve(bytes)
  }
  smallBodyOf(message, { hold, arrivals }, (body) => told.push(body))
  const push = async (bytes: Buffer | null) => {
    message.push(bytes)
    await scheduler.yield()
  }
  return { budget, arrivals, message, told, push, held: () => held }
}

test('a small body is reported when it is complete, and in the budget all the time', async () => {
  const { budget, told, push, held } = setUp()
  await push(Buffer.from('one'))
  assert.equal(budget.used, 3)
  assert.deepEqual(told, [])
  await push(Buffer.from('two'))
  await push(null)
  assert.deepEqual(told, [Buffer.from('onetwo')])
  assert.equal(held(), 6)
  assert.equal(budget.used, 6)
})

test('a body with a long Content-Length is a stream at once', () => {
  const { message, told } = setUp({ headers: { 'content-length': String(MiB + 1) } })
  assert.deepEqual(told, [message])
})

test('a body that turns out long is a stream with all of its bytes, counted until it is closed', async () => {
  const { budget, message, told, push } = setUp()
  await push(Buffer.alloc(MiB, 'a'))
  await push(Buffer.from('b'))
  assert.deepEqual(told, [message])
  assert.equal(budget.used, MiB + 1)
  await push(null)
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  assert.ok(Buffer.concat(chunks).equals(Buffer.concat([Buffer.alloc(MiB, 'a'), Buffer.from('b')])))
  assert.equal(budget.used, 0)
})

test('without room in the budget it is a stream', async () => {
  const { budget, message, told, push } = setUp({ limit: 100 })
  budget.reserve(90)
  await push(Buffer.alloc(20))
  assert.deepEqual(told, [message])
})

test('a rejected body is reported as such; after that nothing more is reported', async () => {
  const { arrivals, message, told, push } = setUp({ limit: 8000 })
  await push(Buffer.alloc(1500))
  arrivals.begin(() => {}).grow(600)
  assert.deepEqual(told, ['no room'])
  await push(null)
  message.destroy()
  await scheduler.yield()
  assert.equal(told.length, 1)
})

test('a client that disconnects is reported once, and no memory remains', async () => {
  const { budget, message, told, push } = setUp()
  await push(Buffer.alloc(10))
  message.destroy()
  await scheduler.yield()
  assert.deepEqual(told, ['gone'])
  assert.equal(budget.used, 0)
})
