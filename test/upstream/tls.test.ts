/** A database behind https: trusted certificates, client certificates, and their replacement. */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { ask, header } from '../proxy/client.ts'
import { authority, folder, needsOpenssl, openssl } from './certificates.ts'
import {
  type Database,
  type Given,
  load,
  pass,
  pemOf,
  startDatabase,
  startProxy,
  startUpstream,
} from './proxy-rig.ts'

const make = () => {
  const ours = authority('ours')
  return { ours, theirs: authority('theirs'), good: ours.issue('good'), client: ours.issue('client') }
}
const { ours, theirs, good, client } = openssl ? make() : ({} as ReturnType<typeof make>)

const secure = (t: TestContext): Promise<Database> => startDatabase(t, { tls: pemOf(good) })

async function reasonOf(t: TestContext, given: Given): Promise<string> {
  const { broken } = await pass(startUpstream(t, given).upstream)
  assert.equal(broken?.reason, 'database_unreachable')
  return broken.detail
}

test('the named authority is trusted', needsOpenssl, async (t) => {
  const { url } = await secure(t)
  const { upstream } = startUpstream(t, { url, tls: { ca: ours.cert } })
  assert.deepEqual(await pass(upstream), { status: 200, body: 'fine' })
})

test('another authority is not: a 502 with the remedy', needsOpenssl, async (t) => {
  const { url } = await secure(t)
  const proxy = await startProxy(t, startUpstream(t, { url, tls: { ca: theirs.cert } }))
  const answer = await ask(proxy, '/api/v1/labels')
  assert.equal(answer.status, 502)
  assert.match(
    answer.body.toString(),
    /not signed by an authority that is trusted here; name that one with tls\.ca/,
  )
  assert.match(header(answer, 'cache-status')!, /database_unreachable/)
})

test('nor is it without a name, whatever the environment sets', needsOpenssl, async (t) => {
  const { url } = await secure(t)
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  t.after(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
  })
  assert.match(await reasonOf(t, { url }), /not signed by an authority that is trusted here/)
})

