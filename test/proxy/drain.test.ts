/** The shutdown of a Windowpane: requests in progress finish, within the limit. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import test from 'node:test'
import { type RawClient, rawClient, until } from './client.ts'
import { rangePath } from './matrix.ts'
import type { ScriptedUpstream } from './scripted-upstream.ts'
import { oldRange, startBoth } from './setup.ts'

async function isRefused(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const refused = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(false))
    socket.once('error', () => resolve(true))
  })
  socket.destroy()
  return refused
}

/** A client on a keep-alive connection that has received the first half of an answer. */
async function halfAnswered(url: string, upstream: ScriptedUpstream, path = '/slow'): Promise<RawClient> {
  upstream.script = (_request, response) => void response.write('first half,')
  const client = await rawClient(url)
  client.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
  await client.has('first half')
  return client
}

for (const path of ['/slow', rangePath(oldRange())]) {
  test(`close() lets an answer under way finish and refuses new connections: ${path.split('?')[0]}`, async (t) => {
    const { url, upstream, windowpane } = await startBoth(t)
    const client = await halfAnswered(url, upstream, path)
    const idle = await rawClient(url)
    let isClosed = false
    const closing = windowpane.close().then(() => {
      isClosed = true
    })
    await idle.closed
    assert.ok(await isRefused(url))
    assert.equal(isClosed, false)
    upstream.seen[0]!.response.end(' second half')
    // The clock stands still: the end of the answer is the end, although the connection was to be kept alive.
    assert.match((await client.closed).toString(), /second half/)
    await closing
  })
}

test('a request that is not finished when the drain limit is over is aborted', async (t) => {
  const { url, upstream, windowpane, clock } = await startBoth(t, { limits: { drainMs: 30_000 } })
  const client = await halfAnswered(url, upstream)
  let isClosed = false
  const closing = windowpane.close().then(() => {
    isClosed = true
  })
  await clock.advance(29_999)
  assert.equal(isClosed, false)
  assert.equal(client.socket.closed, false)
  await clock.advance(1)
  await closing
  assert.match((await client.closed).toString(), /first half/)
  assert.equal(await upstream.seen[0]!.finished, false)
})

test('close() may be called twice', async (t) => {
  const { windowpane } = await startBoth(t)
  await Promise.all([windowpane.close(), windowpane.close()])
})

test('a keep-alive client whose last answer ended before close() does not hold it up', async (t) => {
  const { url, windowpane } = await startBoth(t)
  const client = await rawClient(url)
  client.write('GET /x HTTP/1.1\r\nHost: h\r\n\r\n')
  await client.has('"data":[]')
  await until(() => true)
  await windowpane.close()
  await client.closed
})
