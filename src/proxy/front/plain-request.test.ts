/** A plain request is read as node:http reads it; a request that is odd in any way is left to node:http. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { PlainRequest, readPlain } from './plain-request.ts'

const maxHeaderBytes = 4096
const read = (text: string) => readPlain(Buffer.from(text, 'latin1'), maxHeaderBytes)
const kindOf = (text: string): string => {
  const found = read(text)
  return typeof found === 'string' ? found : 'plain'
}

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly rawHeaders: readonly string[]
  readonly headers: object
  readonly body: string
}

/** The first request that node:http reads from bytes, or the status that it refuses them with. */
async function nodeReader(t: TestContext): Promise<(bytes: Buffer) => Promise<Seen | string>> {
  let told: (seen: Seen) => void = () => {}
  const server = createServer({ maxHeaderSize: maxHeaderBytes }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, rawHeaders, headers } = request
      told({ method, url, rawHeaders, headers, body: Buffer.concat(chunks).toString('latin1') })
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (bytes) =>
    new Promise((resolve) => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1', () => socket.write(bytes))
      const done = (seen: Seen | string) => {
        socket.destroy()
        resolve(seen)
      }
      told = done
      socket.once('data', (answer) => done(answer.toString('latin1', 9, 12)))
      socket.once('close', () => done('closed'))
      socket.on('error', () => {})
    })
}

/** Mostly as clients send it, else odd. */
const mostly = <T>(usual: readonly T[], odd: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: odd })

const byte = fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code))
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
const names = mostly(
  ['Accept', 'X-Scope-OrgID', 'Cookie', 'Date', 'Connection', '__proto__', "!#$%&'*+-.^_`|~"],
  fc.constantFrom(
    ...['host', 'content-length', 'Transfer-Encoding', 'Expect', 'Upgrade', 'TE', 'Set-Cookie'],
    ...['X Y', 'X\t', '', ':', 'X-\u00e9', 'X(', 'X\0'],
  ),
)
const texts = mostly(
  ['', 'h', 'keep-alive', 'Keep-Alive', ' padded\t ', 'a, b', '"quoted" \\ text'],
  fc.oneof(
    fc.constantFrom('close', '0', '3', '03', '+3', '3, 3', 'chunked'),
    fc.string({ unit: fc.constantFrom('a', ' ', '\t', '"', ',', '\u00e9', '\u007f', '\u0000', '\r', '\n') }),
  ),
)
const wires = fc.record({
  method: mostly(['GET', 'POST'], fc.constantFrom('get', 'HEAD', 'PUT', 'GET ')),
  target: fc.oneof(
    fc.constantFrom('/', '/druid/v2', '/api/v1/query_range?query=up&start=1'),
    fc.string({ unit: visible }).map((text) => `/${text}`),
    fc.oneof(
      fc.constantFrom('/a?b=c#d', 'http://h/x', '*', '//x', ''),
      fc.string({ unit: byte }).map((text) => `/${text}`),
    ),
  ),
  version: mostly(['HTTP/1.1'], fc.constantFrom('HTTP/1.0', 'HTTP/1.1 ', '')),
  host: mostly([true], fc.constant(false)),
  lines: fc.array(
    fc.record({ name: names, colon: mostly([':', ': ', ':\t '], fc.constantFrom(' :', '')), text: texts }),
    { maxLength: 3 },
  ),
  length: fc.constantFrom('none', 'right', 'right', 'wrong'),
  ending: mostly(['\r\n'], fc.constantFrom('\n', '\r')),
  body: fc.string({ unit: fc.constantFrom('a', '{', '\r', '\n', '\u00ff'), maxLength: 6 }),
})
type Wire = typeof wires extends fc.Arbitrary<infer T> ? T : never

function bytesOf(wire: Wire): Buffer {
  const { method, target, version, host, length, ending, body } = wire
  const head = [`${method} ${target} ${version}`]
  if (host) head.push('Host: h')
  for (const { name, colon, text } of wire.lines) head.push(`${name}${colon}${text}`)
  if (length !== 'none') head.push(`Content-Length: ${body.length + (length === 'right' ? 0 : 1)}`)
  return Buffer.from(`${head.join(ending)}${ending}${ending}${body}`, 'latin1')
}

test('whatever is read as plain is read as node:http reads it', async (t) => {
  const nodes = await nodeReader(t)
  let plain = 0
  await fc.assert(
    fc.asyncProperty(wires, async (wire) => {
      const bytes = bytesOf(wire)
      const found = readPlain(bytes, maxHeaderBytes)
      if (!(found instanceof PlainRequest)) return
      plain++
      const seen = await nodes(bytes.subarray(0, found.size))
      const { method, url, rawHeaders, headers, unread } = found
      const body = Buffer.from(unread).toString('latin1')
      assert.deepEqual({ method, url, rawHeaders, headers: { ...headers }, body }, seen)
    }),
    { numRuns: 12_000 },
  )
  assert.ok(plain > 600, `${plain} plain ones`)
})

