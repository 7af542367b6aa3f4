/** TLS on the listener: the certificate is exchanged under the eyes of the clients, and never for a bad one. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, type AgentOptions, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { startServer } from '../../src/proxy/assembly/server.ts'
import { secureListener } from '../../src/proxy/front/listener-tls.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { authority, folder, needsOpenssl, openssl } from './certificates.ts'

const make = () => {
  const ours = authority('listener')
  return { ours, first: ours.issue('first'), second: ours.issue('second') }
}
const { ours, first, second } = openssl ? make() : ({} as ReturnType<typeof make>)

let runs = 0

async function open(t: TestContext) {
  const [cert, key] = [join(folder, `listen-${runs}.pem`), join(folder, `listen-${runs++}.key`)]
  copyFileSync(first.cert, cert)
  copyFileSync(first.key, key)
  const clock = fakeClock()
  const changes: (string | undefined)[] = []
  const listener = secureListener({ cert, key, clock, onCertificate: (error) => changes.push(error) })
  const { server } = listener
  server.on('request', (_request, response) => void response.end('fine'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    listener.stop()
    server.close()
    server.closeAllConnections()
  })
  return { clock, cert, key, changes, port: (server.address() as AddressInfo).port }
}

/** The name on the certificate that a client is shown. */
function nameShown(port: number, options: AgentOptions = {}): Promise<string> {
  const agent = new Agent({ ca: readFileSync(ours.cert), ...options })
  return nameShownTo(agent, port).finally(() => agent.destroy())
}

function nameShownTo(agent: Agent, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest({ host: '127.0.0.1', port, agent }, (response) => {
      const name = (response.socket as TLSSocket).getPeerCertificate().subject.CN
      response.on('end', () => resolve(String(name))).resume()
    })
    request.on('error', reject).end()
  })
}

test('a new certificate is shown to new connections', needsOpenssl, async (t) => {
  const { clock, cert, key, port, changes } = await open(t)
  assert.equal(await nameShown(port), 'listener-first')
  const agent = new Agent({ ca: readFileSync(ours.cert), keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  assert.equal(await nameShownTo(agent, port), 'listener-first')
  copyFileSync(second.key, key)
  copyFileSync(second.cert, cert)
  await clock.advance(1_000)
  assert.equal(await nameShown(port), 'listener-second')
  assert.equal(await nameShownTo(agent, port), 'listener-first')
  assert.deepEqual(changes, [undefined])
  await clock.advance(60_000)
  assert.equal(changes.length, 1)
})

test('a bad pair keeps the old one in force and has a reason, until it is good', needsOpenssl, async (t) => {
  const { clock, cert, key, port, changes } = await open(t)
  const bad: [() => void, RegExp][] = [
    [() => copyFileSync(second.cert, cert), /key values mismatch/],
    [() => writeFileSync(cert, readFileSync(second.cert).subarray(0, 200)), /cannot be used/],
    [() => writeFileSync(cert, ''), /cannot be used/],
    [() => rmSync(cert), /cannot be read: it does not exist/],
  ]
  for (const [spoil, expected] of bad) {
    spoil()
    await clock.advance(1_000)
    assert.match(changes.at(-1)!, expected)
    assert.equal(await nameShown(port), 'listener-first')
  }
  copyFileSync(first.cert, cert)
  await clock.advance(1_000)
  assert.equal(changes.at(-1), undefined)
  copyFileSync(second.cert, cert)
  copyFileSync(second.key, key)
  await clock.advance(1_000)
  assert.equal(changes.at(-1), undefined)
  assert.equal(await nameShown(port), 'listener-second')
})

test('certificates change under load: no request fails', needsOpenssl, async (t) => {
  const { clock, cert, key, port } = await open(t)
  const shown = new Set<string>()
  let isOver = false
  const client = async () => {
    while (!isOver) shown.add(await nameShown(port))
  }
  const clients = Promise.all([client(), client(), client(), client()])
  for (let i = 0; i < 10; i++) {
    const pair = i % 2 === 0 ? second : first
    copyFileSync(pair.cert, cert)
    // Looked at in the middle of the change as well.
    await clock.advance(1_000)
    copyFileSync(pair.key, key)
    await clock.advance(1_000)
    await nameShown(port)
  }
  isOver = true
  await clients
  assert.deepEqual([...shown].sort(), ['listener-first', 'listener-second'])
})

test('without a usable pair there is no listener', needsOpenssl, () => {
  const clock = fakeClock()
  assert.throws(
    () => secureListener({ cert: join(folder, 'no.pem'), key: first.key, clock }),
    /no TLS on the listener: .*no\.pem cannot be read: it does not exist/,
  )
  assert.throws(() => secureListener({ cert: first.cert, key: second.key, clock }), /key values mismatch/)
  assert.equal(clock.pending, 0)
})

test('an unusable certificate is logged once, and when it is over', needsOpenssl, async (t) => {
  const [cert, key] = [join(folder, 'told.pem'), join(folder, 'told.key')]
  copyFileSync(first.cert, cert)
  copyFileSync(first.key, key)
  const clock = fakeClock()
  const lines: string[] = []
  // There is a line about the database too, which is not there.
  const write = (line: string) => !line.includes('certificate') || lines.push(line) > 0
  const telemetry = new Telemetry({
    clock,
    version: '1',
    log: { level: () => 'info', format: () => 'text', write },
  })
  const terms = { mode: 'on', identity: 'shared', policy: ladder(), maxStaleMs: 0 } as const
  const backend = prometheus({ settledAgeMs: 1, maxBuckets: 1 })
  const database = { name: 'main', backend, upstream: { urls: ['http://127.0.0.1:9'] } }
  const proxy = await startServer({
    listen: '127.0.0.1:0',
    limits: defaultLimits,
    clock,
    telemetry,
    tls: { cert, key },
    databases: [{ ...database, settings: () => ({ terms, rules: [] }) }],
  })
  t.after(() => proxy.close())
  writeFileSync(key, 'not a key')
  for (let i = 0; i < 3; i++) await clock.advance(1_000)
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /warn .*certificate of the listener: .*told\.key/)
  copyFileSync(first.key, key)
  await clock.advance(1_000)
  assert.match(lines[1]!, /info .*certificate of the listener: in force/)
})
