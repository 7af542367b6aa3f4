/** Several databases on one address: whichever way a request names one, it reaches that one. As a process. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { askPlainly } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { authority, needsOpenssl } from '../upstream/certificates.ts'
import { adminAddress, readyAddress, startCommand } from './child.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 600_000 })

/** `main` answers with "1", `other`, which has the route, with "2". */
async function startTwo(t: TestContext, route: string, more = '') {
  const [one, two] = [await startScriptedUpstream(t), await startScriptedUpstream(t)]
  two.generation = 2
  const place = await mkdtemp(join(tmpdir(), 'windowpane-addresses-'))
  t.after(() => rm(place, { recursive: true, force: true }))
  const file = join(place, 'windowpane.yaml')
  const backends = `backends:\n  main: { url: '${one.url}' }\n  other: { url: '${two.url}', route: ${route} }\n`
  const usual = 'listen: 127.0.0.1:0\nadmin: { listen: "127.0.0.1:0" }\ntelemetry: { logLevel: silent }\n'
  await writeFile(file, usual + backends + more)
  const child = startCommand(t, ['--config', file])
  const url = await readyAddress(child)
  return { one, two, url, admin: await adminAddress(child), out: child.out }
}

test('a request with a whole URL as its target is routed by it', async (t) => {
  const { url } = await startTwo(t, '{ path: /two }')
  assert.match((await askPlainly(url, `http://windowpane.example${path}`)).body.toString(), /,"1"\]/)
  assert.match((await askPlainly(url, `http://windowpane.example/two${path}`)).body.toString(), /,"2"\]/)
})

test('the host of a whole URL goes before the Host header', async (t) => {
  const { url } = await startTwo(t, '{ host: Two.Example }')
  const answered = async (target: string, host: string) =>
    (await askPlainly(url, target, { headers: { host } })).body.toString()
  assert.match(await answered(`http://two.example:9191${path}`, 'elsewhere'), /,"2"\]/)
  assert.match(await answered(`http://elsewhere${path}`, 'two.example'), /,"1"\]/)
  assert.match(await answered(path, 'TWO.example:9191'), /,"2"\]/)
})

test(
  'a database with a host name is announced and run under that name, also with TLS',
  needsOpenssl,
  async (t) => {
    const { cert, key } = authority('addresses').issue('two', { names: 'DNS:two.example' })
    const tls = `tls: { cert: '${cert}', key: '${key}' }\n`
    const { one, two, url, admin, out } = await startTwo(t, '{ host: two.example }', tls)
    const named = `https://two.example:${new URL(url).port}`
    assert.match(out(), new RegExp(`data source of other to ${named}$`, 'm'))
    assert.match(out(), new RegExp(`is listening: ${named} → `))
    const answer = await askPlainly(admin, '/-/explain?run=1&backend=other', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ search: path.split('?')[1] }),
    })
    assert.equal(answer.status, 200, answer.body.toString())
    assert.equal((JSON.parse(answer.body.toString()) as { run: { status: number } }).run.status, 200)
    assert.deepEqual([one.seen.length, two.seen.length], [0, 1])
  },
)