const plainHead = 'GET /x?y=1 HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n'

test('a plain GET and a plain POST, and the bytes behind them', () => {
  const get = read(`${plainHead}\r\nGET`)
  assert.ok(get instanceof PlainRequest)
  assert.deepEqual([get.method, get.url, get.size], ['GET', '/x?y=1', plainHead.length + 2])
  assert.deepEqual(get.rawHeaders, ['Host', 'h', 'Accept', '*/*'])
  const post = read(
    'POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: Keep-Alive\r\n\r\nabcdef',
  )
  assert.ok(post instanceof PlainRequest)
  assert.equal(Buffer.from(post.unread).toString(), 'abc')
  assert.deepEqual(post.endToEnd, ['host', 'h', 'content-length', '3'])
})

for (const [what, text] of [
  ['no Host', 'GET / HTTP/1.1\r\nAccept: a\r\n\r\n'],
  ['no header at all', 'GET / HTTP/1.1\r\n\r\n'],
  ['another method', 'DELETE /druid/v2/x HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['another version', 'GET / HTTP/1.0\r\nHost: h\r\n\r\n'],
  ['a whole URL', 'GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['a header twice', `${plainHead}accept: b\r\n\r\n`],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na'],
  [
    'a length and chunks',
    'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na',
  ],
  ['a length that is none', 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1a\r\n\r\na'],
  ['a GET with a length', 'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n'],
  ['a POST without one', 'POST / HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['a body that is still to come', 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabc'],
  ['a connection that is to be closed', `${plainHead}Connection: close\r\n\r\n`],
  ['headers that are for the connection', `${plainHead}Connection: keep-alive, x-y\r\nX-Y: 1\r\n\r\n`],
  ['what is expected', 'POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na'],
  ['an upgrade', `${plainHead}Upgrade: h2c\r\n\r\n`],
  ['a folded line', `${plainHead} more\r\n\r\n`],
  ['a space before the colon', `${plainHead}X : 1\r\n\r\n`],
  ['a line without a colon', `${plainHead}X\r\n\r\n`],
  ['a line break of another kind', 'GET / HTTP/1.1\nHost: h\r\n\r\n'],
  ['letters beyond ASCII in the target', 'GET /\u00e9 HTTP/1.1\r\nHost: h\r\n\r\n'],
  ['letters beyond ASCII in a value', `${plainHead}X: \u00e9\r\n\r\n`],
  ['a head over the limit', `${plainHead}X: ${'x'.repeat(maxHeaderBytes)}\r\n\r\n`],
  ['too many headers', `${plainHead}${Array.from({ length: 200 }, (_, i) => `X${i}: 1\r\n`).join('')}\r\n`],
] as const) {
  test(`left to node:http: ${what}`, () => assert.equal(kindOf(text), 'other'))
}

test('the beginning of a head is waited for while it may become plain', () => {
  const whole = `${plainHead}\r\n`
  for (let length = 1; length < whole.length; length++)
    assert.equal(kindOf(whole.slice(0, length)), 'partial')
  for (const text of [
    '\x16\x03\x01',
    'PRI * HTTP/2.0\r\n',
    'GET /\n',
    'GET /a\rb',
    'GEX',
    'GETX',
    'POST x',
    'GET /\0',
  ]) {
    assert.equal(kindOf(text), 'other', JSON.stringify(text))
  }
  assert.equal(kindOf('GET /'.padEnd(maxHeaderBytes, 'x')), 'other')
})

test('heads that differ share nothing, whatever was read before', () => {
  const one = read(`${plainHead}X-Scope-OrgID: a\r\n\r\n`) as PlainRequest
  const two = read(`${plainHead}X-Scope-OrgID: b\r\n\r\n`) as PlainRequest
  assert.deepEqual([one.headers['x-scope-orgid'], two.headers['x-scope-orgid']], ['a', 'b'])
})

test('headers are shared with later equal requests: they cannot be changed', () => {
  const text = `${plainHead}X-Scope-OrgID: a\r\n\r\n`
  const { rawHeaders, headers, endToEnd } = read(text) as PlainRequest
  for (const list of [rawHeaders, endToEnd]) {
    assert.throws(() => (list as string[]).push('X-Other', 'b'), TypeError)
  }
  assert.throws(() => {
    headers['x-scope-orgid'] = 'b'
  }, TypeError)
  assert.equal((read(text) as PlainRequest).headers, headers)
})
