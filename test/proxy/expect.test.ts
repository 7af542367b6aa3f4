/** Requests with `Expect: 100-continue`: the 100 comes before the answer, in the turn of that answer, or not at all. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { rawClient, until } from './client.ts'
import { matrixFor, rangeSearch } from './matrix.ts'
import { bodyOf } from './scripted-upstream.ts'
import { oldRange, startBoth } from './setup.ts'

const form = rangeSearch(oldRange())
const head = (path: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${length}\r\n\r\n`
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n'

/** Status lines and bodies, in order. */
const heads = (received: Buffer): string[] =>
  received.toString('latin1').match(/HTTP\/1\.1 \d{3} [\w ]+(?=\r\n)/g) ?? []

test('the body is requested, and answered', async (t) => {
  const { url } = await startBoth(t)
  for (const path of ['/api/v1/query_range', '/api/v1/write']) {
    const client = await rawClient(url)
    client.write(head(path, form.length))
    await client.has(goOn)
    client.write(form)
    await client.has('HTTP/1.1 200 OK')
    client.socket.destroy()
  }
})

/** A client whose first request is being answered, slowly. */
async function behindAnother(t: TestContext) {
  const { url, upstream } = await startBoth(t)
  const matrix = upstream.script
  upstream.script = async (request, response) => {
    if (request.url === '/first') return
    if (request.url === '/api/v1/write') response.end(await bodyOf(request))
    else matrix(request, response)
  }
  const client = await rawClient(url)
  client.write('GET /first HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => upstream.seen.length === 1)
  return { client, upstream }
}

for (const path of ['/api/v1/query_range', '/api/v1/write']) {
  test(`behind another request the 100 waits for its turn: ${path}`, async (t) => {
    const { client, upstream } = await behindAnother(t)
    client.write(head(path, form.length))
    upstream.seen[0]!.response.end('first')
    await client.has(goOn)
    client.write(form)
    await client.has(path === '/api/v1/write' ? form : matrixFor(new URLSearchParams(form), 1))
    assert.deepEqual(heads(client.received()), [
      'HTTP/1.1 200 OK',
      'HTTP/1.1 100 Continue',
      'HTTP/1.1 200 OK',
    ])
    client.socket.destroy()
  })

  test(`an answer that is there before its turn comes whole, without a 100 in it: ${path}`, async (t) => {
    const { client, upstream } = await behindAnother(t)
    // It does not wait for the 100.
    client.write(head(path, form.length) + form)
    await until(() => upstream.seen.length === 2)
    assert.equal(await upstream.seen[1]!.finished, true)
    upstream.seen[0]!.response.end('first')
    await client.has(path === '/api/v1/write' ? form : matrixFor(new URLSearchParams(form), 1))
    const received = client.received().toString('latin1')
    const second = received.slice(received.lastIndexOf('HTTP/1.1 200 OK'))
    assert.doesNotMatch(second, /100 Continue/)
    client.socket.destroy()
  })
}
