import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Guard } from '../../src/proxy/admin/guard.ts'
import { askPlainly, header, rawClient } from '../proxy/client.ts'
import { startProxyRig } from './proxy-rig.ts'

test('a token, once set, is required everywhere but in probes', async (t) => {
  let token: string | undefined = 'correct horse'.replace(' ', '-')
  const { admin } = await startProxyRig(t, { token: () => token })
  const status = async (path: string, authorization?: string) =>
    (await askPlainly(admin, path, authorization === undefined ? {} : { headers: { authorization } })).status
  for (const path of [
    '/',
    '/-/status',
    '/-/metrics',
    '/-/config',
    '/-/requests',
    '/-/explain',
    '/-/nothing',
  ]) {
    assert.equal(await status(path), 401, path)
  }
  const refused = await askPlainly(admin, '/-/status')
  assert.equal(header(refused, 'www-authenticate'), 'Bearer realm="windowpane"')
  assert.deepEqual([await status('/-/healthy'), await status('/-/ready')], [200, 200])
  assert.equal(await status('/-/status', 'Bearer correct-horse'), 200)
  assert.equal(await status('/-/status', 'bearer   correct-horse '), 200)
  for (const wrong of [
    'Bearer correct-hors',
    'Bearer correct-horse x',
    'Basic correct-horse',
    'correct-horse',
    'Bearer ',
  ]) {
    assert.equal(await status('/-/status', wrong), 401, wrong)
  }
  // A token that could not be read opens nothing.
  token = ''
  assert.deepEqual([await status('/-/status', 'Bearer '), await status('/-/status')], [401, 401])
  token = 'another'
  assert.equal(await status('/-/status', 'Bearer another'), 200)
})

test('a name that was made to point here is not answered', async (t) => {
  const { admin } = await startProxyRig(t, { names: ['Admin.example'] })
  const status = async (host: string) => (await askPlainly(admin, '/-/status', { headers: { host } })).status
  for (const host of [
    '127.0.0.1:9192',
    'localhost',
    'LOCALHOST:1',
    '[::1]:9192',
    'a.localhost',
    'admin.example:9192',
  ]) {
    assert.equal(await status(host), 200, host)
  }
  for (const host of [
    'evil.example',
    '127.0.0.1.evil.example',
    'localhost.evil.example:9192',
    '10.0.0.1',
    '0.0.0.0',
  ]) {
    assert.equal(await status(host), 403, host)
  }
  const client = await rawClient(admin)
  client.write('GET /-/status HTTP/1.0\r\n\r\n')
  assert.match((await client.closed).toString(), /^HTTP\/1\.1 403 /)
})

test('pages of other sites cannot make requests', async (t) => {
  const { admin } = await startProxyRig(t, { allowsWrites: () => true })
  const status = async (headers: Record<string, string>) =>
    (await askPlainly(admin, '/-/reload', { method: 'POST', headers })).status
  assert.equal(await status({ origin: 'https://evil.example' }), 403)
  assert.equal(await status({ origin: 'null' }), 403)
  assert.equal(await status({ 'sec-fetch-site': 'cross-site' }), 403)
  assert.equal(await status({ origin: admin }), 200)
  assert.equal(await status({}), 200)
})

test('where others can reach it, any name will do', () => {
  const open = new Guard({ listen: '0.0.0.0:9192', names: [], token: () => undefined })
  assert.equal(open.isLocal, false)
  assert.equal(open.checkOrigin({ host: 'windowpane.internal' }), undefined)
  const locals = ['127.0.0.1:1', '[::1]:1', 'localhost:1', '127.1.2.3:1']
  assert.ok(locals.every((listen) => new Guard({ listen, names: [], token: () => undefined }).isLocal))
  assert.ok(
    ![':9192', '[::]:1', '128.0.0.1:1'].some(
      (listen) => new Guard({ listen, names: [], token: () => undefined }).isLocal,
    ),
  )
})

test('an open listener without a token is logged', async (t) => {
  const { lines } = await startProxyRig(t, { listen: '0.0.0.0:0' })
  assert.ok(lines.some((line) => line.includes('requires no token')))
})
