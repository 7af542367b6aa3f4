/** Answers of rows that are sent from where they lie: the client's own bytes whatever becomes of the pane, and their memory comes back. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { druid } from '../../src/backends/druid/index.ts'
import { type Answer, ask, outcomeOf, rawClient, steady, until } from './client.ts'
import { bodyOf, json, startScriptedUpstream } from './scripted-upstream.ts'
import { NOW, startStand } from './setup.ts'

const MiB = 2 ** 20
const minute = 60_000
const begin = NOW - 2 * 86_400_000
const headers = { 'Content-Type': 'application/json' }
const path = '/druid/v2'

const iso = (at: number): string => new Date(at).toISOString()
const queryOf = (from: number, to: number): string =>
  JSON.stringify({
    ...{ queryType: 'groupBy', dataSource: 'wiki', granularity: 'minute', dimensions: ['page'] },
    ...{ aggregations: [], intervals: [`${iso(begin + from * minute)}/${iso(begin + to * minute)}`] },
  })

/** Minutes [from, to), each a row of so many bytes with the number of earlier queries. */
function rowsOf(from: number, to: number, { bytes, word }: { bytes: number; word: string }): string {
  const rows = Array.from({ length: to - from }, (_, i) => {
    const page = word.repeat(Math.ceil(bytes / word.length)).slice(0, bytes)
    return `{"version":"v1","timestamp":"${iso(begin + (from + i) * minute)}","event":{"page":"${page}"}}`
  })
  return `[${rows.join(',')}]`
}

async function start(t: TestContext, bytes: number) {
  const upstream = await startScriptedUpstream(t)
  let word = 'first'
  upstream.script = async (request, response) => {
    if (request.url === '/status') return json(200, { version: '33.0.0', modules: [] })(request, response)
    const { intervals } = JSON.parse((await bodyOf(request)).toString())
    const parts = [intervals].flat().map((interval: string) => {
      const [from, to] = interval.split('/').map((time) => (Date.parse(time) - begin) / minute)
      return rowsOf(from!, to!, { bytes, word }).slice(1, -1)
    })
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(`[${parts.join(',')}]`)
  }
  const backend = druid({ maxBuckets: 11_000 })
  const stand = await startStand(t, {
    upstream: upstream.url,
    backend,
    limits: { memoryBytes: 1024 * MiB },
  })
  const post = (from: number, to: number, more = {}): Promise<Answer> =>
    ask(stand.url, path, { method: 'POST', headers: { ...headers, ...more }, body: queryOf(from, to) })
  const speak = (other: string) => {
    word = other
  }
  return { ...stand, post, speak }
}

test('a hit has the bytes of its window, whether they are sent from where they lie or copied', async (t) => {
  const { post } = await start(t, 2_000)
  assert.equal(outcomeOf(await post(0, 60)), 'miss/absent')
  // Nearly all of a pane; less than half of it; less than is worth it; and of two panes.
  assert.equal(outcomeOf(await post(60, 100)), 'miss/absent')
  for (const [from, to] of [
    [2, 60],
    [0, 60],
    [10, 30],
    [5, 8],
    [30, 90],
  ] as const) {
    const answer = await post(from, to)
    assert.equal(outcomeOf(answer), 'hit')
    assert.equal(answer.body.toString(), rowsOf(from, to, { bytes: 2_000, word: 'first' }))
  }
})

test('a slow reader gets the bytes of its lookup, though others have replaced them', async (t) => {
  const { url, post, speak, budget, clock } = await start(t, 256 * 1024)
  assert.equal(outcomeOf(await post(0, 64)), 'miss/absent')
  await steady(() => budget.used)
  const before = budget.used
  const slow = await rawClient(url)
  slow.socket.pause()
  const body = queryOf(0, 60)
  const head = `POST ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\n`
  slow.write(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  await until(() => budget.used > before + 8 * MiB)
  speak('second')
  await clock.advance(1_000)
  const newer = await post(0, 64, { 'Cache-Control': 'no-cache' })
  assert.ok(newer.body.equals(Buffer.from(rowsOf(0, 64, { bytes: 256 * 1024, word: 'second' }))))
  slow.socket.resume()
  const received = await slow.closed
  const expected = Buffer.from(rowsOf(0, 60, { bytes: 256 * 1024, word: 'first' }))
  assert.ok(received.subarray(received.indexOf('\r\n\r\n') + 4).equals(expected))
  await until(() => budget.used < before + MiB)
})
