import assert from 'node:assert/strict'
import test from 'node:test'
import { socketWith } from '../../../test/rigs/runtime-rig.ts'
import { allOn } from '../../core/runtime.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { Reply } from './exchange.ts'
import { StallWatch } from './stall.ts'

/** One write of 10 MB, of which the client reads as much as the test sets; 1000 B/s over 60 s are required. */
function setUp(minRateBytes = 1000, hasTurn = true) {
  const clock = fakeClock()
  const handle = { writeQueueSize: 10e6 }
  const socket = socketWith(handle)
  const cut: string[] = []
  const reply: { socket: typeof socket | null; once(): void; destroy(): void } = {
    socket: hasTurn ? socket : null,
    once: () => {},
    destroy: () => void cut.push('destroyed'),
  }
  const options = { clock, writeTimeoutMs: 60_000, minRateBytes, runtime: allOn }
  const onSlowReader = () => cut.push('counted')
  new StallWatch(reply as unknown as Reply, { ...options, onSlowReader }).watch()
  const take = (bytes: number) => {
    handle.writeQueueSize -= bytes
    return clock.advance(60_000)
  }
  const giveTurn = () => {
    reply.socket = socket
  }
  return { take, cut, socket, giveTurn }
}

test('a client that takes less than the minimum rate is cut off, and counted', async () => {
  const { take, cut } = setUp()
  await take(60_000)
  await take(60_000)
  assert.deepEqual(cut, [])
  await take(59_999)
  assert.deepEqual(cut, ['counted', 'destroyed'])
})

test('without a minimum rate one byte is enough', async () => {
  const { take, cut } = setUp(0)
  await take(1)
  assert.deepEqual(cut, [])
  await take(0)
  assert.deepEqual(cut, ['counted', 'destroyed'])
})

test('a client that has taken everything is left alone', async () => {
  const { take, cut, socket } = setUp()
  socket.writableLength = 0
  await take(10e6)
  await take(0)
  assert.deepEqual(cut, [])
})

test('an answer that waits behind another on its connection has its time from its turn on', async () => {
  const { take, cut, giveTurn } = setUp(1000, false)
  await take(0)
  await take(0)
  giveTurn()
  await take(0)
  assert.deepEqual(cut, [])
  await take(60_000)
  assert.deepEqual(cut, [])
  await take(0)
  assert.deepEqual(cut, ['counted', 'destroyed'])
})
