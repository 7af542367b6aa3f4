import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import test from 'node:test'
import { fakeClock } from '../../testing/fake-clock.ts'
import { Connections } from './connections.ts'

class FakeSocket extends EventEmitter {
  bytesRead = 0
  written = ''
  isDestroyed = false
  write(text: string): void {
    this.written += text
  }
  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }
}

function setUp() {
  const clock = fakeClock()
  const connections = new Connections(clock, { requestMs: 60_000, idleMs: 120_000 })
  const socket = new FakeSocket()
  const shortcut = { isReceiving: false, adopts: () => false }
  connections.add(socket as unknown as Socket, shortcut)
  const begin = (bytes: number, isComplete = true) => {
    socket.bytesRead += bytes
    const request = { complete: isComplete }
    const response = { closed: false, once: () => {} }
    connections.began(socket as unknown as Socket, request, response)
    return { request, response }
  }
  return { clock, connections, socket, shortcut, begin }
}

test('a connection that never sends a request is refused after the time for one', async () => {
  const { clock, socket } = setUp()
  await clock.advance(57_000)
  assert.ok(!socket.isDestroyed)
  await clock.advance(6_000)
  assert.ok(socket.isDestroyed)
  assert.match(socket.written, /^HTTP\/1\.1 408 /)
})

test('a head that comes drop by drop does not put the end off', async () => {
  const { clock, socket } = setUp()
  for (let second = 0; second < 66; second++) {
    socket.bytesRead++
    await clock.advance(1_000)
  }
  assert.ok(socket.isDestroyed)
})

test('a second head that comes drop by drop is cut off too', async () => {
  const { clock, socket, begin } = setUp()
  begin(100).response.closed = true
  await clock.advance(10_000)
  for (let second = 0; second < 70 && !socket.isDestroyed; second++) {
    socket.bytesRead++
    await clock.advance(1_000)
  }
  assert.ok(socket.isDestroyed)
})

test('a second head that began together with the first request and does not go on is cut off too', async () => {
  const { clock, socket, shortcut, begin } = setUp()
  begin(110).response.closed = true
  shortcut.isReceiving = true
  await clock.advance(57_000)
  assert.ok(!socket.isDestroyed)
  await clock.advance(12_000)
  assert.ok(socket.isDestroyed)
  assert.match(socket.written, /^HTTP\/1\.1 408 /)
})

test('a body that does not come is cut off; nothing is written into an answer', async () => {
  const { clock, socket, begin } = setUp()
  begin(100, false)
  await clock.advance(66_000)
  assert.ok(socket.isDestroyed)
  assert.equal(socket.written, '')
})

test('who waits for an answer may wait', async () => {
  const { clock, socket, begin } = setUp()
  begin(100)
  await clock.advance(3_600_000)
  assert.ok(!socket.isDestroyed)
})

test('a busy connection lives; an idle one is closed after its time', async () => {
  const { clock, socket, begin } = setUp()
  for (let turn = 0; turn < 600; turn++) {
    begin(100).response.closed = true
    await clock.advance(1_000)
  }
  assert.ok(!socket.isDestroyed)
  await clock.advance(115_000)
  assert.ok(!socket.isDestroyed)
  await clock.advance(10_000)
  assert.ok(socket.isDestroyed)
  assert.equal(socket.written, '')
})

test('nobody is looked at where there is nobody', () => {
  const { clock, socket } = setUp()
  assert.equal(clock.pending, 1)
  socket.destroy()
  assert.equal(clock.pending, 0)
})

test('the end of a listener: unused connections are closed, answers under way are known', () => {
  const { connections, socket, begin } = setUp()
  const used = begin(10)
  connections.closeIdle()
  assert.ok(!socket.isDestroyed)
  assert.deepEqual([...connections.answering()], [used.response])
  used.response.closed = true
  assert.deepEqual([...connections.answering()], [])
})
