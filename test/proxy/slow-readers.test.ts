/** Clients that take their time: their bytes are theirs, their memory comes back. Bodies exceed the socket buffers. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, outcomeOf, type RawClient, rawClient, steady, until } from './client.ts'
import { bigMatrix, matrixOf, rangePath } from './matrix.ts'
import type { ScriptedUpstream } from './scripted-upstream.ts'
import { oldRange, runtime, startBoth } from './setup.ts'

const MiB = 2 ** 20
const range = oldRange(1, 1)
const names = ['anna', 'bert', 'carl', 'dora', 'emil', 'fred', 'gust', 'hans']
const pathOf = (name: string) => rangePath({ ...range, query: name })
const requestFor = (name: string, more = '') =>
  `GET ${pathOf(name)} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${more}\r\n`

/** Answers each name with a body that repeats the name in every kilobyte. */
function serveNames(upstream: ScriptedUpstream, bytes: number): Map<string, Buffer> {
  // Of thousands of series it would be kept as a whole, and not be put together for each reader.
  const matrix = (name: string) => matrixOf(name, { bytes, at: range.start, seriesBytes: 16 * 1024 })
  const bodies = new Map(names.map((name) => [name, matrix(name)]))
  upstream.script = (request, response) => {
    const name = new URL(request.url!, 'http://x').searchParams.get('query')!
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(bodies.get(name))
  }
  return bodies
}

const isBody = (received: Buffer, body: Buffer): boolean =>
  received.subarray(received.indexOf('\r\n\r\n') + 4).equals(body)

async function stopped(url: string, name: string, more = ''): Promise<RawClient> {
  const client = await rawClient(url)
  client.socket.pause()
  client.write(requestFor(name, more))
  return client
}

// 7 MiB is a size that the scratch pool keeps; 24 MiB is one that it does not.
for (const [size, readers] of [
  [7 * MiB, 24],
  [24 * MiB, 48],
] as const) {
  test(`${readers} slow readers of ${size / MiB} MiB each get their own bytes`, async (t) => {
    const { url, upstream, budget } = await startBoth(t, { limits: { memoryBytes: 3 * 1024 * MiB } })
    const bodies = serveNames(upstream, size)
    for (const name of names) await ask(url, pathOf(name))
    // The last one may not be stored yet.
    await steady(() => budget.used)
    const before = budget.used
    const clients: [string, RawClient][] = []
    for (let i = 0; i < readers; i++) {
      const name = names[i % names.length]!
      clients.push([name, await stopped(url, name)])
    }
    // Readers of one answer share its bytes.
    const held = names.length * bodies.get('anna')!.length
    await until(() => budget.used >= before + held)
    for (const [name, client] of clients) {
      client.socket.resume()
      assert.ok(isBody(await client.closed, bodies.get(name)!), `${name} got other bytes`)
    }
    assert.equal(upstream.seen.length, names.length)
    await until(() => budget.used === before)
  })
}

for (const [what, encoding] of [
  ['a hit', ''],
  ['a compressed hit', 'Accept-Encoding: gzip\r\n'],
] as const) {
  test(`${what} without a reader is aborted by the clock and its memory released`, async (t) => {
    const { url, upstream, budget, clock } = await startBoth(t, { limits: { writeTimeoutMs: 60_000 } })
    // Compressed it must still exceed the buffers: bytes without a pattern.
    const body = encoding === '' ? bigMatrix('anna', 24 * MiB, range.start) : noise(24 * MiB)
    upstream.script = (_request, response) => void response.end(body)
    await ask(url, pathOf('anna'))
    // A cached compressed answer stays: only unsent bytes must be released.
    if (encoding !== '') await ask(url, pathOf('anna'), { headers: { 'Accept-Encoding': 'gzip' } })
    await steady(() => budget.used)
    const before = budget.used
    const client = await stopped(url, 'anna', encoding)
    // One timer looks at all connections, the other one waits for this reader.
    await until(() => budget.used > before && clock.pending > 1)
    await steady(() => budget.used)
    assert.ok(budget.used > before + MiB, 'unsent bytes are in the budget')
    await clock.advance(59_000)
    assert.ok(budget.used > before + MiB)
    await clock.advance(1_001)
    await until(() => budget.used === before)
    client.socket.resume()
    assert.ok((await client.closed).length < body.length)
  })
}

