/** Answers of a Druid that fails half-way, or reports that data is missing: they are never stored. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { requireServer } from '../data/fixture.ts'
import { type Answer, ApiClient, outcomeOf } from '../fidelity/client.ts'
import { startUnderTest } from './differential/under-test.ts'
import { startDruidFixture } from './fixture.ts'
import { type Relay, type RelayedAnswer, startRelay } from './relay.ts'

interface DruidRequest {
  readonly path: string
  /** About hours [from, to) of 2026-03-07. */
  body(from: number, to: number): object
}

const at = (hour: number) => new Date(Date.UTC(2026, 2, 7, hour)).toISOString()

const native = (query: object): DruidRequest => ({
  path: '/druid/v2',
  body: (from, to) => ({
    ...query,
    dataSource: 'wiki',
    granularity: 'hour',
    intervals: `${at(from)}/${at(to)}`,
  }),
})

const sqlText = 'SELECT FLOOR(__time TO HOUR) AS t, page, COUNT(*) AS n FROM wiki WHERE'
const sql = (resultFormat: string): DruidRequest => ({
  path: '/druid/v2/sql',
  body: (from, to) => ({
    query: `${sqlText} __time >= '${at(from)}' AND __time < '${at(to)}' GROUP BY 1, 2 ORDER BY 1, 2`,
    resultFormat,
  }),
})

const aggregations = [{ type: 'count', name: 'n' }]
const questions: Readonly<Record<string, DruidRequest>> = {
  timeseries: native({ queryType: 'timeseries', aggregations }),
  groupBy: native({ queryType: 'groupBy', dimensions: ['page'], aggregations }),
  topN: native({ queryType: 'topN', dimension: 'page', metric: 'n', threshold: 3, aggregations }),
  'SQL object': sql('object'),
  'SQL array': sql('array'),
  'SQL objectLines': sql('objectLines'),
  'SQL arrayLines': sql('arrayLines'),
  'SQL csv': sql('csv'),
}

type Spoil = (answer: RelayedAnswer) => RelayedAnswer

const cutTo =
  (share: number): Spoil =>
  (answer) => ({ ...answer, body: answer.body.slice(0, Math.floor(answer.body.length * share)) })

/** Behind the last whole row, where a line ends and nothing is missing but the end. */
const cutAfterRow: Spoil = (answer) => {
  const end = Math.max(answer.body.lastIndexOf('},{'), answer.body.lastIndexOf('],['), 0)
  const line = answer.body.trimEnd().lastIndexOf('\n')
  return { ...answer, body: answer.body.slice(0, end > 0 ? end + 1 : line + 1) }
}

const failure = JSON.stringify({ error: 'Query timeout', errorMessage: 'Query timed out!', host: null })
const context = (value: object): Spoil => {
  const text = JSON.stringify(value)
  return (answer) => ({ ...answer, headers: { ...answer.headers, 'x-druid-response-context': text } })
}
const segment = { itvl: '2026-03-07T00:00:00.000Z/2026-03-08T00:00:00.000Z', ver: '2026', part: 0 }

const faults: Readonly<Record<string, Spoil>> = {
  'a body that is cut short': cutTo(0.6),
  'a body that is cut behind a row': cutAfterRow,
  'no body at all': (answer) => ({ ...answer, body: '' }),
  'a connection that breaks off': (answer) => ({ ...cutTo(0.5)(answer), breaksOff: true }),
  'an error in the place of the answer': (answer) => ({ ...answer, body: failure }),
  'an error behind the rows': (answer) => ({
    ...cutAfterRow(answer),
    body: `${cutAfterRow(answer).body}${failure}`,
  }),
  'an error status': (answer) => ({ ...answer, status: 504, body: failure }),
  'a trailer that reports an incomplete answer': (answer) => ({
    ...answer,
    trailers: { 'X-Druid-Response-Complete': 'false', 'X-Error-Message': 'Query timed out' },
  }),
  'missing segments': context({ missingSegments: [segment] }),
  'uncovered intervals': context({ uncoveredIntervals: [segment.itvl], uncoveredIntervalsOverflowed: false }),
}

/** Only where a newline ends the body. */
const withoutNewline: Spoil = (answer) => ({ ...answer, body: answer.body.replace(/\n$/, '') })

interface ProxyRig {
  readonly relay: Relay
  readonly direct: ApiClient
  readonly proxied: ApiClient
}

async function open(t: TestContext, broker: string): Promise<ProxyRig> {
  const relay = await startRelay(t, broker)
  const proxy = await startUnderTest(relay.url)
  const [direct, proxied] = [new ApiClient(broker, 1), new ApiClient(proxy.url, 1)]
  t.after(() => Promise.all([direct.close(), proxied.close(), proxy.close()]))
  return { relay, direct, proxied }
}

const send = (
  client: ApiClient,
  { path, body }: DruidRequest,
  hours: readonly [number, number],
): Promise<Answer> =>
  client.post(path, JSON.stringify(body(...hours)), { 'content-type': 'application/json' })

/** A broken connection is an answer, too. */
const outcomeOfSend = (sent: Promise<Answer>): Promise<Answer | undefined> => sent.catch(() => undefined)

test('answers that are not whole, finished and successful are never stored', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())

  for (const [name, question] of Object.entries(questions)) {
    await t.test(name, async (t) => {
      const all = { ...faults, ...(name.startsWith('SQL') && { 'no final newline': withoutNewline }) }
      for (const [fault, spoil] of Object.entries(all)) {
        await t.test(fault, async (t) => {
          const { relay, direct, proxied } = await open(t, druid.brokerUrl)
          // Half of it is known, so that both a miss and a partial answer are spoilt.
          await send(proxied, question, [2, 6])
          relay.spoil = spoil
          await outcomeOfSend(send(proxied, question, [10, 16]))
          await outcomeOfSend(send(proxied, question, [2, 10]))
          relay.spoil = (answer) => answer
          const [expected, got] = [
            await send(direct, question, [2, 16]),
            await send(proxied, question, [2, 16]),
          ]
          assert.equal(got.body.toString(), expected.body.toString())
          const { outcome, asked } = outcomeOf(got)
          assert.deepEqual([outcome, asked], ['partial', 10], got.headers['cache-status'])
        })
      }
      await t.test('a whole answer is stored', async (t) => {
        const { relay, proxied } = await open(t, druid.brokerUrl)
        await send(proxied, question, [2, 6])
        await send(proxied, question, [2, 16])
        assert.equal(outcomeOf(await send(proxied, question, [2, 16])).outcome, 'hit')
        assert.equal(relay.seen.length, 2)
      })
    })
  }
})
