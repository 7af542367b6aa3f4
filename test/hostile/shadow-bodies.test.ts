/** Hostile databases in shadow mode: whatever they send reaches the client as it came, and costs no more than the limits allow. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ask, header, until } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { prometheusBuildInfo, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { NOW, oldRange } from '../proxy/setup.ts'
import { reportOf, startShadowedProxy } from '../shadow/proxy-rig.ts'
import { bounded } from '../wait.ts'

const MiB = 2 ** 20
const path = rangePath(oldRange())
const truth = Buffer.from(matrixFor(new URLSearchParams(path.slice(path.indexOf('?'))), 1))
const takesGzip = { 'Accept-Encoding': 'gzip' }

async function start(t: TestContext, url?: string) {
  const clock = fakeClock(NOW)
  const upstream = await startScriptedUpstream(t)
  const proxy = await startShadowedProxy(t, {
    ...{ upstream: url ?? upstream.url, clock, limits: { maxAnswerBytes: MiB, memoryBytes: 64 * MiB } },
    passTime: () => clock.advance(60_000),
  })
  const report = async () => {
    await clock.advance(0)
    return reportOf(proxy.admin)
  }
  /** The findings, once there are this many. */
  const reported = async (count: number) => {
    for (;;) {
      const found = await report()
      const skipped = Object.values(found.skipped).reduce((sum, each) => sum + each, 0)
      if (found.comparisons + skipped >= count) return found
    }
  }
  return { upstream, proxy, url: proxy.url, reported }
}

test('bodies that lie about their encoding, or blow up, are passed on byte for byte', async (t) => {
  const { url, upstream, proxy, reported } = await start(t)
  const used = proxy.memory.used
  const gzipped = gzipSync(truth)
  const bodies: Record<string, readonly [encoding: string, body: Buffer]> = {
    'a bomb': ['gzip', gzipSync(Buffer.alloc(256 * MiB))],
    'plain bytes that claim to be gzip': ['gzip', truth],
    'a truncated body': ['gzip', gzipped.subarray(0, gzipped.length - 9)],
    'gzip in gzip': ['gzip, gzip', gzipSync(gzipped)],
    'another name of gzip': ['x-gzip', gzipped],
    'an unknown encoding of the body': ['snake-oil', Buffer.from('rattle')],
    'deflate without its header': ['deflate', deflateSync(truth).subarray(2)],
  }
  for (const [name, [encoding, body]] of Object.entries(bodies)) {
    upstream.script = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': encoding })
      response.end(body)
    }
    const answer = await ask(url, path, { headers: takesGzip })
    assert.equal(header(answer, 'content-encoding'), encoding, name)
    assert.ok(answer.body.equals(body), name)
  }
  const { comparisons, skipped } = await reported(Object.keys(bodies).length)
  assert.equal(comparisons, 0)
  assert.deepEqual(skipped, { too_large: 1, unusable_answer: Object.keys(bodies).length - 1 })
  await until(() => proxy.memory.used === used)
})

test('bodies that are compressed differently are compared by their content', async (t) => {
  const { url, upstream, reported } = await start(t)
  const halves = [truth.subarray(0, 50), truth.subarray(50)]
  const bodies: readonly Buffer[] = [
    gzipSync(truth, { level: 1 }),
    gzipSync(truth, { level: 9 }),
    gzipSync(truth, { level: 0 }),
    Buffer.concat(halves.map((half) => gzipSync(half))),
  ]
  for (const body of bodies) {
    upstream.script = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' })
      response.end(body)
    }
    assert.ok((await ask(url, path, { headers: takesGzip })).body.equals(body))
  }
  const { comparisons, equal } = await reported(bodies.length)
  assert.deepEqual([comparisons, equal], [bodies.length, bodies.length])
})

test('a wrong length is forwarded unchanged, and nothing of it is compared or stored', async (t) => {
  const lies: Record<string, (socket: Socket) => void> = {
    'more promised than sent': (socket) =>
      void socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${truth.length + 10}\r\n\r\n${truth}`),
    'chunks that do not end': (socket) =>
      void socket.end(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${truth.length.toString(16)}\r\n${truth}\r\n`,
      ),
    'less promised than sent': (socket) =>
      void socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${truth.length - 10}\r\n\r\n${truth}`),
  }
  let lie: (socket: Socket) => void = () => {}
  const liar = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (head) => {
      if (head.includes('buildinfo')) socket.end(buildInfo)
      else lie(socket)
    })
  })
  await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
  t.after(() => void liar.close())
  const { port } = liar.address() as { port: number }
  const { url, reported, proxy } = await start(t, `http://127.0.0.1:${port}`)
  const used = proxy.memory.used
  let count = 0
  for (const [name, told] of Object.entries(lies)) {
    lie = told
    const got = await rawAnswer(url)
    // The client gets no more than was promised, and a response that is short ends with its connection.
    if (name === 'less promised than sent') assert.ok(got.endsWith(truth.subarray(0, -10).toString()), name)
    else assert.ok(got.includes(truth.toString().slice(0, 100)), name)
    count++
  }
  const { comparisons, skipped } = await reported(count)
  assert.equal(comparisons, 0, JSON.stringify(skipped))
  await until(() => proxy.memory.used === used)
})

const buildInfo = (() => {
  const body = JSON.stringify({ status: 'success', data: prometheusBuildInfo })
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
})()

/** Everything that comes on one connection. */
async function rawAnswer(url: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`)
  await bounded(closed, () => `the end of ${Buffer.concat(chunks)}`)
  return Buffer.concat(chunks).toString()
}
