import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import test from 'node:test'
import { scheduler } from 'node:timers/promises'
import { fakeClock } from '../../testing/fake-clock.ts'
import { type ClientLimits, Connections } from './connections.ts'

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

const limits = { requestTimeoutMs: 60_000, minRateBytes: 0, maxIncompletePerAddress: 1000 }

function setUp() {
  const clock = fakeClock()
  const connections = new Connections(clock, limits)
  const socket = new FakeSocket()
  const shortcut = { isReceiving: false, adopt: () => false }
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

test('a client that waits for an answer may wait', async () => {
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

test('there is no scan without connections', () => {
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

/** Connections with these limits, and a way to open more of them, each from an address. */
function setUpLimited(given: Partial<ClientLimits>) {
  const clock = fakeClock()
  const cut: string[] = []
  const connections = new Connections(clock, { ...limits, ...given, onCut: (reason) => cut.push(reason) })
  const open = (remoteAddress = '10.0.0.1') => {
    const socket = Object.assign(new FakeSocket(), { remoteAddress })
    connections.add(socket as unknown as Socket, { isReceiving: false, adopt: () => false })
    return socket
  }
  return { clock, cut, connections, open }
}

test('a request that arrives more slowly than the minimum rate is refused with a sentence', async () => {
  const { clock, cut, open } = setUpLimited({ minRateBytes: 1000 })
  const [slow, fast] = [open(), open()]
  for (let second = 0; second < 15; second++) {
    slow.bytesRead += 900
    fast.bytesRead += 1100
    await clock.advance(1_000)
  }
  assert.ok(slow.isDestroyed)
  assert.match(slow.written, /^HTTP\/1\.1 408 [\s\S]*\r\n\r\nwindowpane: .*limits\.minRate\n$/)
  assert.ok(!fast.isDestroyed)
  assert.deepEqual(cut, ['slow_sender'])
})

test('a connection that was opened ahead of its first request has no rate', async () => {
  const { clock, open } = setUpLimited({ minRateBytes: 1000 })
  const socket = open()
  await clock.advance(55_000)
  assert.ok(!socket.isDestroyed)
})

test('a body that we do not read is not the fault of its sender', async () => {
  const { clock, connections, open } = setUpLimited({ minRateBytes: 1000 })
  const [unread, read] = [open(), open()]
  const response = () => ({ closed: false, once: () => {}, headersSent: false, socket: null })
  for (const [socket, readableLength] of [
    [unread, 65_536],
    [read, 0],
  ] as const) {
    socket.bytesRead = 100
    connections.began(socket as unknown as Socket, { complete: false, readableLength }, response())
  }
  await clock.advance(30_000)
  assert.ok(!unread.isDestroyed)
  assert.ok(read.isDestroyed)
})

test('the sender of a body that does not come is answered where it is the turn of that answer', async () => {
  const { clock, connections, open } = setUpLimited({ minRateBytes: 1000 })
  const [inTurn, behind] = [open(), open()]
  const request = { complete: false }
  const response = { closed: false, once: () => {}, headersSent: false }
  for (const [socket, assigned] of [
    [inTurn, inTurn],
    [behind, null],
  ] as const) {
    const at = { ...response, socket: assigned as unknown as Socket | null }
    connections.began(socket as unknown as Socket, request, at)
  }
  await clock.advance(30_000)
  assert.match(inTurn.written, /^HTTP\/1\.1 408 /)
  assert.ok(behind.isDestroyed)
  assert.equal(behind.written, '')
})

test('of too many incomplete requests of one address the oldest are refused', async () => {
  const { clock, cut, open } = setUpLimited({ maxIncompletePerAddress: 2 })
  const other = open('10.0.0.2')
  other.bytesRead++
  const sockets = []
  for (let i = 0; i < 4; i++) {
    const socket = open()
    socket.bytesRead++
    sockets.push(socket)
    await clock.advance(500)
  }
  await clock.advance(3_000)
  assert.deepEqual(
    sockets.map(({ isDestroyed }) => isDestroyed),
    [true, true, false, false],
  )
  assert.match(sockets[0]!.written, /^HTTP\/1\.1 408 [\s\S]*limits\.maxIncompletePerAddress/)
  assert.ok(!other.isDestroyed)
  assert.deepEqual(cut, ['incomplete_per_address', 'incomplete_per_address'])
})

test('responses that wait behind another are closed once, with their connection', async (t) => {
  const { connections, shortcut } = setUp()
  const responses: ServerResponse[] = []
  const closed: number[] = []
  const server = createServer((request, response) => {
    const place = responses.push(response)
    response.on('close', () => closed.push(place))
    if (response.socket === null) connections.waits(request.socket, response)
  })
  server.on('connection', (socket) => connections.add(socket, shortcut))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(3))
  while (responses.length < 3) await scheduler.yield()
  const { socket } = responses[0]!
  client.destroy()
  await once(socket!, 'close')
  await scheduler.yield()
  for (const { closed: isClosed, destroyed } of responses) assert.ok(isClosed && destroyed)
  assert.deepEqual(closed.toSorted(), [1, 2, 3])
  connections.stop()
})
