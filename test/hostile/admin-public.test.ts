/** An admin listener that others can reach: read access, write access, and attacks through a browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startProxyRig } from '../admin/proxy-rig.ts'
import { runToEnd } from '../cli/child.ts'
import { askPlainly, header } from '../proxy/client.ts'

const everywhere = '0.0.0.0:0'
const portOf = (url: string): string => `http://127.0.0.1:${new URL(url).port}`
const writing = ['/-/reload', '/-/purge', '/-/mode']

test('without leave to write nothing can be changed, whatever is sent along', async (t) => {
  const { admin } = await startProxyRig(t, { listen: everywhere })
  const url = portOf(admin)
  for (const path of ['/-/reload']) {
    for (const headers of [{}, { 'X-HTTP-Method-Override': 'GET' }, { authorization: 'Bearer guess' }]) {
      const answer = await askPlainly(url, path, { method: 'POST', headers, body: '{}' })
      assert.equal(answer.status, 403, path)
    }
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      assert.equal((await askPlainly(url, path, { method })).status, 405, method)
  }
})

test('a form on a page of another site is refused, with or without its cookies', async (t) => {
  const { admin } = await startProxyRig(t, { listen: everywhere, allowsWrites: () => true })
  const url = portOf(admin)
  const host = new URL(url).host
  const types = ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain']
  for (const type of types) {
    for (const from of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://${host}.evil.example` },
      { origin: `https://evil.example/${host}` },
      { origin: `http://127.0.0.1:1` },
      { 'sec-fetch-site': 'cross-site' },
      { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' },
    ]) {
      const headers = { ...from, 'content-type': type, cookie: 'session=1' } as Record<string, string>
      const answer = await askPlainly(url, '/-/reload', { method: 'POST', headers, body: 'a=b' })
      assert.equal(answer.status, 403, JSON.stringify(headers))
    }
  }
})

test('no page of another site may read anything, by any request that a browser makes', async (t) => {
  const { admin } = await startProxyRig(t, { listen: everywhere })
  const url = portOf(admin)
  for (const path of ['/-/status', '/-/requests', '/-/config', '/-/metrics', '/-/shapes']) {
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const answer = await askPlainly(url, path, { headers: headers as Record<string, string> })
      assert.equal(answer.status, 403, path)
    }
    const answer = await askPlainly(url, path)
    assert.equal(answer.status, 200, path)
    assert.equal(header(answer, 'access-control-allow-origin'), undefined)
    assert.equal(header(answer, 'x-content-type-options'), 'nosniff')
    assert.equal(header(answer, 'cache-control'), 'no-store')
  }
  const asked = await askPlainly(url, '/-/status', {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
  })
  assert.equal(asked.status, 403)
})

test('with a token a name that was made to point here opens nothing', async (t) => {
  const { admin } = await startProxyRig(t, { listen: everywhere, token: () => 'secret' })
  const url = portOf(admin)
  for (const path of ['/', '/-/status', '/-/requests', ...writing]) {
    const answer = await askPlainly(url, path, { headers: { host: 'evil.example' } })
    assert.equal(answer.status, 401, path)
  }
})

const config = (...flags: string[]): string[] => [
  'http://127.0.0.1:9',
  '--admin.listen=0.0.0.0:9192',
  ...flags,
]

test('check refuses an admin listener on which strangers could write', async (t) => {
  const { code, err } = await runToEnd(t, ['check', ...config('--admin.allow-writes=true')])
  assert.equal(code, 2)
  assert.match(err, /would let every client that reaches 0\.0\.0\.0:9192 purge/)
})

test('check and doctor warn of an admin listener that strangers can read', async (t) => {
  const checked = await runToEnd(t, ['check', ...config()])
  assert.equal(checked.code, 0, checked.err)
  assert.match(`${checked.out}${checked.err}`, /admin listener .*0\.0\.0\.0:9192.* token/)
  const examined = await runToEnd(t, ['doctor', ...config()])
  assert.match(examined.out, /warn +admin .*0\.0\.0\.0:9192/)
  const guarded = await runToEnd(t, ['check', ...config('--admin.token=secret')])
  assert.doesNotMatch(`${guarded.out}${guarded.err}`, /admin listener/)
})
