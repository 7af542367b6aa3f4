/** Faults that need a scene of their own: a database that is not there, an answer without end, odd but true answers. */
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { matrixOf } from '../coalescing/matrix.ts'
import { direct, openServer, scene } from '../coalescing/proxy-rig.ts'
import { type Asked, silent, truthful } from '../coalescing/upstream.ts'
import { outcomeOf, read } from '../coalescing/viewer.ts'

const span = (from: number, to: number) => ({ from, to })
const window = span(0, 100)

scene(
  'a database that refuses connections: an error when nothing is known, stale when something is',
  async (t) => {
    const proxy = await openServer(t)
    await proxy.ask(span(880, 940)).answer
    await proxy.upstream.goDown()
    const cold = await proxy.ask(window).answer
    assert.deepEqual([cold.status, outcomeOf(cold)], [502, 'error/database_unreachable'])
    assert.match((JSON.parse(cold.body) as { error: string }).error, /ECONNREFUSED/)
    const known = await proxy.ask(span(880, 961)).answer
    assert.deepEqual([known.status, outcomeOf(known)], [200, 'stale/database_unreachable'])
    await proxy.upstream.comeBack()
    assert.equal((await proxy.ask(span(880, 961)).answer).body, direct(span(880, 961)))
    assert.deepEqual(proxy.asked, [span(880, 940), span(940, 961)])
    await proxy.assertNothingLeft(window)
  },
)

scene('an answer in pieces of one byte is the same answer', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = ({ response, range }) => {
    response.socket!.setNoDelay(true)
    for (const byte of matrixOf(range)) response.write(byte)
    response.end()
  }
  assert.equal((await proxy.ask(span(0, 60)).answer).body, direct(span(0, 60)))
  assert.equal((await proxy.ask(window).answer).body, direct(window))
  const hit = await proxy.ask(window).answer
  assert.deepEqual([outcomeOf(hit), hit.body], ['hit', direct(window)])
  assert.deepEqual(proxy.asked, [span(0, 60), span(60, 100)])
})

scene('an unrequested gzip answer is understood', async (t) => {
  const proxy = await openServer(t)
  await proxy.ask(span(0, 60)).answer
  proxy.upstream.script = ({ response, range }) =>
    void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(matrixOf(range)))
  assert.equal((await proxy.ask(window).answer).body, direct(window))
})

scene('a matrix under another content type keeps it, until the database sends another', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = ({ response, range }) =>
    void response.writeHead(200, { 'content-type': 'text/plain' }).end(matrixOf(range))
  await proxy.ask(window).answer
  const hit = await proxy.ask(window).answer
  assert.deepEqual(
    [outcomeOf(hit), hit.headers['content-type'], hit.body],
    ['hit', 'text/plain', direct(window)],
  )
  proxy.upstream.script = truthful
  await proxy.ask(span(0, 120)).answer
  assert.equal((await proxy.ask(window).answer).headers['content-type'], 'application/json')
})

for (const [name, change] of [
  ['no-store', ({ response }: Asked) => void response.setHeader('cache-control', 'no-store')],
  ['a warning that it is not complete', () => {}],
] as const) {
  scene(`an answer with ${name} is served and not kept`, async (t) => {
    const proxy = await openServer(t)
    const warning = ',"warnings":["remote storage: half of it is missing"]}'
    const bodyOf = (text: string) => (name === 'no-store' ? text : text.replace(/\}$/, warning))
    proxy.upstream.script = (asked) => {
      change(asked)
      asked.reply(200, bodyOf(matrixOf(asked.range)))
    }
    const leader = proxy.ask(window)
    assert.equal((await leader.answer).body, bodyOf(direct(window)))
    proxy.upstream.script = truthful
    assert.equal((await proxy.ask(window).answer).body, direct(window))
    assert.deepEqual(proxy.asked, [window, window])
    await proxy.assertNothingLeft(window)
  })
}

/** Writes as fast as it is read, for as long as the client reads. */
function endlessly({ response }: Asked): void {
  const chunk = Buffer.alloc(65_536, '{"metric":{"padding":"x"}}')
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {}
    if (!response.destroyed) response.once('drain', more)
  }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write(matrixOf({ start: 0, end: -1, step: 1 }).slice(0, -3))
  more()
}

