/** Many concurrent requests, and disconnects; purges; modes and rules. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Rule } from '../../src/proxy/request/settings.ts'
import { ask, outcomeOf, rawClient, statusOf, until } from '../proxy/client.ts'
import { list, type Rig, startRig } from './rig.ts'

const labels = '/api/v1/labels'

/** A database that answers under the control of the test. */
function holdBack(rig: Rig): { answer(): void } {
  const waiting: (() => void)[] = []
  const answer = list('a')
  rig.upstream.script = (request, response) => void waiting.push(() => answer(request, response))
  return {
    answer: () => {
      for (const each of waiting.splice(0)) each()
    },
  }
}

const head = `GET ${labels} HTTP/1.1\r\nHost: h\r\n\r\n`

test('8 concurrent requests cause one query, and each gets the answer', async (t) => {
  const rig = await startRig(t)
  const database = holdBack(rig)
  const asking = Array.from({ length: 8 }, () => ask(rig.url, labels))
  await until(() => rig.server.databases[0]!.figures().requests === 8)
  await until(() => rig.asked === 1)
  database.answer()
  const answers = await Promise.all(asking)
  assert.equal(rig.asked, 1)
  assert.deepEqual(new Set(answers.map(outcomeOf)), new Set(['miss/absent']))
  assert.equal(answers.filter((each) => statusOf(each).parameters.get('collapsed') === true).length, 7)
  assert.equal(new Set(answers.map(({ body }) => body.toString())).size, 1)
})

test('the first client disconnects: the others get their answer all the same', async (t) => {
  const rig = await startRig(t)
  const database = holdBack(rig)
  const first = await rawClient(rig.url)
  first.write(head)
  await until(() => rig.asked === 1)
  const others = [ask(rig.url, labels), ask(rig.url, labels)]
  await until(() => rig.server.databases[0]!.figures().requests === 3)
  first.socket.destroy()
  await until(() => rig.server.databases[0]!.figures().requests === 2)
  database.answer()
  assert.deepEqual(
    (await Promise.all(others)).map(({ status }) => status),
    [200, 200],
  )
  assert.equal(rig.asked, 1)
})

test('when the last client disconnects, the query is cancelled', async (t) => {
  const rig = await startRig(t)
  holdBack(rig)
  const clients = [await rawClient(rig.url), await rawClient(rig.url)]
  for (const client of clients) client.write(head)
  await until(() => rig.server.databases[0]!.figures().requests === 2)
  await until(() => rig.asked === 1)
  for (const client of clients) client.socket.destroy()
  assert.equal(await rig.upstream.seen[0]!.finished, false)
  rig.upstream.script = list('b')
  assert.equal(outcomeOf(await ask(rig.url, labels)), 'miss/absent')
})

test('a slow database is not waited for where a stale answer is at hand', async (t) => {
  const rig = await startRig(t)
  await ask(rig.url, labels)
  const database = holdBack(rig)
  await rig.clock.advance(700_000)
  const asking = ask(rig.url, labels)
  await until(() => rig.asked === 2)
  await rig.clock.advance(10_000)
  const answer = await asking
  assert.deepEqual([answer.status, outcomeOf(answer)], [200, 'stale/database_slow'])
  database.answer()
  await rig.upstream.seen[1]!.finished
  let outcome = ''
  while (outcome !== 'hit') outcome = outcomeOf(await ask(rig.url, labels))
  assert.equal(rig.asked, 2)
})

test('changed data is fetched again, and the old answer serves while the database is down; a purged one does not', async (t) => {
  const rig = await startRig(t)
  const { url, clock, server } = rig
  await ask(url, labels)
  await clock.advance(1_000)
  await server.purge.markChanged({ backend: 'main', source: 'up' })
  rig.upstream.script = (_request, response) => response.writeHead(502).end()
  const stale = await ask(url, labels)
  assert.deepEqual([stale.status, outcomeOf(stale)], [200, 'stale/database_error'])
  rig.upstream.script = list('new')
  await clock.advance(1)
  assert.equal(outcomeOf(await ask(url, labels)), 'miss/purged')
  assert.equal(outcomeOf(await ask(url, labels)), 'hit')
  await server.purge.run({ backend: 'main' })
  rig.upstream.script = (_request, response) => response.writeHead(502).end()
  assert.equal((await ask(url, labels)).status, 502)
  rig.upstream.script = list('newer')
  await clock.advance(1)
  assert.equal(outcomeOf(await ask(url, labels)), 'miss/purged')
  assert.equal(outcomeOf(await ask(url, labels)), 'hit')
})

test('modes and rules: off, shadow, objects: false, a rule that wants nothing stale', async (t) => {
  const rig = await startRig(t)
  const { terms, ...settings } = rig.settings
  const rule = (changed: Rule['terms']): Rule => ({
    name: 'r',
    terms: changed,
    isMatch: ({ path }) => path === labels,
  })
  const outcome = async () => outcomeOf(await ask(rig.url, labels))
  rig.settings = { ...settings, terms: { ...terms, mode: 'off' } }
  assert.equal(await outcome(), 'bypass/switched_off')
  rig.settings = { ...settings, terms: { ...terms, mode: 'shadow' } }
  assert.equal(await outcome(), 'bypass/not_a_range_query')
  rig.settings = { ...settings, terms, rules: [rule({ objects: false })] }
  assert.equal(await outcome(), 'bypass/not_a_range_query')
  rig.settings = { ...settings, terms, whole: undefined }
  assert.equal(await outcome(), 'bypass/not_a_range_query')
  rig.settings = { ...settings, terms, rules: [rule({ maxStaleMs: 0 })] }
  assert.equal(await outcome(), 'miss/absent')
  await rig.clock.advance(700_000)
  rig.upstream.script = (_request, response) => response.writeHead(502).end()
  assert.equal(await outcome(), 'error/database_error')
})

test('endpoints and further paths are as configured', async (t) => {
  const off = { enabled: false }
  const rig = await startRig(t, {
    whole: {
      endpoints: {
        labels: off,
        series: { enabled: true, revalidateSeconds: 5, staleWhileRevalidateSeconds: 0 },
      },
      paths: [{ path: '/api/v1/targets*', enabled: true, revalidateSeconds: 10 }],
    },
  })
  const outcome = async (path: string) => outcomeOf(await ask(rig.url, path))
  assert.equal(await outcome(labels), 'bypass/not_a_range_query')
  assert.equal(await outcome('/api/v1/series?match[]=up'), 'miss/absent')
  assert.equal(await outcome('/api/v1/targets/metadata?limit=1'), 'miss/absent')
  await rig.clock.advance(5_000)
  assert.equal(await outcome('/api/v1/series?match[]=up'), 'miss/expired')
  assert.equal(await outcome('/api/v1/targets/metadata?limit=1'), 'hit')
  assert.equal(await outcome('/api/v1/targets/metadata?limit=2'), 'miss/absent')
})
