/** The admin listener under requests that clients type, and under hostile ones. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startProxyRig } from '../admin/proxy-rig.ts'
import { askPlainly, type RawClient, rawClient } from '../proxy/client.ts'

/** As `curl -X POST` sends it: neither Content-Length nor Transfer-Encoding. */
const reload = 'POST /-/reload HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n'

test('a POST without a body is answered', async (t) => {
  const { admin } = await startProxyRig(t, { allowsWrites: () => true })
  const client = await rawClient(admin)
  client.write(reload)
  await client.has('reloaded')
  assert.match(client.received().toString(), /^HTTP\/1\.1 200 OK\r\n/)
  // The connection serves further requests, also one with an empty body.
  client.write('POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
  await client.has('reloaded\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n')
  client.socket.destroy()
})

test('an HTTP/1.0 POST without a body is answered', async (t) => {
  const { admin } = await startProxyRig(t, { allowsWrites: () => true })
  const client = await rawClient(admin)
  client.write('POST /-/reload HTTP/1.0\r\nHost: localhost\r\n\r\n')
  assert.match((await client.closed).toString(), /^HTTP\/1\.1 200 OK\r\n.*reloaded\n$/s)
})

test('more POSTs without a body than the listener has connections do not close it', async (t) => {
  const { admin } = await startProxyRig(t, { allowsWrites: () => true })
  for (let round = 0; round < 2; round++) {
    const clients = await Promise.all(Array.from({ length: 120 }, () => rawClient(admin)))
    for (const client of clients) client.write(reload)
    await Promise.all(clients.map((client) => client.has('reloaded')))
    await Promise.all(clients.map(gone))
  }
  assert.equal((await askPlainly(admin, '/-/healthy')).status, 200)
})

test('a POST whose body does not come is cut off after ten seconds', async (t) => {
  const { admin, clock } = await startProxyRig(t, { allowsWrites: () => true })
  const client = await rawClient(admin)
  client.write('POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab')
  // Another request was answered in between, so the first one has arrived.
  assert.equal((await askPlainly(admin, '/-/healthy')).status, 200)
  await clock.advance(11_000)
  await client.closed
  assert.equal((await askPlainly(admin, '/-/healthy')).status, 200)
})

async function gone(client: RawClient): Promise<void> {
  client.socket.destroy()
  await client.closed
}
