/** Explanations of requests whose answer is cached as a whole. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask } from '../proxy/client.ts'
import { NOW, startRig } from './rig.ts'

const labels = '/api/v1/labels'

test('explanations have the stored answer, its TTL, and why the database would be queried', async (t) => {
  const rig = await startRig(t, { whole: { instantWithinMs: 5_000 } })
  const explain = async (path: string, search = '', headers: readonly string[] = []) => {
    const wire = { method: 'GET', path, search, headers, body: Buffer.alloc(0) }
    const { outcome, reason, sentence } = await rig.server.databases[0]!.backendRuntime.explain(wire)
    return [reason === undefined ? outcome : `${outcome}/${reason}`, sentence]
  }
  assert.deepEqual(await explain(labels), [
    'miss/absent',
    'Miss: no answer of labels is stored; the database would be queried, and its answer would be fresh for 1 min, be served for 10 min more while it is fetched again, and serve for 12 h more where the database fails.',
  ])
  await ask(rig.url, labels)
  await rig.clock.advance(12_000)
  assert.deepEqual(await explain(labels), [
    'hit',
    'Hit: the answer of labels was generated 12 s ago and stays fresh for 48 s; the database would not be queried.',
  ])
  assert.equal((await explain(labels, '', ['cache-control', 'no-cache']))[0], 'miss/revalidate')
  assert.equal((await explain(labels, '', ['cache-control', 'no-store']))[0], 'bypass/no_store')
  assert.equal((await explain('/api/v1/targets'))[0], 'bypass/not_a_range_query')
  await rig.clock.advance(60_000)
  assert.match(
    (await explain(labels))[1]!,
    /^Hit: .* is fetched again in the background; it would be served meanwhile/,
  )
  await rig.clock.advance(700_000)
  assert.equal((await explain(labels))[0], 'miss/expired')
  const at = (ms: number) => `query=up&time=${(NOW + 772_000 + ms) / 1000}`
  await ask(rig.url, `/api/v1/query?${at(0)}`)
  assert.equal((await explain('/api/v1/query', at(3_000)))[0], 'hit')
  assert.equal((await explain('/api/v1/query', at(6_000)))[0], 'miss/expired')
  assert.equal(rig.asked, 2)
})
