/** Queries that wait before they are sent, in the queue of `concurrency` or for a connection: no fault of the database. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Broken, UpstreamCall } from '../../src/engine/ports.ts'
import type { UpstreamOptions } from '../../src/proxy/upstream/upstream.ts'
import { pass, type Reply, type Rig, startDatabase, startUpstream } from './proxy-rig.ts'
import { health } from './two.ts'

interface Busy extends Rig {
  /** The query that the database answers without end. */
  readonly first: UpstreamCall
}

/** A database that is busy with one query, behind a time limit of 20 s. */
async function startBusy(t: TestContext, given: Partial<UpstreamOptions>): Promise<Busy> {
  const database = await startDatabase(t)
  database.script = (_request, response) => {
    if (database.seen.length > 1) response.end('fine')
    else response.flushHeaders()
  }
  const rig = startUpstream(t, { url: database.url, idleTimeoutMs: 20_000, ...given })
  const query = { method: 'GET', path: '/', search: '', headers: [], body: null }
  const first = await new Promise<UpstreamCall>((resolve) => {
    const call = rig.upstream.forward(query, { head: () => resolve(call), data() {}, end() {}, failed() {} })
  })
  first.pause()
  return { ...rig, first }
}

/** The fate of a query of the cache: such queries have no share of the connections, and wait where these are all busy. */
function fetched({ upstream }: Rig): Promise<Reply> {
  const query = { method: 'GET', path: '/', search: '', headers: [], body: new Uint8Array() }
  return new Promise((resolve) => {
    let status = 0
    upstream.send(query, 'identity', {
      head: (code) => {
        status = code
      },
      data() {},
      end: () => resolve({ status, body: '' }),
      failed: (broken) => resolve({ status, body: '', broken }),
    })
  })
}

const concurrency = () => ({ limit: 1, queue: 10, waitMs: 30_000 })
const notSent = (ms: number): Broken => ({ reason: 'queue_full', detail: `not sent within ${ms} ms` })

test('a query may wait in the queue for longer than the database may take', async (t) => {
  const busy = await startBusy(t, { concurrency })
  const second = pass(busy.upstream)
  await busy.clock.advance(29_999)
  busy.first.cancel()
  assert.equal((await second).status, 200)
})

for (const [what, given, waitMs] of [
  ['in the queue of the concurrency', { concurrency }, 30_000],
  ['for its share of the connections', { connections: 1 }, 20_000],
] as const) {
  test(`a query that waits ${what} in vain is refused, and the database is not taken to be down`, async (t) => {
    const busy = await startBusy(t, given)
    const second = pass(busy.upstream)
    await busy.clock.advance(waitMs)
    assert.deepEqual((await second).broken, notSent(waitMs))
    assert.deepEqual(health(busy), [true])
  })
}

test('so is a query that gets no connection for as long as the database may take', async (t) => {
  const busy = await startBusy(t, { connections: 1 })
  const second = fetched(busy)
  await busy.clock.advance(20_000)
  assert.deepEqual((await second).broken, notSent(20_000))
  assert.deepEqual(health(busy), [true])
})

test('a query whose connection is not made is over after the time for that, by the clock of the system', async (t) => {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const rig = startUpstream(t, { url, idleTimeoutMs: 1_000 })
  const { broken } = await pass(rig.upstream)
  assert.equal(broken?.reason, 'database_unreachable')
  assert.deepEqual(health(rig), [false])
})