/** A matrix of values that do not compress. */
function noise(bytes: number): Buffer {
  const count = Math.ceil(bytes / 1024)
  let state = 1
  const random = () => {
    state = (state * 48_271) % 0x7fffffff
    return state.toString(36)
  }
  const all = Array.from({ length: count }, (_, index) => {
    const label = Array.from({ length: 160 }, random).join('')
    return `{"metric":{"a":"${String(index).padStart(9, '0')}${label}"},"values":[[${range.start / 1000},"1"]]}`
  })
  return Buffer.from(`{"status":"success","data":{"resultType":"matrix","result":[${all.join(',')}]}}`)
}

for (const [what, target] of [
  ['a miss', pathOf('anna')],
  ['a forwarded answer', '/federate'],
] as const) {
  test(`${what} without a reader is aborted by the clock and its memory released`, async (t) => {
    const { url, upstream, budget, clock } = await startBoth(t, { limits: { writeTimeoutMs: 60_000 } })
    const body = bigMatrix('anna', 40 * MiB, range.start)
    upstream.script = (_request, response) => void response.end(body)
    // Stored buckets stay; the unsent part, more than half of the body, must be released.
    let held = 0
    const client = await rawClient(url)
    client.socket.pause()
    client.write(`GET ${target} HTTP/1.1\r\nHost: h\r\n\r\n`)
    await until(() => upstream.seen.length === 1)
    if (target !== '/federate') {
      await until(() => budget.used > 40 * MiB && upstream.seen[0]!.response.writableFinished)
      await steady(() => budget.used)
      held = budget.used - 20 * MiB
    } else await steady(() => upstream.seen[0]!.response.writableLength)
    // The first look sees that something was taken since the answer began, the second that nothing was.
    await clock.advance(120_000)
    client.socket.resume()
    assert.ok((await client.closed).length < body.length)
    await until(() => budget.used <= held)
  })
}

test('what a client has not read of an answer too large to keep is in the budget', async (t) => {
  const { url, upstream, budget } = await startBoth(t, { limits: { maxAnswerBytes: 16 * MiB } })
  const body = bigMatrix('anna', 24 * MiB, range.start)
  upstream.script = (_request, response) => void response.end(body)
  const client = await stopped(url, 'anna')
  await until(() => upstream.seen.length === 1)
  await steady(() => upstream.seen[0]!.response.writableLength)
  await steady(() => budget.used)
  assert.ok(budget.used > 8 * MiB, `only ${budget.used} bytes are counted`)
  client.socket.resume()
  assert.ok(isBody(await client.closed, body))
  await until(() => budget.used === 0)
})

test('what its clients have not read of an error is in the budget', async (t) => {
  const { url, upstream, budget } = await startBoth(t)
  const body = Buffer.alloc(1000 * 1024, 'x')
  upstream.script = (_request, response) => void response.writeHead(500).end(body)
  const client = await rawClient(url)
  client.socket.pause()
  // More than the buffers of the system take.
  const readers = 32
  client.write(
    requestFor('anna')
      .replace('Connection: close\r\n', '')
      .repeat(readers - 1),
  )
  client.write(requestFor('anna'))
  await until(() => budget.used > 4 * MiB)
  client.socket.resume()
  const received = await client.closed
  assert.equal(received.toString('latin1').split('HTTP/1.1 500').length - 1, readers)
  await until(() => budget.used === 0)
})