test('an expired certificate is refused', needsOpenssl, async (t) => {
  const { url } = await startDatabase(t, { tls: pemOf(ours.issue('expired', { isExpired: true })) })
  assert.match(
    await reasonOf(t, { url, tls: { ca: ours.cert } }),
    /^its certificate has expired \(CERT_HAS_EXPIRED/,
  )
})

test(
  'a certificate for another host is refused, unless that is the name to expect',
  needsOpenssl,
  async (t) => {
    const { url } = await startDatabase(t, {
      tls: pemOf(ours.issue('host', { names: 'DNS:prometheus.internal' })),
    })
    const tls = { ca: ours.cert }
    assert.match(await reasonOf(t, { url, tls }), /^its certificate is for another name; .*tls\.serverName/)
    const { upstream } = startUpstream(t, { url, tls: { ...tls, serverName: 'prometheus.internal' } })
    assert.equal((await pass(upstream)).status, 200)
  },
)

test('a database that speaks no TLS', needsOpenssl, async (t) => {
  const { url } = await startDatabase(t)
  assert.match(await reasonOf(t, { url: new URL(`https://${url.host}`) }), /^it does not speak TLS/)
})

test('a client certificate is sent to a database that requires one', needsOpenssl, async (t) => {
  const tls = { ...pemOf(good), ca: readFileSync(ours.cert), requestCert: true, rejectUnauthorized: true }
  const { url, seen } = await startDatabase(t, { tls })
  const { upstream } = startUpstream(t, { url, tls: { ca: ours.cert, cert: client.cert, key: client.key } })
  assert.equal((await pass(upstream)).status, 200)
  assert.equal((seen[0]!.socket as TLSSocket).getPeerCertificate().subject.CN, 'ours-client')
  assert.match(
    await reasonOf(t, { url, tls: { ca: ours.cert } }),
    /if it requires a client certificate, name one with tls\.cert and tls\.key/,
  )
})

test('unusable files: reported, and read again', needsOpenssl, async (t) => {
  const { url } = await secure(t)
  const ca = join(folder, 'later.pem')
  const { upstream, clock } = startUpstream(t, { url, tls: { ca } })
  assert.match((await pass(upstream)).broken!.detail, /later\.pem cannot be read: it does not exist$/)
  writeFileSync(ca, 'no certificate')
  await clock.advance(1_000)
  assert.match(
    (await pass(upstream)).broken!.detail,
    /later\.pem cannot be used: there is no certificate in it$/,
  )
  // The database is not to blame.
  assert.equal(upstream.upstreams()[0]!.healthy, true)
  copyFileSync(ours.cert, ca)
  await clock.advance(1_000)
  assert.equal((await pass(upstream)).status, 200)
})

test('a half replaced pair leaves the old one in use', needsOpenssl, async (t) => {
  const tls = { ...pemOf(good), ca: readFileSync(ours.cert), requestCert: true, rejectUnauthorized: true }
  const { url, seen } = await startDatabase(t, { tls })
  const [cert, key] = [join(folder, 'pair.pem'), join(folder, 'pair.key')]
  copyFileSync(client.cert, cert)
  copyFileSync(client.key, key)
  const { upstream, clock } = startUpstream(t, { url, tls: { ca: ours.cert, cert, key } })
  const shown = async () => {
    assert.equal((await pass(upstream)).status, 200)
    return (seen.at(-1)!.socket as TLSSocket).getPeerCertificate().subject.CN
  }
  assert.equal(await shown(), 'ours-client')
  const next = ours.issue('next')
  copyFileSync(next.cert, cert)
  await clock.advance(1_000)
  assert.equal(await shown(), 'ours-client')
  assert.match(upstream.upstreams()[0]!.tlsError!, /pair\.key cannot be used: .*key values mismatch/)
  copyFileSync(next.key, key)
  await clock.advance(1_000)
  assert.equal(await shown(), 'ours-next')
  assert.equal(upstream.upstreams()[0]!.tlsError, undefined)
})

test('authority and certificates are replaced under load: no request fails', needsOpenssl, async (t) => {
  const server = await secure(t)
  const ca = join(folder, 'rotating.pem')
  const trust = (text: string) => {
    writeFileSync(`${ca}.new`, text)
    renameSync(`${ca}.new`, ca)
  }
  const [old, next] = [readFileSync(ours.cert, 'utf8'), readFileSync(theirs.cert, 'utf8')]
  trust(old)
  const { upstream, clock } = startUpstream(t, { url: server.url, tls: { ca } })
  const traffic = load(upstream)
  await traffic.passed(50)
  trust(old + next)
  await clock.advance(1_000)
  await traffic.passed(50)
  const replacement = pemOf(theirs.issue('replacement'))
  ;(server.server as unknown as { setSecureContext(pem: object): void }).setSecureContext(replacement)
  await traffic.passed(50)
  trust(next)
  await clock.advance(1_000)
  await traffic.passed(50)
  assert.deepEqual(await traffic.stop(), [])
  assert.ok(
    new Set(server.seen.map(({ socket }) => socket)).size > 16,
    'new connections for new certificates',
  )
  // The old authority is no longer trusted: connections made under it are closed.
  assert.equal((await pass(upstream)).status, 200)
  ;(server.server as unknown as { setSecureContext(pem: object): void }).setSecureContext(pemOf(good))
  server.server.closeAllConnections()
  assert.match(
    (await pass(startUpstream(t, { url: server.url, tls: { ca } }).upstream)).broken!.detail,
    /not signed/,
  )
})

test('https over a unix socket', needsOpenssl, async (t) => {
  const socket = join(folder, 'secure.sock')
  await startDatabase(t, { tls: pemOf(good), socket })
  const { upstream } = startUpstream(t, { url: new URL('https://localhost'), socket, tls: { ca: ours.cert } })
  assert.equal((await pass(upstream)).status, 200)
})
