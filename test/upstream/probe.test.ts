/** Detection, `check --connect` and `doctor` log in to a database, and verify it, as the proxy does. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connectTo } from '../../src/config/probe.ts'
import type { BackendConfig } from '../../src/config/schema.ts'
import { ask } from '../proxy/client.ts'
import { authority, folder, needsOpenssl, openssl } from './certificates.ts'
import { type Given, pass, pemOf, startDatabase, startProxy, startUpstream } from './proxy-rig.ts'

/** Records heads as bytes: node:http trims the values of headers. */
async function startRecorder(t: TestContext) {
  const heads: string[] = []
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      heads.push(bytes.toString('latin1'))
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return { url, authorization: () => heads.map((head) => /^authorization:(.*)\r$/im.exec(head)?.[1]).at(-1) }
}

async function probed({ url, auth = {}, tls = {} }: Given): Promise<string> {
  const backend = { auth, tls } as unknown as BackendConfig
  try {
    const database = await connectTo(backend, (url as URL).href)
    return await database.get('/').then(
      ({ status }) => String(status),
      (error: Error) => error.message,
    )
  } catch (error) {
    return (error as Error).message
  }
}

const noToken = /secret: the token has characters that a header cannot carry(?:$|\))/
const empty = /secret is empty(?:$|\))/
const files: [string, 'tokenFile' | 'passwordFile', string, string | RegExp][] = [
  ['a token with blanks and CRLF behind it', 'tokenFile', 'secret \r\n', ' Bearer secret'],
  ['a token with blanks around it', 'tokenFile', '  secret\t\nnot this\n', ' Bearer secret'],
  ['a token behind an empty line', 'tokenFile', '\r\nsecret\n', ' Bearer secret'],
  ['a token with a control character', 'tokenFile', 'sec\u0001ret\n', noToken],
  ['a token in another script', 'tokenFile', 'sécret\n', noToken],
  ['an empty file of a token', 'tokenFile', '', empty],
  ['a password with blanks and CRLF', 'passwordFile', ' p \r\n', ` Basic ${btoa('u: p ')}`],
  ['an empty file of a password', 'passwordFile', '\n', empty],
]
for (const [name, key, content, expected] of files) {
  test(`a probe sends what the proxy sends: ${name}`, async (t) => {
    const { url, authorization } = await startRecorder(t)
    const file = join(folder, 'secret')
    writeFileSync(file, content)
    const auth = { [key]: file, ...(key === 'passwordFile' && { username: 'u' }) }
    const proxy = await startProxy(t, startUpstream(t, { url, auth }))
    const answer = await ask(proxy, '/api/v1/labels')
    const sent = authorization()
    const found = await probed({ url, auth })
    if (typeof expected === 'string') {
      assert.deepEqual([answer.status, sent, found, authorization()], [200, expected, '200', expected])
    } else {
      assert.deepEqual([answer.status, sent, authorization()], [502, undefined, undefined])
      assert.match(answer.body.toString(), expected)
      assert.match(found, expected)
      assert.ok(content.trim() === '' || !found.includes(content.trim()), 'the secret is shown')
    }
  })
}

const ours = openssl ? authority('probed') : undefined

test('a probe verifies certificates, whatever the environment sets', needsOpenssl, async (t) => {
  const { url, seen } = await startDatabase(t, { tls: pemOf(ours!.issue('database')) })
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  t.after(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before
  })
  assert.match(await probed({ url }), /unable to verify|self.signed/)
  assert.equal(seen.length, 0)
  assert.equal(await probed({ url, tls: { ca: ours!.cert } }), '200')
})

test('a probe uses the files of TLS that the proxy would use', needsOpenssl, async (t) => {
  const { url } = await startDatabase(t, { tls: pemOf(ours!.issue('files')) })
  const ca = join(folder, 'not-one.pem')
  writeFileSync(ca, 'no certificate')
  const { upstream } = startUpstream(t, { url, tls: { ca } })
  const reason = /not-one\.pem cannot be used: there is no certificate in it$/
  assert.match((await pass(upstream)).broken!.detail, reason)
  assert.match(await probed({ url, tls: { ca } }), reason)
  const plain = await startDatabase(t)
  const unused = { url: plain.url, tls: { ca: join(folder, 'none.pem') } }
  assert.equal((await pass(startUpstream(t, unused).upstream)).status, 200)
  assert.equal(await probed(unused), '200')
})
