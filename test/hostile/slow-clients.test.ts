/** Slow clients: while they hold all they can get, others have right answers, none is refused, and memory is within the budget. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, outcomeOf, type RawClient, rawClient } from '../proxy/client.ts'
import { rangePath, rangeSearch } from '../proxy/matrix.ts'
import { startBoth } from '../proxy/setup.ts'
import { eventually, steady, until } from '../wait.ts'
import { type Attack, attacks, launch } from './attack.ts'
import { answer, largeQuery, settled, truth } from './database.ts'

const MiB = 2 ** 20
const connections = 16

interface Short {
  readonly attack: Attack
  readonly clients: number
  readonly limits?: { readonly memoryBytes?: number; readonly maxRequests?: number }
}

/** Fewer clients than in the long forms, against smaller limits. */
const shorts: readonly Short[] = [
  { attack: attacks.drippingBodies, clients: 24 },
  { attack: attacks.drippingUploads, clients: 24 },
  { attack: attacks.deafForwards, clients: 24 },
  { attack: attacks.drippingQueries, clients: 60, limits: { maxRequests: 20 } },
  { attack: attacks.endlessHeads, clients: 60, limits: { memoryBytes: 128 * MiB } },
  { attack: attacks.deafHits, clients: 60, limits: { memoryBytes: 128 * MiB } },
]

for (const { attack, clients, limits } of shorts) {
  // Time stands still: no client is disconnected for being slow.
  test(`${attack.name}: others are served`, async (t) => {
    const { url, upstream, budget } = await startBoth(t, {
      limits: { upstreamConnections: connections, ...limits },
    })
    upstream.script = answer
    for (const query of ['known', largeQuery]) await ask(url, rangePath({ ...settled, query }))
    await steady(() => budget.used)
    const attackers = await launch(url, attack, { clients })
    t.after(() => attackers.stop())
    await steady(() =>
      attackers.sockets.reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0),
    )
    for (let i = 0; i < 20; i++) {
      await servedAs('hit', url, 'known')
      await servedAs('miss/absent', url, `miss_${i}`)
      assert.ok(budget.used <= budget.limit, `${budget.used} of ${budget.limit} bytes`)
    }
    await servedAs('hit', url, largeQuery)
  })
}

async function servedAs(outcome: string, url: string, query: string): Promise<void> {
  const range = { ...settled, query }
  const found = await ask(url, rangePath(range))
  assert.equal(found.status, 200)
  assert.equal(outcomeOf(found), outcome)
  assert.ok(found.body.equals(Buffer.from(truth(new URLSearchParams(rangeSearch(range))))), query)
}

test('a slow reader of a small forwarded answer holds no connection to the database', async (t) => {
  const { url, upstream } = await startBoth(t, { limits: { upstreamConnections: 1 } })
  upstream.script = (_request, response) => void response.end(Buffer.alloc(900 * 1024))
  const slow: RawClient[] = []
  for (let i = 0; i < 4; i++) {
    const client = await rawClient(url)
    client.socket.pause()
    client.write('GET /federate HTTP/1.1\r\nHost: h\r\n\r\n')
    slow.push(client)
    await until(() => upstream.seen.length === i + 1)
    assert.equal(await upstream.seen[i]!.finished, true)
  }
  for (const { socket } of slow) socket.destroy()
})

test('a slow reader of a long forwarded answer is cut off when others wait for its connection', async (t) => {
  const { url, upstream, clock } = await startBoth(t, { limits: { upstreamConnections: 1 } })
  upstream.script = answer
  const slow = await rawClient(url)
  slow.socket.pause()
  slow.write('GET /federate HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => upstream.seen.length === 1)
  await steady(() => upstream.seen[0]!.response.writableLength)
  // No client waits for it: it may take its time.
  await clock.advance(30_000)
  assert.equal(upstream.seen[0]!.response.destroyed, false)
  const waiting = ask(url, rangePath({ ...settled, query: 'miss' }))
  await until(() => clock.pending > 0)
  await clock.advance(2_000)
  assert.equal(outcomeOf(await waiting), 'miss/absent')
  slow.socket.resume()
  assert.ok((await slow.closed).length < 40 * MiB)
})

test('heads that do not end take an eighth of the memory at most, and the largest are closed with a sentence', async (t) => {
  const { url, budget } = await startBoth(t, { limits: { memoryBytes: 64 * MiB, maxRequestBytes: MiB } })
  const small = await rawClient(url)
  small.write('GET /api/v1/targets HTTP/1.1\r\nHost: h\r\nX-Part: ')
  const large: RawClient[] = []
  for (let i = 0; i < 12; i++) {
    const client = await rawClient(url)
    client.write(attacks.endlessHeads.opening)
    large.push(client)
  }
  await until(() => large.filter(({ socket }) => socket.destroyed).length >= 4)
  await steady(() => budget.used)
  assert.ok(budget.used > MiB && budget.used <= 8 * MiB, `${budget.used} bytes`)
  const refused = large.filter(({ socket }) => socket.destroyed).map((client) => client.received().toString())
  assert.ok(refused.some((text) => /^HTTP\/1\.1 503 [\s\S]*share of limits\.memory/.test(text)))
  small.write('two\r\n\r\n')
  await small.has('HTTP/1.1 200 OK')
  for (const { socket } of [small, ...large]) socket.destroy()
  await until(() => budget.used === 0)
})

test('one address has its share of the connections, and gets a 503 beyond it', async (t) => {
  const { url } = await startBoth(t, { limits: { maxConnectionsPerAddress: 2 } })
  const clients = [await rawClient(url), await rawClient(url)]
  for (const client of clients) {
    client.write('GET /api/v1/labels HTTP/1.1\r\nHost: h\r\n\r\n')
    await client.has('200 OK')
  }
  const third = await rawClient(url)
  assert.match((await third.closed).toString(), /^HTTP\/1\.1 503 [\s\S]*limits\.maxConnectionsPerAddress/)
  // The server hears of it in its own time.
  clients[0]!.socket.destroy()
  await eventually(
    () => ask(url, '/api/v1/labels').catch(() => undefined),
    (found) => found?.status === 200,
  )
  clients[1]!.socket.destroy()
})
