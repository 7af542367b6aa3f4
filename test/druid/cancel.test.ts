/** Queries that their clients cancel, and the ids by which they do: on a real Druid, with queries that take a while. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { requireServer } from '../data/fixture.ts'
import { type Answer, ApiClient, outcomeOf } from '../fidelity/client.ts'
import { startUnderTest } from './differential/under-test.ts'
import { startDruidFixture } from './fixture.ts'
import { type Relay, startRelay } from './relay.ts'

/** Matches nothing after trying everything, for every row. */
const costly = (i: number) => `regexp_like(concat(city, page, country, '${i}'), '^(.*[aeiou].*){3}x$')`
const COSTS = 3

const native = {
  path: '/druid/v2',
  idKey: 'queryId',
  header: 'x-druid-query-id',
  body: (intervals: string, context: object) => ({
    ...{ queryType: 'timeseries', dataSource: 'wiki', granularity: 'hour', intervals, context },
    aggregations: Array.from({ length: COSTS }, (_, i) => ({
      type: 'filtered',
      filter: { type: 'expression', expression: costly(i) },
      aggregator: { type: 'count', name: `n${i}` },
    })),
  }),
}

const sql = {
  path: '/druid/v2/sql',
  idKey: 'sqlQueryId',
  header: 'x-druid-sql-query-id',
  body(intervals: string, context: object) {
    const sums = Array.from(
      { length: COSTS },
      (_, i) =>
        `COUNT(*) FILTER (WHERE REGEXP_LIKE(city || page || country || '${i}', '^(.*[aeiou].*){3}x$'))`,
    )
    const query = `SELECT FLOOR(__time TO HOUR) AS t, ${sums.join(', ')} FROM wiki WHERE TIME_IN_INTERVAL(__time, '${intervals}') GROUP BY 1`
    return { query, context }
  },
}

type Dialect = typeof native | typeof sql

