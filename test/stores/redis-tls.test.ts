/** Connections to Redis over TLS. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock as clock } from '../../src/core/clock.ts'
import { isUnavailable, skipReason, type Unavailable } from '../servers/availability.ts'
import { freePort } from '../servers/ports.ts'
import { type RedisServer, startRedis } from '../servers/redis/redis.ts'
import { type Authority, authority, needsOpenssl } from '../upstream/certificates.ts'
import { paneFetched, redisStore, stopAfterTests } from './redis.ts'

const ca = needsOpenssl.skip === false ? authority('redis') : undefined
let tlsPort = 0

async function startEncrypted(signer: Authority): Promise<RedisServer | Unavailable> {
  const { cert, key } = signer.issue('server')
  return startRedis('redis', {
    async prepare() {
      tlsPort = await freePort()
    },
    options: () => [
      ...['--tls-port', String(tlsPort), '--tls-ca-cert-file', signer.cert],
      ...['--tls-cert-file', cert, '--tls-key-file', key],
    ],
  })
}

const encrypted = ca
  ? await startEncrypted(ca)
  : { unavailable: 'there is no openssl to make certificates with' }

stopAfterTests(encrypted)

describe('TLS', { skip: skipReason(encrypted) }, () => {
  if (isUnavailable(encrypted) || ca === undefined) return
  test.after(() => encrypted.stop())
  const { cert, key } = ca.issue('client')
  const of = { hosts: `localhost:${tlsPort}`, tls: true, cert, key }

  test('connections are encrypted, and both sides show certificates', async (t) => {
    const store = await redisStore({ ...of, ca: ca.cert }, { clock })
    t.after(store.close)
    assert.ok(await store.panes.write(...paneFetched('up', { from: 0, to: 3 }, clock.now())))
  })

  test('an untrusted certificate is reported in a sentence', async (t) => {
    const store = await redisStore(of, { clock })
    t.after(store.close)
    const { trouble, detail } = store.panes.figures!().health!
    assert.equal(trouble, 'untrusted')
    assert.match(
      detail!,
      /has a certificate that is not trusted.*: name the authority that signed it with ca$/,
    )
  })
})