const small = { limits: { maxAnswerBytes: 512 * 1024, memoryBytes: 16 * 1024 * 1024 } }

scene(
  'an answer without end is passed on at the pace of its reader, and ends when the reader goes',
  async (t) => {
    const proxy = await openServer(t, small)
    proxy.upstream.script = endlessly
    const visit = proxy.ask(window, { isReading: false })
    const message = await visit.head
    let received = 0
    for await (const chunk of message as AsyncIterable<Buffer>) {
      received += chunk.length
      if (received > 4 * 1024 * 1024) break
    }
    visit.hangUp()
    await (await proxy.upstream.untilAsked(1)).cancelled
    await proxy.assertNothingLeft(window)
  },
)

scene('an answer without end holds no waiter: each is on its own, and can go', async (t) => {
  const proxy = await openServer(t, small)
  proxy.upstream.script = silent
  const leader = proxy.ask(window, { isReading: false })
  const query = await proxy.upstream.untilAsked(1)
  const waiter = await proxy.askAndSettle(window, { isReading: false })
  proxy.upstream.script = endlessly
  endlessly(query)
  const head = await waiter.head
  assert.match(String(head.headers['cache-status']), /bypass\/answer_too_large/)
  leader.hangUp()
  await query.cancelled
  waiter.hangUp()
  await (await proxy.upstream.untilAsked(2)).cancelled
  await proxy.assertNothingLeft(window)
})

scene('an endless error is passed on, not kept', async (t) => {
  const proxy = await openServer(t, small)
  proxy.upstream.script = ({ response }) => {
    response.writeHead(500)
    response.end('x'.repeat(3 * 1024 * 1024))
  }
  const { status, body, isWhole } = await proxy.ask(window).answer
  assert.deepEqual([status, body.length, isWhole], [500, 3 * 1024 * 1024, true])
  await proxy.assertNothingLeft(window)
})

for (const [size, how] of [
  [3 * 1024 * 1024, 'long'],
  [64 * 1024 * 1024, 'longer than sockets buffer'],
] as const) {
  scene(`a server error with a ${how} body: stale where something is known`, async (t) => {
    const proxy = await openServer(t, small)
    await proxy.ask(span(880, 940)).answer
    proxy.upstream.script = ({ response }) => void response.writeHead(500).end(Buffer.alloc(size))
    const known = await proxy.ask(span(880, 961)).answer
    assert.deepEqual([known.status, outcomeOf(known)], [200, 'stale/database_error'])
    const unknown = await proxy.ask(window).answer
    assert.deepEqual([unknown.status, unknown.body.length, unknown.isWhole], [500, size, true])
    await proxy.assertNothingLeft(window)
  })
}

scene('the answer of a slow database does not run into the stale one that was given meanwhile', async (t) => {
  const proxy = await openServer(t)
  const recent = span(945, 961)
  // Far more than sockets buffer: the stale answer is still being sent when the fresh one comes.
  const filler = JSON.stringify(`PromQL info: ${'x'.repeat(8 * 1024 * 1024)}`)
  proxy.upstream.script = (asked) =>
    asked.reply(200, matrixOf(asked.range).replace(/\}$/, `,"infos":[${filler}]}`))
  await proxy.ask(recent).answer
  // All of it is past its TTL: the whole window is fetched, and would be streamed to the viewer.
  await proxy.clock.advance(60_000)
  proxy.upstream.script = silent
  const visit = proxy.ask(recent, { isReading: false })
  const query = await proxy.upstream.untilAsked(2)
  assert.deepEqual(proxy.asked[1], recent)
  await proxy.clock.advance(10_000)
  const head = await visit.head
  assert.match(String(head.headers['cache-status']), /stale\/database_slow/)
  query.answer()
  await proxy.roundTrips()
  const { body, isWhole } = await read(head)
  assert.ok(isWhole)
  const answer = JSON.parse(body) as { warnings: string[]; infos: string[] }
  assert.deepEqual([answer.warnings.length, answer.infos.length], [1, 1])
  await proxy.assertNothingLeft(recent)
})
