/** Request targets that try to reach forbidden paths, or to be reflected to a browser. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { fetchHandler } from '../../src/library/fetch-handler.ts'
import { openListener } from '../../src/proxy/front/listener.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { answererOf } from '../../src/proxy/request/dispatch.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { rawClient } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { oldRange, runtime, startStand } from '../proxy/setup.ts'

/** Paths that some server reads as one that leads out of the folder before it. */
const climbing = [
  '/../admin',
  '/..',
  '/api/../../admin',
  '/%2e%2e/admin',
  '/.%2E/admin',
  '/%2e./admin',
  '/..%2fadmin',
  '/..%5cadmin',
  '/api%2f..%2f..%2fadmin',
  '/..\\admin',
  '/api\\..\\..\\admin',
  '/..;/admin',
  '/..;x=1/admin',
  '/..%3b/admin',
  '/%252e%252e/admin',
  '/%25252e%25252e%25252fadmin',
  '/..%00/admin',
  '/..%23/admin',
  '/../api/v1/query_range',
  '/api/v1/label/../../../../admin',
]

/** Paths that look alike and are not. */
const harmless = [
  '/api/v1/label/a..b/values',
  '/...',
  '/..a/b',
  '/a../b',
  '/.well-known/x',
  '/./x',
  '/api/v1/label/%C3%A9/values',
  '/x?path=/../y&z=%2e%2e%2f',
]

/** The first line of an answer to a target that is sent as it stands, and its body. */
async function send(url: string, target: string, host = 'localhost'): Promise<string> {
  const client = await rawClient(url)
  client.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  return (await client.closed).toString('latin1')
}

test('no path leaves the path of the database URL', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.script = (_request, response) => void response.end('of the database')
  const { url } = await startStand(t, { upstream: `${upstream.url}/prometheus/` })
  for (const path of climbing) {
    const answer = await send(url, path)
    assert.match(answer, /^HTTP\/1\.1 400 .*refused\/bad_request.*would leave the path/s, path)
  }
  assert.match(await send(url, `http://other${climbing[0]}`), /^HTTP\/1\.1 400 /)
  assert.deepEqual(upstream.seen, [])
  for (const path of harmless) assert.match(await send(url, path), /^HTTP\/1\.1 200 .*of the database/s, path)
  assert.deepEqual(
    upstream.seen.map(({ target }) => target),
    harmless.map((path) => `/prometheus${path}`),
  )
})

test('a plain connection that is kept is refused the same, and queries go on', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { url } = await startStand(t, { upstream: `${upstream.url}/prometheus` })
  const client = await rawClient(url)
  client.write(`GET /%2e%2e/admin HTTP/1.1\r\nHost: a\r\n\r\n`)
  assert.match((await client.closed).toString(), /^HTTP\/1\.1 400 /)
  assert.match(await send(url, rangePath(oldRange())), /^HTTP\/1\.1 200 .*miss\/absent/s)
  assert.equal(upstream.seen.length, 1)
})

test('where the database URL has no path there is nothing to leave: targets are forwarded unchanged', async (t) => {
  const upstream = await startScriptedUpstream(t)
  upstream.script = (_request, response) => void response.end('of the database')
  const { url } = await startStand(t, { upstream: upstream.url })
  for (const path of climbing) assert.match(await send(url, path), /^HTTP\/1\.1 200 /, path)
  assert.deepEqual(
    upstream.seen.map(({ target }) => target),
    climbing,
  )
})

test('the library refuses targets outside the path of the database URL, too', async () => {
  const asked: string[] = []
  const handler = fetchHandler({
    upstream: 'http://database/prometheus',
    backend: prometheus({ settledAgeMs: 3_600_000, maxBuckets: 11_000 }),
    clock: fakeClock(0),
    fetch: async (input) => {
      asked.push(String(input))
      return new Response('of the database')
    },
  })
  for (const path of climbing) {
    const url = new URL(path, 'http://localhost')
    await handler(new Request(url))
  }
  for (const url of asked) assert.match(new URL(url).pathname, /^\/prometheus\/(?:[\w/-]*)$/, url)
  const refused = await handler(new Request('http://localhost/..%2fadmin'))
  assert.equal(refused.status, 400)
})

test('a 404 of our own is plain text and repeats nothing that a browser or a terminal would act on', async (t) => {
  const url = await startRouted(t)
  const attack = '/<script>alert(1)</script>?token=secret'
  for (const [target, host] of [
    [attack, 'localhost'],
    ['/x', '<img/src=x>'],
    [`http://evil${attack}`, 'localhost'],
    [`/${'a'.repeat(5_000)}`, 'localhost'],
  ] as const) {
    const answer = await send(url, target, host)
    assert.match(answer, /^HTTP\/1\.1 404 Not Found\r\n/, target)
    assert.match(answer, /\r\ncontent-type: text\/plain; charset=utf-8\r\n/i)
    assert.match(answer, /\r\nx-content-type-options: nosniff\r\n/i)
    const body = answer.slice(answer.indexOf('\r\n\r\n'))
    assert.match(body, /no backend is configured for [\w./:~[\]-]+; see backends/)
    assert.doesNotMatch(body, /secret|[<>"'&]/)
    assert.ok(body.length < 400)
  }
})

/** A listener whose only database has another path. */
async function startRouted(t: TestContext): Promise<string> {
  const clock = fakeClock(0)
  const answer = answererOf([
    {
      route: { path: '/only' },
      backendRuntime: {
        handler: {
          handle: () => assert.fail('not for this database'),
        } as never,
      },
    },
  ])
  const options = { address: '127.0.0.1:0', limits: defaultLimits, clock, runtime }
  const listener = await openListener(options, answer, answer)
  t.after(async () => {
    const closed = listener.close()
    await clock.advance(defaultLimits.drainMs)
    await closed
  })
  return listener.url
}
