/**
 * A broken gzip body: the client gets a 502 with the reason, or the stored answer, and never half an answer as a whole
 * one.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ask, header, outcomeOf, rawClient } from '../proxy/client.ts'
import { bigMatrix, rangePath } from '../proxy/matrix.ts'
import { oldRange, startStand } from '../proxy/setup.ts'
import { type RawQuery, startRawUpstream } from './raw-upstream.ts'

const minute = 60_000
const range = oldRange()
const path = rangePath(range)

async function start(t: TestContext) {
  const upstream = await startRawUpstream(t)
  return { ...(await startStand(t, { upstream: upstream.url })), upstream }
}

const ruins: Readonly<Record<string, (body: string) => Buffer>> = {
  'no gzip at all': (body) => Buffer.from(body),
  nothing: () => Buffer.alloc(0),
  'half a header': (body) => gzipSync(body).subarray(0, 5),
  'cut off': (body) => gzipSync(body).subarray(0, -20),
  'without its last byte': (body) => gzipSync(body).subarray(0, -1),
  'a wrong checksum': (body) => {
    const packed = gzipSync(body)
    packed[packed.length - 6]! ^= 1
    return packed
  },
  'wrong bytes in the middle': (body) => gzipSync(body).fill(0xff, 20, 40),
}

const chunked = (bytes: Buffer): Buffer[] => [
  Buffer.from(`${bytes.length.toString(16)}\r\n`),
  bytes,
  Buffer.from('\r\n0\r\n\r\n'),
]

const frames: Readonly<Record<string, (query: RawQuery, bytes: Buffer) => void>> = {
  'of known length': (query, bytes) => {
    query.write(`${head}Content-Length: ${bytes.length}\r\n\r\n`)
    query.write(bytes)
  },
  'in chunks': (query, bytes) => {
    query.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
    if (bytes.length === 0) query.write('0\r\n\r\n')
    else for (const part of chunked(bytes)) query.write(part)
  },
  'until the connection ends': (query, bytes) => {
    query.write(`${head}Connection: close\r\n\r\n`)
    query.write(bytes)
    query.close()
  },
}

const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n'

for (const [what, ruin] of Object.entries(ruins)) {
  for (const [framed, send] of Object.entries(frames)) {
    for (const accepted of ['gzip', 'identity']) {
      test(`${what}, ${framed}, for a client that accepts ${accepted}: a 502, and nothing is stored`, async (t) => {
        const { url, upstream, budget } = await start(t)
        upstream.script = (query) => send(query, ruin(query.body))
        const headers = { 'Accept-Encoding': accepted }
        const answer = await ask(url, path, { headers })
        assert.deepEqual([answer.status, outcomeOf(answer)], [502, 'error/database_unreachable'])
        assert.equal(header(answer, 'content-encoding'), undefined)
        assert.match(JSON.parse(answer.body.toString()).error, /^windowpane: .*broken gzip body/)
        assert.equal(budget.used, 0)
        upstream.script = (query) => query.answer()
        assert.equal(outcomeOf(await ask(url, path, { headers })), 'miss/absent')
      })
    }
  }

  test(`${what}: stored buckets are served instead`, async (t) => {
    const { url, upstream, clock } = await start(t)
    await ask(url, path)
    await clock.advance(3_600_000)
    upstream.script = (query) => frames['of known length']!(query, ruin(query.body))
    assert.equal(outcomeOf(await ask(url, path)), 'stale/database_unreachable')
    const wider = await ask(url, rangePath({ ...range, end: range.end + minute }))
    assert.deepEqual([wider.status, outcomeOf(wider)], [502, 'error/database_unreachable'])
  })
}

for (const [length, bytes, ending] of [
  ['short', 0, /^HTTP\/1\.1 502 /],
  ['long', 64 * 1024, /^HTTP\/1\.1 200 /],
] as const) {
  test(`a ${length} body that goes on behind its encoded end is broken: nobody waits for the rest`, async (t) => {
    const { url, upstream, budget } = await start(t)
    upstream.script = (query) => {
      const packed = gzipSync(Buffer.concat([Buffer.from(query.body), randomBytes(bytes)]))
      query.write(`${head}Content-Length: ${packed.length + 1000}\r\n\r\n`)
      // A zero begins no other member: the decoder stops there.
      query.write(Buffer.concat([packed, Buffer.alloc(1)]))
    }
    const client = await rawClient(url)
    client.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
    if (bytes === 0) await client.has('broken gzip body')
    else await client.closed
    assert.match(client.received().toString(), ending)
    assert.equal(budget.used, 0)
    upstream.script = (query) => query.answer()
    assert.equal(outcomeOf(await ask(url, path)), 'miss/absent')
  })
}

test('a long answer that breaks after its client has a part of it is broken off, not ended', async (t) => {
  const { url, upstream, budget } = await start(t)
  const packed = gzipSync(bigMatrix('anna', 512 * 1024, range.start), { level: 0 })
  packed[packed.length - 6]! ^= 1
  upstream.script = (query) => frames['in chunks']!(query, packed)
  const client = await rawClient(url)
  client.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n`)
  const received = await client.closed
  assert.ok(received.includes('HTTP/1.1 200 OK'))
  assert.ok(!received.toString('latin1').endsWith('0\r\n\r\n'))
  assert.equal(budget.used, 0)
})
