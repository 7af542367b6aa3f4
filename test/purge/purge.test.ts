/** Purging as operators do it: a real process, its admin listener, and databases that record their queries. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { END } from '../data/dataset.ts'
import { requireServer, startFixture } from '../data/fixture.ts'
import { outcomeOf, statusOf } from '../proxy/client.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { isUnavailable } from '../servers/availability.ts'
import { rangeText } from '../servers/query.ts'
import { eventually } from '../wait.ts'
import { folder, openServer, type ProxyRig } from './proxy-rig.ts'

const minute = 60_000
const stepMs = minute
const end = END - 120 * minute
const start = end - 119 * minute
const iso = (ms: number): string => new Date(ms).toISOString()

interface PurgeCase {
  readonly query: string
  /** How far before a bucket its data lies. */
  readonly lookbackMs: number
  /** Whether it may read the metric `up`. */
  readonly readsUp: boolean
}

const questions: readonly PurgeCase[] = [
  { query: 'up', lookbackMs: 5 * minute, readsUp: true },
  { query: 'sum by (job) (rate(http_requests_total[10m]))', lookbackMs: 10 * minute, readsUp: false },
  { query: 'max_over_time(memory_bytes[15m] offset 30m)', lookbackMs: 45 * minute, readsUp: false },
  { query: 'count({job="api"})', lookbackMs: 5 * minute, readsUp: true },
]

const rangeOf = ({ query }: PurgeCase) => ({ query, start, end, stepMs })

async function expectAll(
  proxy: ProxyRig,
  expected: (question: PurgeCase) => number,
  direct: Direct,
): Promise<void> {
  for (const question of questions) {
    const answer = await proxy.ask(rangeOf(question))
    const asked = expected(question)
    const { outcome, asked: actual } = statusOf(answer)
    assert.deepEqual([question.query, actual ?? 0], [question.query, asked])
    assert.equal(outcome, asked === 0 ? 'hit' : asked === 120 ? 'miss' : 'partial')
    assert.equal(answer.body.toString(), direct.get(question.query), 'the answer is the database’s own')
  }
}

type Direct = ReadonlyMap<string, string>

/** Buckets whose data may lie in [from, to). */
function touched({ lookbackMs }: PurgeCase, from: number, to: number): number {
  let count = 0
  for (let at = start; at <= end; at += stepMs) if (at >= from && at - lookbackMs < to) count++
  return count
}

test('by metric, interval, shape and backend: dry runs have the right counts, and only touched buckets are fetched again', async (t) => {
  const prometheus = requireServer(t, await startFixture())
  if (prometheus === null || isUnavailable(prometheus)) return
  t.after(() => prometheus.stop())
  const direct = new Map<string, string>()
  for (const question of questions)
    direct.set(question.query, await rangeText(prometheus.url, rangeOf(question)))
  const proxy = await openServer(t, `  main:\n    url: ${prometheus.url}\n`)
  await expectAll(proxy, () => 120, direct)
  await expectAll(proxy, () => 0, direct)

  const purge = async (selection: object, expected: (question: PurgeCase) => number): Promise<void> => {
    const dry = await proxy.count(selection)
    await expectAll(proxy, () => 0, direct)
    const report = await proxy.purge(selection)
    assert.deepEqual([dry.dryRun, report.dryRun, report.durable], [true, false, true])
    assert.deepEqual(
      [report.shapes, report.buckets, report.examples],
      [dry.shapes, dry.buckets, dry.examples],
    )
    const counts = questions.map(expected)
    assert.equal(
      report.buckets,
      counts.reduce((a, b) => a + b),
    )
    assert.equal(report.shapes, counts.filter((count) => count > 0).length)
    await expectAll(proxy, expected, direct)
    await expectAll(proxy, () => 0, direct)
  }

  await purge({ source: 'up' }, ({ readsUp }) => (readsUp ? 120 : 0))
  const [from, to] = [start + 60 * minute, start + 65 * minute]
  await purge({ from: iso(from), to: to / 1000 }, (question) => touched(question, from, to))
  await purge({ source: 'memory_bytes', from: iso(from), to: iso(to) }, (question) =>
    question.query.includes('memory_bytes') || question.query.includes('{job=')
      ? touched(question, from, to)
      : 0,
  )
  const shapes = await proxy.get<{ key: string; shape: string }[]>('/-/shapes')
  const { key, shape } = shapes.find((row) => row.shape.includes('rate('))!
  await purge({ shape: key }, ({ query }) => (query.includes('rate(') ? 120 : 0))
  await purge({ shape, from: iso(from) }, (question) =>
    question.query.includes('rate(') ? touched(question, from, Number.POSITIVE_INFINITY) : 0,
  )
  await purge({ shape: 'up' }, ({ query }) => (query === 'up' ? 120 : 0))
  await purge({ backend: 'main' }, () => 120)
  await purge({ all: true }, () => 120)

  const marks = await proxy.get<Record<string, unknown>[]>('/-/marks')
  assert.deepEqual(
    marks.map(({ kind }) => kind),
    ['purge'],
    'the last one covers all the others',
  )
  const lines = proxy.log.split('\n').filter((line) => line.includes('"purged"'))
  assert.equal(lines.length, 8)
  assert.match(lines[0]!, /"level":"info".*"source":"up","shapes":2,"buckets":240/)
  await proxy.stop()
})

test('two databases: a purge of one leaves the other alone', async (t) => {
  const [one, two] = [await startScriptedUpstream(t), await startScriptedUpstream(t)]
  const backends = `  one:\n    url: ${one.url}\n    route: { path: /one }\n    store: disk\n  two:\n    url: ${two.url}\n    route: { path: /two }\n    store: disk\n`
  const proxy = await openServer(t, backends, await folder(t))
  const range = { start, end }
  const both = async (): Promise<string[]> => [
    outcomeOf(await proxy.ask(range, '/one')),
    outcomeOf(await proxy.ask(range, '/two')),
  ]
  assert.deepEqual(await both(), ['miss/absent', 'miss/absent'])
  assert.deepEqual(await both(), ['hit', 'hit'])
  assert.equal((await proxy.purge({ backend: 'one' })).buckets, 120)
  const [first, second] = await both()
  assert.match(first!, /^miss/)
  assert.equal(second, 'hit')
  assert.equal((await proxy.purge({ all: true })).buckets, 240)
  assert.match((await both()).join(' '), /^miss\S+ miss/)
  await proxy.stop()
})

test('two processes on one store: a purge in one is heard of in the other, and holds after a restart', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const store = await folder(t)
  const backends = `  main:\n    url: ${upstream.url}\n    store: disk\n`
  const one = await openServer(t, backends, store)
  const other = await openServer(t, backends, store)
  const range = { start, end }
  for (const proxy of [one, one, one, other, other]) await proxy.ask(range)
  assert.equal(outcomeOf(await other.ask(range)), 'hit')
  upstream.generation = 2
  await one.purge({ source: 'up', to: 'now' })
  assert.match((await one.ask(range)).body.toString(), /,"2"\]/)
  const answer = await eventually(
    () => other.ask(range),
    (each) => !(outcomeOf(each) === 'hit' && each.body.includes(',"1"]')),
  )
  assert.match(answer.body.toString(), /,"2"\]/)
  assert.deepEqual(await one.get('/-/marks'), await other.get('/-/marks'))
  await one.purge({ all: true })
  await one.stop()
  await other.stop()
  upstream.generation = 3
  const later = await openServer(t, backends, store)
  assert.match((await later.ask(range)).body.toString(), /,"3"\]/)
  assert.equal((await later.get<object[]>('/-/marks')).length, 1)
  await later.stop()
})
