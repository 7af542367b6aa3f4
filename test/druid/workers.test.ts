/** Two workers in front of a real Druid's Router: one cache, cancels that land in either, purges through the admin address. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { requireServer } from '../data/fixture.ts'
import { type Answer, ask, header, outcomeOf } from '../proxy/client.ts'
import { many, startWorkers } from '../workers/running-workers.ts'
import { startDruidFixture } from './fixture.ts'
import { startRelay } from './relay.ts'

const path = '/druid/v2'

interface Asked {
  readonly intervals: string
  readonly context?: object
  readonly aggregations?: readonly object[]
}

const counts = [{ type: 'count', name: 'n' }]

/** Takes a second or two: matches nothing after trying everything, for every row. */
/** Takes Druid a while; another `question` has another key. */
const costly = (question: number) =>
  Array.from({ length: 3 }, (_, i) => ({
    type: 'filtered',
    filter: {
      type: 'expression',
      expression: `regexp_like(concat(city, page, country, 'w${i}'), '^(.*[aeiou].*){3}x$')`,
    },
    aggregator: { type: 'count', name: `n${question}_${i}` },
  }))

const isCancelled = (body: string): boolean => body.includes('"error":"Query cancelled"')

const bodyOf = ({ intervals, context = {}, aggregations = counts }: Asked): string =>
  JSON.stringify({
    ...{ queryType: 'groupBy', dataSource: 'wiki', granularity: 'hour', intervals, context },
    ...{ dimensions: ['country'], aggregations },
  })

/** On a connection of its own: the system spreads them over the workers. */
const post = (url: string, asked: Asked): Promise<Answer> =>
  ask(url, path, { method: 'POST', body: bodyOf(asked), headers: { 'Content-Type': 'application/json' } })

async function directly(url: string, asked: Asked): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const { body } = await request(url + path, { method: 'POST', body: bodyOf(asked), headers })
  return body.text()
}

test('two workers in front of Druid', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const relay = await startRelay(t, druid.routerUrl)
  const running = await startWorkers(t, { upstream: relay, flags: ['--telemetry.log-level=silent'] })
  const seen = (method: string) => relay.seen.filter((each) => each.method === method).length
  const askAll = (asked: Asked) => Promise.all(many(asked).map((each) => post(running.url, each)))

  await t.test('both workers have the buckets of each other, and both give Druid’s answers', async () => {
    const windows = ['05T06/2026-03-07T18', '06T06/2026-03-08T18', '07T06/2026-03-09T18']
    for (const window of windows) {
      const intervals = `2026-03-${window}`
      const truth = await directly(druid.routerUrl, { intervals })
      assert.equal((await post(running.url, { intervals })).body.toString(), truth)
      const again = await askAll({ intervals })
      for (const answer of again) {
        assert.equal(answer.body.toString(), truth)
        assert.equal(outcomeOf(answer), 'hit')
      }
      assert.equal(new Set(again.map((answer) => header(answer, 'x-druid-query-id'))).size, again.length)
    }
    assert.equal(seen('POST'), windows.length)
  })

  await t.test('a query is cancelled by its id, whichever worker hears of it', async () => {
    let tries = 0
    for (let cancelled = 0; cancelled < 6; tries++) {
      assert.ok(tries < 100, 'queries are always over before they are cancelled')
      const id = `cancelled-${process.pid}-${tries}`
      const arrival = relay.next()
      const slow = { intervals: '2026-03-06/2026-03-11', aggregations: costly(tries) }
      const answer = post(running.url, { ...slow, context: { queryId: id } })
      const narrowed = await arrival
      // Druid knows a query a moment after it has come.
      for (let j = 0; j < 3; j++) await directly(druid.routerUrl, { intervals: '2026-03-06T00/PT1H' })
      assert.equal((await ask(running.url, `${path}/${id}`, { method: 'DELETE' })).status, 202)
      const { status, body } = await answer
      // On a busy machine Druid may be through with a query before its cancellation has come.
      if (!isCancelled((await narrowed.answer)?.body ?? '')) continue
      assert.equal(status, 500, body.toString().slice(0, 200))
      assert.ok(isCancelled(body.toString()))
      cancelled++
    }
    assert.equal(seen('DELETE'), tries)
  })

  await t.test('a purge through the admin address holds in both', async () => {
    const intervals = '2026-03-06T06/2026-03-08T18'
    const truth = await directly(druid.routerUrl, { intervals })
    const before = seen('POST')
    const hour = { from: '2026-03-07T00:00:00Z', to: '2026-03-07T01:00:00Z' }
    await running.post('/-/purge', { source: 'wiki', ...hour })
    const answers = await askAll({ intervals })
    for (const answer of answers) assert.equal(answer.body.toString(), truth)
    assert.deepEqual(
      new Set(answers.map(outcomeOf)).difference(new Set(['hit'])),
      new Set(['partial/absent']),
    )
    assert.equal(seen('POST') - before, 1)
    assert.match(relay.seen.at(-1)!.body, /"2026-03-07T00:00:00.000Z\/2026-03-07T01:00:00.000Z"/)
  })
})
