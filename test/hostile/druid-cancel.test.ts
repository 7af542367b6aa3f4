/** Cancel requests of others, byte by byte: only the client of a query cancels it here; everything else is Druid's to decide. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import type { Identity } from '../../src/engine/http/identity.ts'
import { startUnderTest } from '../druid/differential/under-test.ts'
import { type RawClient, rawClient, until } from '../proxy/client.ts'

/** A Druid that answers queries under the control of the test, and accepts every cancel request. */
async function startHeldDruid(t: TestContext) {
  const deletes: string[] = []
  const held: (() => void)[] = []
  const server = createServer((request, response) => {
    if (request.url === '/status') response.end('{"version":"33.0.0","modules":[]}')
    else if (request.method === 'DELETE') {
      deletes.push(request.url!)
      response.writeHead(202).end()
    } else {
      request.resume()
      response.writeHead(200, { 'Content-Type': 'application/json' })
      held.push(() => response.end('[]'))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const release = () => {
    for (const end of held.splice(0)) end()
  }
  return { url: `http://127.0.0.1:${port}`, deletes, held, release }
}

const bodies = {
  '/druid/v2': {
    ...{ queryType: 'timeseries', dataSource: 'w', granularity: 'hour', intervals: '2026-03-06/2026-03-07' },
    ...{ aggregations: [{ type: 'count', name: 'n' }], context: { queryId: 'x' } },
  },
  '/druid/v2/sql': {
    query: `SELECT FLOOR(__time TO HOUR) AS t, COUNT(*) AS n FROM w WHERE __time >= '2026-03-06' AND __time < '2026-03-07' GROUP BY 1`,
    context: { sqlQueryId: 'x' },
  },
}

interface Scene {
  readonly asked: RawClient
  readonly deletes: string[]
  readonly release: () => void
  /** Sends a cancel request; resolves to its status. */
  cancel(...lines: string[]): Promise<string>
}

async function begin(
  t: TestContext,
  path: keyof typeof bodies,
  { lines, identity = 'separate' }: { lines: readonly string[]; identity?: Identity },
): Promise<Scene> {
  const druid = await startHeldDruid(t)
  const proxy = await startUnderTest(druid.url, { identity })
  t.after(() => {
    druid.release()
    return proxy.close()
  })
  const asked = await rawClient(proxy.url)
  t.after(() => asked.socket.destroy())
  const body = JSON.stringify(bodies[path])
  const usual = ['Host: h', 'Content-Type: application/json', `Content-Length: ${body.length}`]
  asked.write(`POST ${path} HTTP/1.1\r\n${[...usual, ...lines].join('\r\n')}\r\n\r\n${body}`)
  await until(() => druid.held.length === 1)
  const cancel = async (...headers: string[]) => {
    const client = await rawClient(proxy.url)
    const head = [`DELETE ${path}/x HTTP/1.1`, 'Host: h', 'Connection: close', ...headers]
    client.write(`${head.join('\r\n')}\r\n\r\n`)
    return (await client.closed).toString().slice(9, 12)
  }
  return { asked, deletes: druid.deletes, release: druid.release, cancel }
}

const statusOf = (client: RawClient): string => client.received().toString('latin1').slice(9, 12)

for (const path of ['/druid/v2', '/druid/v2/sql'] as const) {
  for (const name of [
    'X-Forwarded-User',
    'X-Auth-Request-Email',
    'X-Ssl-Client-Dn',
    'X-Api-Key',
    'Authorization',
  ]) {
    test(`${path}: a cancel request with another ${name} does not reach the query of its owner`, async (t) => {
      const { asked, deletes, release, cancel } = await begin(t, path, { lines: [`${name}: ann`] })
      assert.equal(await cancel(`${name}: bob`), '202')
      assert.equal(await cancel(), '202')
      assert.deepEqual(deletes, [`${path}/x`, `${path}/x`], 'Druid decides')
      assert.equal(asked.received().length, 0)
      release()
      await asked.has('\r\n\r\n')
      assert.equal(statusOf(asked), '200')
    })
  }

  test(`${path}: the owner cancels, whatever its other headers`, async (t) => {
    const { asked, deletes, cancel } = await begin(t, path, {
      lines: ['X-Forwarded-User: ann', 'X-Request-Id: 1'],
    })
    assert.equal(await cancel('X-Request-Id: 2', 'X-Forwarded-User: ann'), '202')
    await asked.has('Query cancelled')
    assert.equal(statusOf(asked), '500')
    assert.deepEqual(deletes, [`${path}/x`])
  })

  test(`${path}: a client that shares answers with another does not cancel in its name`, async (t) => {
    const lines = ['Authorization: Bearer ann']
    const { asked, deletes, release, cancel } = await begin(t, path, { lines, identity: 'shared' })
    assert.equal(await cancel('Authorization: Bearer bob'), '202')
    assert.deepEqual(deletes, [`${path}/x`])
    assert.equal(asked.received().length, 0)
    release()
    await asked.has('\r\n\r\n')
    assert.equal(statusOf(asked), '200')
  })
}