test('what a client has not read is released once, where the body of its query was empty, too', async (t) => {
  const { url, upstream, budget } = await startBoth(t)
  const body = bigMatrix('anna', 24 * MiB, range.start)
  upstream.script = (_request, response) =>
    void response.writeHead(200, { 'Cache-Control': 'no-store' }).end(body)
  const client = await rawClient(url)
  client.socket.pause()
  const form = 'Content-Type: application/x-www-form-urlencoded\r\n'
  client.write(
    `POST ${pathOf('anna')} HTTP/1.1\r\nHost: h\r\n${form}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  )
  await until(() => upstream.seen[0]?.response.writableFinished === true)
  await steady(() => budget.used)
  assert.ok(budget.used > 8 * MiB)
  client.socket.destroy()
  await until(() => budget.used < MiB)
  assert.equal(budget.used, 0)
})

test('answers that wait behind another on their connection are released with it', async (t) => {
  const { url, upstream, budget } = await startBoth(t)
  await ask(url, pathOf('anna'))
  await ask(url, pathOf('anna'), { headers: { 'Accept-Encoding': 'gzip' } })
  await steady(() => budget.used)
  const before = budget.used
  upstream.script = (_request, response) => void response.write('begin')
  const client = await rawClient(url)
  const hit = `GET ${pathOf('anna')} HTTP/1.1\r\nHost: h\r\n`
  const waiting = `${hit}\r\n${hit}Accept-Encoding: gzip\r\n\r\n`
  client.write(`GET /federate HTTP/1.1\r\nHost: h\r\n\r\n${waiting}`)
  await client.has('begin')
  await until(() => budget.used > before)
  await steady(() => budget.used)
  client.socket.destroy()
  assert.equal(await upstream.seen.at(-1)!.finished, false)
  await until(() => budget.used === before)
})

for (const outcome of ['miss', 'hit']) {
  test(`a ${outcome} without a reader that came behind another answer is aborted by the clock`, async (t) => {
    const { url, upstream, budget, clock } = await startBoth(t, { limits: { writeTimeoutMs: 60_000 } })
    const body = bigMatrix('anna', 24 * MiB, range.start)
    upstream.script = (request, response) => {
      if (request.url !== '/federate') response.end(body)
    }
    if (outcome === 'hit') await ask(url, pathOf('anna'))
    const client = await rawClient(url)
    client.socket.pause()
    client.write(`GET /federate HTTP/1.1\r\nHost: h\r\n\r\n${requestFor('anna')}`)
    await until(() => upstream.seen.length === 2)
    await steady(() => budget.used)
    upstream.seen.find(({ target }) => target === '/federate')!.response.end('first')
    await steady(() => budget.used)
    const before = budget.used
    for (let i = 0; i < 3; i++) await clock.advance(60_000)
    await until(() => budget.used < before - 8 * MiB)
    client.socket.resume()
    assert.ok((await client.closed).length < body.length)
  })
}

test('a client that reads slowly, but reads, is not cut off', async (t) => {
  // Without the switch only whole writes count, and this answer is one.
  const options = { limits: { writeTimeoutMs: 60_000 }, runtime: { ...runtime, writeQueue: true } }
  const { url, upstream, clock } = await startBoth(t, options)
  const body = bigMatrix('anna', 24 * MiB, range.start)
  upstream.script = (_request, response) => void response.end(body)
  assert.equal(outcomeOf(await ask(url, pathOf('anna'))), 'miss/absent')
  const client = await stopped(url, 'anna')
  await steady(() => clock.pending)
  for (let goal = 2 * MiB; goal < 20 * MiB; goal += 2 * MiB) {
    client.socket.resume()
    await until(() => client.socket.bytesRead >= goal)
    client.socket.pause()
    await steady(() => client.socket.bytesRead)
    await clock.advance(50_000)
    assert.equal(client.socket.closed, false)
  }
  client.socket.resume()
  assert.ok(isBody(await client.closed, body))
})

test('a database that waits for its reader is watched with few timers, and not given up', async (t) => {
  const [upstreamTimeoutMs, writeTimeoutMs] = [500, 3_600_000]
  const { url, upstream, clock } = await startBoth(t, { limits: { upstreamTimeoutMs, writeTimeoutMs } })
  const body = bigMatrix('anna', 40 * MiB, range.start)
  upstream.script = (_request, response) => void response.end(body)
  const client = await rawClient(url)
  client.socket.pause()
  client.write('GET /federate HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')
  await until(() => upstream.seen.length === 1)
  await steady(() => upstream.seen[0]!.response.writableLength)
  const { after } = clock
  let timers = 0
  // The look at all connections, every few seconds, is not of this request.
  clock.after = (delayMs, action) => {
    if (delayMs <= upstreamTimeoutMs) timers++
    return after(delayMs, action)
  }
  await clock.advance(20 * upstreamTimeoutMs)
  assert.ok(timers <= 20, `${timers} timers`)
  client.socket.resume()
  assert.ok((await client.closed).includes(body.subarray(-100)))
})
