/**
 * Answers that are cached as a whole, in front of a real Druid: byte for byte Druid's own, fetched once, fresh for as
 * long as their terms permit, and served stale while Druid does not answer.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireServer } from '../data/fixture.ts'
import { ask } from '../servers/druid/ask.ts'
import { startDruidFixture } from './fixture.ts'
import { wholeForms } from './whole-forms.ts'
import { WholeVisit } from './whole-visit.ts'

const second = 1000
const comparedHeaders = ['content-type', 'x-druid-response-context', 'x-druid-sql-header-included']

test('whole answers through the proxy', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  const visit = await WholeVisit.start(t, druid.brokerUrl)
  const forms = wholeForms('tiny')

  await t.test(
    'every form is byte-identical, and Druid is queried once for all ways to write it',
    async () => {
      let [hits, all] = [0, 0]
      for (const { name, path, body, same } of forms) {
        const direct = await ask(`${druid.brokerUrl}${path}`, body)
        const first = await visit.view({ path, body })
        assert.deepEqual([first.outcome, first.questions, first.text], ['miss', 1, direct.text], name)
        for (const other of [body, ...same]) {
          const again = await visit.view({ path, body: other })
          all++
          if (again.outcome === 'hit') hits++
          assert.deepEqual([again.questions, again.text], [0, direct.text], name)
          for (const header of comparedHeaders)
            assert.equal(again.headers[header], direct.headers[header], `${name}: ${header}`)
        }
      }
      assert.equal(hits, all)
      assert.ok(all > 90, `${all} requests`)
    },
  )

  await t.test('each answer has the id of its own query', async () => {
    const [{ path, body }] = forms as [(typeof forms)[0]]
    const named = await visit.view({ path, body: { ...body, context: { queryId: 'of-this-client' } } })
    const [one, other] = [await visit.view({ path, body }), await visit.view({ path, body })]
    assert.equal(named.headers['x-druid-query-id'], 'of-this-client')
    assert.match(one.headers['x-druid-query-id']!, /^[0-9a-f-]{36}$/)
    assert.notEqual(one.headers['x-druid-query-id'], other.headers['x-druid-query-id'])
    assert.deepEqual([named.questions, one.questions, other.questions], [0, 0, 0])
  })

  await t.test('numbers are fetched again after ten seconds, values after a minute', async () => {
    await visit.clock.advance(11 * second)
    for (const { name, endpoint, path, body } of forms) {
      const isName = endpoint === 'distinct' || endpoint === 'segmentMetadata'
      assert.equal((await visit.view({ path, body })).questions, isName ? 0 : 1, name)
    }
  })

  await t.test('concurrent requests are one query', async () => {
    await visit.clock.advance(11 * second)
    const [{ path, body }] = forms as [(typeof forms)[0]]
    const seen = await Promise.all(Array.from({ length: 12 }, () => visit.view({ path, body })))
    assert.equal(Math.max(...seen.map(({ questions }) => questions)), 1)
    assert.equal(new Set(seen.map(({ text }) => text)).size, 1)
  })

  await t.test('a waiter for a query that its own client has cancelled tries again', async () => {
    const body = { queryType: 'timeBoundary', dataSource: 'tiny', bound: 'minTime' }
    const asked = (queryId: string) => ({ path: '/druid/v2', body: { ...body, context: { queryId } } })
    const { relay } = visit
    const intact = relay.spoil
    relay.spoil = (answer) => {
      relay.spoil = intact
      return {
        ...answer,
        status: 500,
        body: '{"error":"Query cancelled","errorMessage":"Task was cancelled."}',
      }
    }
    const first = relay.next()
    const cancelled = visit.ask(asked('cancelled'))
    await first
    const [{ status, text }, others] = await Promise.all([cancelled, visit.view(asked('other'))])
    assert.deepEqual([status, JSON.parse(text).error], [500, 'Query cancelled'])
    assert.match(others.text, /2026-01-01T00:20:00.000Z/)
  })

  await t.test('a truncated or incomplete answer is forwarded and not stored', async () => {
    const asked = { path: '/druid/v2/sql', body: { query: 'SELECT COUNT(*) AS rows_of_all FROM tiny' } }
    const { relay } = visit
    const intact = relay.spoil
    relay.spoil = (answer) => ({
      ...answer,
      headers: { ...answer.headers, 'x-druid-response-context': '{"missingSegments":[1]}' },
    })
    assert.equal((await visit.view(asked)).questions, 1)
    relay.spoil = (answer) => ({ ...answer, body: answer.body.slice(0, -2) })
    assert.equal((await visit.view(asked)).text, '[{"rows_of_all":332}')
    relay.spoil = intact
    assert.equal((await visit.view(asked)).text, '[{"rows_of_all":332}]\n')
    assert.equal((await visit.view(asked)).questions, 0)
  })

  await t.test('while Druid does not answer, everything stored is served, and marked as stale', async () => {
    const before = new Map<string, string>()
    for (const { name, path, body } of forms) before.set(name, (await visit.view({ path, body })).text)
    await visit.clock.advance(700 * second)
    visit.relay.spoil = (answer) => ({ ...answer, status: 503, body: '{"error":"down"}' })
    for (const { name, path, body } of forms) {
      const { status, outcome, text, headers } = await visit.ask({ path, body })
      assert.deepEqual([status, outcome, text], [200, 'stale', before.get(name)], name)
      assert.match(headers['cache-status']!, /ttl=-\d+/)
    }
    const unknown = { path: '/druid/v2/sql', body: { query: 'SELECT MIN(added) FROM tiny' } }
    assert.equal((await visit.ask(unknown)).status, 503)
  })
})
