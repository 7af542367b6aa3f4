/** Access tokens in query strings: sent to the database as they came, kept apart, and found nowhere else. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { runToEnd, startProxy } from '../cli/child.ts'
import { ask, outcomeOf } from '../proxy/client.ts'
import { rangePath, rangeSearch } from '../proxy/matrix.ts'
import { startCollector } from '../tracing/collector.ts'

const start = Date.UTC(2026, 0, 1)
const range = { start, end: start + 600_000 }
const secret = 'Kn0xTr7VwQz'

const names = [
  ...['access_token', 'token', 'api_key', 'apikey', 'key', 'auth', 'password', 'secret', 'sig', 'signature'],
  ...['X-Amz-Signature', 'X-Amz-Credential', 'jwt', 'access%5Ftoken'],
]

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

/** Everything that is below a folder. */
async function bytesIn(folder: string): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const contents = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), 'latin1'))
  return (await Promise.all(contents)).join('')
}

test('a token in the query string is in no shape, log, trace, admin answer or store', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-tokens-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const collector = await startCollector(t)
  const { upstream, child, url, admin } = await startProxy(
    t,
    ...['--telemetry.log-level=debug', `--telemetry.traces.endpoint=${collector.url}`],
    ...['--stores.disk.type=lmdb', `--stores.disk.path=${folder}`, '--backends.main.store=disk'],
  )
  const all = names.map((name, i) => `${name}=${secret}${i}`)
  for (const [i, pair] of all.entries()) {
    const path = `${rangePath(range)}&${pair}`
    assert.equal(outcomeOf(await ask(url, path)), 'miss/absent', pair)
    assert.equal(upstream.seen.at(-1)!.target, path, 'the database gets the request unchanged')
    assert.equal(outcomeOf(await ask(url, path)), 'hit', pair)
    assert.equal(outcomeOf(await ask(url, `${path}x`)), 'miss/absent', 'another token')
    const body = `${rangeSearch(range)}&${names[i]}=${secret}post${i}`
    const posted = { method: 'POST', body, headers: form }
    assert.equal(outcomeOf(await ask(url, '/api/v1/query_range', posted)), 'miss/absent')
    assert.equal(outcomeOf(await ask(url, '/api/v1/query_range', posted)), 'hit')
    await ask(url, `/api/v1/query?query=up&${pair}`)
    await ask(url, `/api/v1/labels?${pair}`)
  }
  await ask(url, `${rangePath({ ...range, query: 'abs(sort(up))' })}&${all[0]}`)
  const seen: string[] = []
  for (const path of [
    '/-/requests?limit=1000',
    '/-/shapes?limit=1000',
    '/-/status',
    '/-/metrics',
    '/-/shadow',
  ]) {
    seen.push(await (await fetch(`${admin}${path}`)).text())
  }
  assert.match(seen[0]!, /"access_token\\",\\"\*\*\*[\w-]{22}\\"/)
  for (const accept of ['application/json', 'text/plain']) {
    for (const query of [`${rangeSearch({ start, end: start + 1_200_000 })}&${all[0]}`, rangeSearch(range)]) {
      const body = `${query}&${all[1]}`
      const answer = await fetch(`${admin}/-/explain`, { method: 'POST', body, headers: { ...form, accept } })
      seen.push(await answer.text())
      assert.equal(answer.status, 200, seen.at(-1))
    }
  }
  const search = `${rangeSearch({ start, end: start + 1_200_000 })}&${all[0]}`
  const wire = JSON.stringify({ path: '/api/v1/query_range', search })
  seen.push(await (await fetch(`${admin}/-/explain`, { method: 'POST', body: wire, headers: json })).text())
  assert.match(seen.at(-1)!, /access_token=\*\*\*/)
  for (const command of [['top', '--once'], ['doctor']]) {
    const { out, err } = await runToEnd(t, [...command, '--admin', admin])
    seen.push(out, err)
  }
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
  seen.push(child.out(), child.err(), JSON.stringify(collector.spans))
  assert.ok(collector.spans.length > 0)
  const stored = await bytesIn(folder)
  assert.match(stored, /access_token/, 'the shapes are stored')
  seen.push(stored)
  for (const text of seen) {
    const at = text.indexOf(secret)
    assert.equal(at, -1, at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 50))
  }
})