const beginning = '2026-03-06T00:00/2026-03-06T02:00'
const isAboutBeginning = /2026-03-06T0[01]|MILLIS_TO_TIMESTAMP\(17727552/
const slow = '2026-03-06/2026-03-11'
const quick = '2026-03-31/2026-04-01'

class Viewers {
  readonly #url: string
  readonly #client: ApiClient
  readonly #dialect: Dialect

  constructor(url: string, dialect: Dialect) {
    this.#url = url
    this.#client = new ApiClient(url, 8)
    this.#dialect = dialect
  }

  ask(intervals: string, id?: string): Promise<Answer> {
    const { path, idKey, body } = this.#dialect
    const context = id === undefined ? {} : { [idKey]: id }
    return this.#client.post(path, JSON.stringify(body(intervals, context)), {
      'content-type': 'application/json',
    })
  }

  async cancel(id: string): Promise<number> {
    const { statusCode, body } = await request(`${this.#url}${this.#dialect.path}/${id}`, {
      method: 'DELETE',
    })
    await body.dump()
    return statusCode
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

interface ProxyRig {
  readonly relay: Relay
  readonly direct: Viewers
  readonly viewers: Viewers
}

async function open(t: TestContext, broker: string, dialect: Dialect): Promise<ProxyRig> {
  const relay = await startRelay(t, broker)
  const proxy = await startUnderTest(relay.url)
  const [direct, viewers] = [new Viewers(broker, dialect), new Viewers(proxy.url, dialect)]
  t.after(() => Promise.all([direct.close(), viewers.close(), proxy.close()]))
  return { relay, direct, viewers }
}

function assertCancelled({ status, body }: Answer): void {
  assert.equal(status, 500)
  const { error, errorClass, category } = JSON.parse(body.toString())
  assert.deepEqual(
    { error, errorClass, category },
    {
      error: 'Query cancelled',
      errorClass: 'java.util.concurrent.CancellationException',
      category: 'CANCELED',
    },
  )
}

/** Earlier requests have been received when this is answered: requests arrive one after the other. */
async function untilHeard(viewers: Viewers): Promise<void> {
  for (let i = 0; i < 3; i++) await viewers.ask(quick)
}

const queries = (relay: Relay) => relay.seen.filter(({ method }) => method === 'POST')
const deletes = (relay: Relay) =>
  relay.seen.filter(({ method }) => method === 'DELETE').map(({ path }) => path)

test('clients cancel their queries by their ids', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())

  for (const [name, dialect] of Object.entries({ native, sql })) {
    await t.test(name, async (t) => {
      await t.test('a cancelled query ends in Druid, and its client gets the cancellation', async (t) => {
        const { relay, direct, viewers } = await open(t, druid.brokerUrl, dialect)
        await viewers.ask(beginning)
        const arrival = relay.next()
        const answer = viewers.ask(slow, 'the-only')
        const narrowed = await arrival
        assert.doesNotMatch(narrowed.body, isAboutBeginning)
        // Druid knows a query a moment after it has come.
        await untilHeard(direct)
        assert.equal(await viewers.cancel('the-only'), 202)
        assertCancelled(await answer)
        assert.deepEqual(deletes(relay), [`${dialect.path}/the-only`])
        const ended = await narrowed.answer
        assert.equal(ended?.status, 500)
        assert.match(ended.body, /"error":"Query cancelled"/)
        assert.equal(outcomeOf(await viewers.ask(beginning)).outcome, 'hit')
      })

      for (const [who, other] of [
        ['first', 'second'],
        ['second', 'first'],
      ]) {
        await t.test(
          `of two who wait for one query, the ${who} can cancel without harm to the ${other}`,
          async (t) => {
            const { relay, direct, viewers } = await open(t, druid.brokerUrl, dialect)
            await untilHeard(viewers)
            const before = queries(relay).length
            const arrival = relay.next()
            const first = viewers.ask(slow, 'first')
            await arrival
            const second = viewers.ask(slow, 'second')
            await untilHeard(viewers)
            assert.equal(await viewers.cancel(who!), 202)
            const [cancelled, served] = who === 'first' ? [first, second] : [second, first]
            assertCancelled(await cancelled)
            const [expected, got] = [await direct.ask(slow, other), await served]
            assert.equal(got.status, 200)
            assert.equal(got.body.toString(), expected.body.toString())
            assert.equal(got.headers[dialect.header], other)
            assert.equal(queries(relay).length - before, 1, 'one query')
            assert.deepEqual(deletes(relay), [], 'Druid goes on with it')
            assert.equal(outcomeOf(await viewers.ask(slow)).outcome, 'hit')
          },
        )
      }

      await t.test('ids are the client’s own, whatever becomes of the query', async (t) => {
        const { viewers } = await open(t, druid.brokerUrl, dialect)
        for (const [intervals, outcome] of [
          ['2026-03-06T00:00/2026-03-06T02:00', 'miss'],
          ['2026-03-06T00:00/2026-03-06T02:00', 'hit'],
          ['2026-03-06T00:00/2026-03-06T03:00', 'partial'],
          ['2026-03-06T00:30/2026-03-06T03:00', 'partial'],
        ] as const) {
          const id = `viewer-${outcome}-${intervals.length}`
          const answer = await viewers.ask(intervals, id)
          assert.equal(outcomeOf(answer).outcome, outcome)
          assert.equal(answer.headers[dialect.header], id)
          assert.equal(answer.headers['x-druid-query-id'], id)
          const nameless = await viewers.ask(intervals)
          assert.match(nameless.headers[dialect.header] ?? '', /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/)
        }
      })

      await t.test('the cancellation of an unknown query is Druid’s to answer', async (t) => {
        const { direct, viewers } = await open(t, druid.brokerUrl, dialect)
        assert.equal(await viewers.cancel('nobody'), await direct.cancel('nobody'))
      })
    })
  }
})
