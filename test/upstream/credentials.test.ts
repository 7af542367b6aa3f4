/** How Windowpane logs in: from the configuration, from files that change, from the URL, or not at all. */
import assert from 'node:assert/strict'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ask } from '../proxy/client.ts'
import { folder } from './certificates.ts'
import { type Given, load, pass, startDatabase, startProxy, startUpstream } from './proxy-rig.ts'

const hidden = (value: string) => ({ reveal: () => value })
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

let files = 0
function secretFile(content: string): string {
  const path = join(folder, `secret-${files++}`)
  writeFileSync(path, content)
  return path
}

/** The request that the database received. */
async function sent(t: TestContext, given: Omit<Given, 'url'> & { user?: string }, own?: string) {
  const { url, seen } = await startDatabase(t)
  const { user, ...settings } = given
  const full = user === undefined ? url : new URL(`http://${user}@${url.host}`)
  const { upstream } = startUpstream(t, { ...settings, url: full })
  assert.equal(
    (await pass(upstream, { headers: own === undefined ? [] : ['Authorization', own] })).status,
    200,
  )
  const { rawHeaders } = seen[0]!
  return rawHeaders.filter((_, i) => rawHeaders[i - 1]?.toLowerCase() === 'authorization')
}

const cases: [string, Parameters<typeof sent>[1], string | undefined, string[]][] = [
  ['nothing', {}, undefined, []],
  ['a token', { auth: { token: hidden('abc') } }, undefined, ['Bearer abc']],
  ['a token from a file', { auth: { tokenFile: secretFile('abc \n') } }, undefined, ['Bearer abc']],
  ['a password', { auth: { username: 'u', password: hidden('p:ä') } }, undefined, [basic('u:p:ä')]],
  [
    'a password from a file',
    { auth: { username: 'u', passwordFile: secretFile(' p \r\n') } },
    undefined,
    [basic('u: p ')],
  ],
  ['user and password of the URL', { user: 'a%40b:c%25d' }, undefined, [basic('a@b:c%d')]],
  ['a URL that is not percent-encoded text', { user: '100%:x' }, undefined, [basic('100%:x')]],
  [
    'the configured ones before the URL’s own',
    { user: 'u:p', auth: { token: hidden('abc') } },
    undefined,
    ['Bearer abc'],
  ],
  ['a client before all else', { user: 'u:p', auth: { token: hidden('abc') } }, 'Bearer own', ['Bearer own']],
  [
    'a client replaced',
    { auth: { token: hidden('abc'), replaceClient: true } },
    'Bearer own',
    ['Bearer abc'],
  ],
  [
    'a client replaced by the URL',
    { user: 'u:p', auth: { replaceClient: true } },
    'Bearer own',
    [basic('u:p')],
  ],
  [
    'a client, as there is nothing to replace it',
    { auth: { replaceClient: true } },
    'Bearer own',
    ['Bearer own'],
  ],
]
for (const [name, given, own, expected] of cases) {
  test(`sent: ${name}`, async (t) => assert.deepEqual(await sent(t, given, own), expected))
}

test('a database that changes its token under load: no request fails', async (t) => {
  const database = await startDatabase(t)
  const tokenFile = secretFile('token-0\n')
  let accepted = ['Bearer token-0']
  database.script = (request, response) => {
    response.statusCode = accepted.includes(request.headers.authorization ?? '') ? 200 : 401
    response.end()
  }
  const { upstream } = startUpstream(t, { url: database.url, auth: { tokenFile } })
  const traffic = load(upstream)
  for (let i = 1; i <= 20; i++) {
    await traffic.passed(20)
    accepted.push(`Bearer token-${i}`)
    writeFileSync(`${tokenFile}.new`, `token-${i}\n`)
    renameSync(`${tokenFile}.new`, tokenFile)
    // Requests sent before the change have arrived after as many requests as there are connections.
    await traffic.passed(20)
    accepted = [`Bearer token-${i}`]
  }
  assert.deepEqual(await traffic.stop(), [])
})

test('a file that cannot be read is a 502 with the reason, and nothing is sent', async (t) => {
  const database = await startDatabase(t)
  const tokenFile = join(folder, 'not-there')
  const rig = startUpstream(t, { url: database.url, auth: { tokenFile } })
  const proxy = await startProxy(t, rig)
  const answer = await ask(proxy, '/api/v1/labels')
  assert.equal(answer.status, 502)
  assert.match(answer.body.toString(), /not-there cannot be read: it does not exist/)
  assert.equal(database.seen.length, 0)
  assert.equal(rig.upstream.upstreams()[0]!.healthy, true)
  writeFileSync(tokenFile, 'there')
  assert.equal((await ask(proxy, '/api/v1/labels')).status, 200)
})

test('a file that is missing or empty for a moment is being replaced', async (t) => {
  const { url, seen } = await startDatabase(t)
  const tokenFile = secretFile('one')
  const { upstream, clock } = startUpstream(t, { url, auth: { tokenFile } })
  const used = async () => ((await pass(upstream)).broken?.detail ?? seen.at(-1)!.headers.authorization)!
  assert.equal(await used(), 'Bearer one')
  rmSync(tokenFile)
  assert.equal(await used(), 'Bearer one')
  await clock.advance(4_999)
  writeFileSync(tokenFile, '')
  assert.equal(await used(), 'Bearer one')
  await clock.advance(1)
  assert.match(await used(), /secret-\d+ is empty$/)
  writeFileSync(tokenFile, 'two')
  assert.equal(await used(), 'Bearer two')
  rmSync(tokenFile)
  assert.equal(await used(), 'Bearer two')
})

test('a token that no header can carry is not shown', async (t) => {
  const { url } = await startDatabase(t)
  const { upstream } = startUpstream(t, { url, auth: { tokenFile: secretFile('sec ret') } })
  const { detail } = (await pass(upstream)).broken!
  assert.match(detail, /the token has characters that a header cannot carry$/)
  assert.doesNotMatch(detail, /sec ret/)
})

test('a unix socket', async (t) => {
  const socket = join(folder, 'plain.sock')
  const { seen } = await startDatabase(t, { socket })
  const { upstream } = startUpstream(t, { url: new URL('http://prometheus/prefix/'), socket })
  assert.equal((await pass(upstream, { path: '/api', search: 'a=b' })).status, 200)
  assert.equal(seen[0]!.url, '/prefix/api?a=b')
  assert.equal(seen[0]!.headers.host, 'prometheus')
  assert.equal(upstream.preferredEncoding, 'identity')
})

test('a unix socket that is not there', async (t) => {
  const { upstream } = startUpstream(t, {
    url: new URL('http://prometheus'),
    socket: join(folder, 'none.sock'),
  })
  assert.match((await pass(upstream)).broken!.detail, /ENOENT .*none\.sock/)
})
