/** Hostile clients of a TLS listener: handshakes that stall, bytes that are no TLS, renegotiation, strange names. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect as connectPlain, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { systemClock } from '../../src/core/clock.ts'
import { startServer } from '../../src/proxy/assembly/server.ts'
import { type Limits, limitsOf } from '../../src/proxy/limits.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { matrixFor } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { authority, needsOpenssl } from '../upstream/certificates.ts'
import { bounded } from '../wait.ts'
import { many, startWorkers } from '../workers/running-workers.ts'
import {
  askGood,
  connectTo,
  exchange,
  goodPath,
  hostileRequests,
  statusesIn,
  type Target,
} from './wire-corpus.ts'

const truth = matrixFor(new URLSearchParams(goodPath.slice(goodPath.indexOf('?'))), 1)

async function start(t: TestContext, given: Partial<Limits> = {}): Promise<Required<Target>> {
  const ours = authority('hostile')
  const upstream = await startScriptedUpstream(t)
  const limits = limitsOf({ ...given, drainMs: 1 })
  const backend = prometheus({ settledAgeMs: 3_600_000, maxBuckets: limits.maxBuckets })
  const terms = { mode: 'on', identity: 'separate', policy: ladder(), maxStaleMs: limits.maxStaleMs } as const
  const database = { name: 'main', backend, upstream: { urls: [upstream.url] } }
  const proxy = await startServer({
    ...{ listen: '127.0.0.1:0', limits, clock: systemClock, tls: ours.issue('leaf') },
    databases: [{ ...database, settings: () => ({ terms, rules: [] }) }],
  })
  t.after(() => proxy.close())
  return { url: proxy.url, ca: readFileSync(ours.cert) }
}

const portOf = ({ url }: Target): number => Number(new URL(url).port)

async function serves(target: Required<Target>): Promise<void> {
  const answer = await askGood(target)
  assert.ok(answer.includes(truth), answer)
}

/** Everything that came until the other side closed. */
function closing(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
  const closed = new Promise<Buffer>((resolve) => socket.once('close', () => resolve(Buffer.concat(chunks))))
  return bounded(closed, () => 'the end of a connection')
}

test('the shortcut on TLS answers hostile requests as it does without', needsOpenssl, async (t) => {
  const target = await start(t)
  await serves(target)
  for (const request of hostileRequests) {
    const answer = await exchange(target, request)
    assert.deepEqual(statusesIn(answer), request.statuses, `${request.name}: ${answer}`)
  }
  await serves(target)
})

test('a head that comes byte by byte on TLS is one request', needsOpenssl, async (t) => {
  const target = await start(t)
  const socket = await connectTo(target)
  const closed = closing(socket)
  for (const byte of Buffer.from(`GET ${goodPath} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`))
    socket.write(Buffer.of(byte))
  assert.ok((await closed).toString().includes(truth))
})

test('a client without a TLS handshake in time is disconnected', needsOpenssl, async (t) => {
  const target = await start(t, { requestTimeoutMs: 200 })
  const beginnings = [
    Buffer.alloc(0),
    Buffer.of(0x16),
    Buffer.of(0x16, 3, 1, 2, 0, 1, 0),
    clientHello('localhost').subarray(0, 40),
  ]
  const sockets = beginnings.map((bytes) => {
    const socket = connectPlain(portOf(target), '127.0.0.1')
    if (bytes.length > 0) socket.write(bytes)
    return closing(socket)
  })
  await Promise.all(sockets)
})

test(
  'bytes that are no TLS close their connection, without an answer in plain text',
  needsOpenssl,
  async (t) => {
    const target = await start(t)
    const attacks: Record<string, Buffer> = {
      'plain HTTP': Buffer.from('GET / HTTP/1.1\r\nHost: h\r\n\r\n'),
      'a record that is too long': Buffer.of(0x16, 3, 3, 0xff, 0xff, ...Buffer.alloc(4096)),
      'an empty record': Buffer.of(0x16, 3, 1, 0, 0),
      'application data first': Buffer.of(0x17, 3, 3, 0, 4, 1, 2, 3, 4),
      'SSL 2': Buffer.of(0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10, ...Buffer.alloc(0x2e)),
      'half a hello': clientHello('localhost').subarray(0, 60),
      zeros: Buffer.alloc(65_536),
    }
    for (const [name, bytes] of Object.entries(attacks)) {
      const socket = connectPlain(portOf(target), '127.0.0.1')
      const closed = closing(socket)
      socket.end(bytes)
      assert.doesNotMatch((await closed).toString('latin1'), /HTTP/, name)
    }
    await serves(target)
  },
)

