import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'
import { detectKinds } from './detect.ts'
import { loadConfig } from './load.ts'

const buildInfo = { status: 'success', data: { version: '3.5.0', revision: '8be3a95', goVersion: 'go1.24' } }
const druidStatus = { version: '33.0.0', modules: [], memory: {} }

const only =
  (path: string, value: unknown): RequestListener =>
  (request, response) => {
    const isIt = request.url === path
    response.writeHead(isIt ? 200 : 404).end(isIt ? JSON.stringify(value) : '<html>')
  }

const asPrometheus = only('/api/v1/status/buildinfo', buildInfo)
const asDruid = only('/status', druidStatus)

interface Served {
  readonly url: string
  readonly asked: string[]
}

async function serve(t: TestContext, listener: RequestListener): Promise<Served> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

function detect(backend: string, clock: FakeClock = fakeClock(0)) {
  const loaded = loadConfig({
    file: { name: 'w.yaml', bytes: Buffer.from(`backends: { main: ${backend} }`) },
  })
  assert.ok('config' in loaded)
  return detectKinds(loaded.config, clock).then((kinds) => kinds.get('main'))
}

test('the response of a database decides its kind, whatever its port', async (t) => {
  const [prometheus, druid] = [await serve(t, asPrometheus), await serve(t, asDruid)]
  assert.deepEqual(await detect(`{ url: '${prometheus.url}' }`), { kind: 'prometheus', isGuessed: false })
  assert.deepEqual(await detect(`{ url: '${druid.url}' }`), { kind: 'druid', isGuessed: false })
  assert.deepEqual(prometheus.asked, ['/api/v1/status/buildinfo'], 'a detected one is not queried again')
  assert.deepEqual(druid.asked, ['/api/v1/status/buildinfo', '/status'])
  const victoria = await serve(t, only('/api/v1/status/buildinfo', { data: { version: '2.24.0' } }))
  const found = await detect(`{ url: '${victoria.url}' }`)
  assert.deepEqual(found, { kind: 'victoriametrics', isGuessed: false })
  assert.deepEqual(victoria.asked, ['/api/v1/status/buildinfo'])
})

test('a database with a written type is not queried', async (t) => {
  const prometheus = await serve(t, asPrometheus)
  const found = await detect(`{ url: '${prometheus.url}', type: druid }`)
  assert.deepEqual([found, prometheus.asked], [{ kind: 'druid', isGuessed: false }, []])
})

test('below the path of its URL, with its credentials', async (t) => {
  const druid = await serve(t, (request, response) => {
    const isLet = request.headers.authorization === `Basic ${btoa('u:p')}`
    if (!isLet || request.url !== '/base/status') response.writeHead(401).end()
    else response.end(JSON.stringify(druidStatus))
  })
  const loaded = loadConfig({ upstream: `${druid.url.replace('//', '//u:p@')}/base/` })
  assert.ok('config' in loaded)
  const kinds = await detectKinds(loaded.config, fakeClock(0))
  assert.deepEqual(kinds.get('main'), { kind: 'druid', isGuessed: false })
})

test('of several, the first that answers decides', async (t) => {
  const [none, druid] = [await serve(t, only('/', '')), await serve(t, asDruid)]
  const urls = `[ 'http://127.0.0.1:1', '${none.url}', '${druid.url}' ]`
  assert.deepEqual(await detect(`{ url: ${urls} }`), { kind: 'druid', isGuessed: false })
})

test('a database that is not recognised, or does not answer, is classified by its port', async (t) => {
  const guess = { kind: 'prometheus', isGuessed: true } as const
  const silent: Record<string, RequestListener> = {
    'nothing of either': only('/', ''),
    'the same page everywhere': (_, response) => response.end('<html>'),
    'only who is let in': (_, response) => response.writeHead(401).end(),
    'that it is starting': (_, response) => response.writeHead(503).end(),
    'another that speaks the same': only('/api/v1/status/buildinfo', { data: { version: '0.36.1' } }),
    'more than anybody reads': (_, response) => {
      response.on('error', () => {})
      const more = () => void (response.destroyed || response.write('x'.repeat(1 << 20), more))
      more()
    },
  }
  for (const [name, listener] of Object.entries(silent)) {
    const { url } = await serve(t, listener)
    assert.deepEqual(await detect(`{ url: '${url}' }`), guess, name)
  }
  assert.deepEqual(await detect(`{ url: 'http://127.0.0.1:1' }`), guess)
  assert.deepEqual(await detect(`{ url: 'http://nowhere.invalid:8888' }`), { kind: 'druid', isGuessed: true })
  const unreadable = `{ url: 'http://127.0.0.1:8888', tls: { ca: /no/such/file } }`
  assert.deepEqual(await detect(unreadable), { kind: 'druid', isGuessed: true })
})

test('one that takes too long is not waited for, not even when it trickles', async (t) => {
  for (const isTrickling of [false, true]) {
    const clock = fakeClock(0)
    const begun = Promise.withResolvers<void>()
    const { url } = await serve(t, (_, response) => {
      if (isTrickling) response.write('{"version":')
      begun.resolve()
    })
    const found = detect(`{ url: '${url}' }`, clock)
    await begun.promise
    await clock.advance(2_000)
    assert.deepEqual(await found, { kind: 'prometheus', isGuessed: true })
  }
})