test('names that are none change nothing', needsOpenssl, async (t) => {
  const target = await start(t)
  const names = ['x'.repeat(255), '\u0000', '..', 'a'.repeat(60_000), '*.*', '127.0.0.1', '\u00ff\u00fe', '']
  for (const name of names) {
    const socket = connectPlain(portOf(target), '127.0.0.1')
    const closed = closing(socket)
    socket.end(clientHello(name))
    assert.doesNotMatch((await closed).toString('latin1'), /HTTP/, name.slice(0, 20))
  }
  await serves(target)
})

test('rubbish and cuts in the middle of TLS end one connection', needsOpenssl, async (t) => {
  const target = await start(t)
  const spoilers: Record<string, (raw: Socket, secure: TLSSocket) => void> = {
    'rubbish between records': (raw) => void raw.write(Buffer.alloc(300, 0x41)),
    'a record with a wrong checksum': (raw) =>
      void raw.write(Buffer.of(0x17, 3, 3, 0, 32, ...Buffer.alloc(32))),
    'half a record': (raw) => void raw.end(Buffer.of(0x17, 3, 3, 0, 32, 1, 2)),
    'a reset in the middle of a head': (raw, secure) => {
      secure.write('GET /api/v1/lab', () => raw.resetAndDestroy())
    },
  }
  for (const [name, spoil] of Object.entries(spoilers)) {
    const raw = connectPlain(portOf(target), '127.0.0.1')
    const secure = connect({ socket: raw, ca: target.ca, host: '127.0.0.1' })
    await new Promise<void>((resolve) => secure.once('secureConnect', () => resolve()))
    const closed = closing(secure)
    const rawClosed = closing(raw)
    spoil(raw, secure)
    await Promise.all([closed, rawClosed])
    await serves(target)
    assert.ok(raw.destroyed, name)
  }
})

test('a client that renegotiates again and again is disconnected', needsOpenssl, async (t) => {
  const target = await start(t)
  const secure = connect({ port: portOf(target), host: '127.0.0.1', ca: target.ca, maxVersion: 'TLSv1.2' })
  await new Promise<void>((resolve) => secure.once('secureConnect', () => resolve()))
  assert.equal(secure.getProtocol(), 'TLSv1.2')
  const closed = closing(secure)
  const again = (error: Error | null): void => {
    if (error === null && !secure.destroyed) secure.renegotiate({ rejectUnauthorized: true }, again)
  }
  again(null)
  await closed
  await serves(target)
})

test('two workers behind TLS serve on while others send rubbish', needsOpenssl, async (t) => {
  const ours = authority('hostile-workers')
  const pair = ours.issue('leaf')
  const upstream = await startScriptedUpstream(t)
  const { url, child } = await startWorkers(t, {
    upstream,
    flags: [`--tls.cert=${pair.cert}`, `--tls.key=${pair.key}`],
  })
  const target = { url, ca: readFileSync(ours.cert) }
  const rubbish = many(0, 40).map(async (_, index) => {
    const socket = connectPlain(portOf(target), '127.0.0.1')
    const closed = closing(socket)
    socket.end(index % 2 === 0 ? Buffer.from('GET / HTTP/1.1\r\n\r\n') : clientHello('x').subarray(0, 50))
    await closed
  })
  await Promise.all([...rubbish, ...many(0, 12).map(() => serves(target))])
  for (const request of hostileRequests)
    assert.deepEqual(statusesIn(await exchange(target, request)), request.statuses, request.name)
  assert.doesNotMatch(child.err(), /a worker ended/)
})

/** A ClientHello of TLS 1.2 with this server name, whatever is in it. */
function clientHello(name: string): Buffer {
  const nameBytes = Buffer.from(name, 'latin1')
  const entry = Buffer.concat([Buffer.of(0), u16(nameBytes.length), nameBytes])
  const serverName = Buffer.concat([u16(0), u16(entry.length + 2), u16(entry.length), entry])
  const body = Buffer.concat([
    Buffer.of(3, 3),
    Buffer.alloc(32, 7),
    Buffer.of(0),
    ...[u16(4), u16(0xc02b), u16(0xc02f)],
    Buffer.of(1, 0),
    u16(serverName.length),
    serverName,
  ])
  const message = Buffer.concat([Buffer.of(1, body.length >>> 16), u16(body.length & 0xffff), body])
  return Buffer.concat([Buffer.of(0x16, 3, 1), u16(Math.min(message.length, 16_384)), message])
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value & 0xffff)
  return bytes
}
