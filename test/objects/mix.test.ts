/**
 * Grafana's requests for dashboards of published proportions, replayed in front of a real Prometheus: the share that
 * never reaches the database, that every answer is the database's own, and that all panels and variables are drawn
 * while it is down.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { END, MINUTE, SECOND } from '../data/dataset.ts'
import { requireServer, startFixture, startOwnFixture } from '../data/fixture.ts'
import { type Answer, ask, askPlainly, header, outcomeOf, statusOf } from '../proxy/client.ts'
import { type Call, type CallKind, firstLoad, instantCall, kinds, refresh } from './mix/calls.ts'
import { type Dashboard, dashboards } from './mix/dashboards.ts'
import { type Counts, type MixProxy, reachedSoFar, replay, startProxy } from './mix/replay.ts'
import { firstLoads, refreshLoads, type Viewing } from './mix/viewers.ts'

const from = END - 20 * MINUTE
const refreshMs = 10 * SECOND

test('the proportions are those of published dashboards', () => {
  const shareOf = (calls: readonly Call[], kind: CallKind) =>
    Math.round((100 * calls.filter((call) => call.kind === kind).length) / calls.length)
  const first = dashboards(10).flatMap((dashboard) => firstLoad(dashboard, from))
  assert.deepEqual(
    kinds.map((kind) => shareOf(first, kind)),
    [76, 7, 8, 10],
  )
  const notRange = dashboards(10).map((dashboard) => 100 - shareOf(refresh(dashboard, from), 'range'))
  assert.deepEqual(
    notRange.map((share) => (share >= 17 && share <= 23 ? 'ordinary' : share)),
    ['ordinary', 60, ...Array.from({ length: 8 }, () => 'ordinary')],
  )
})

for (const [withinMs, least] of [
  [0, { range: 0.85, instant: 0, exemplars: 0.9, variables: 0.9, all: 0.7 }],
  [5 * SECOND, { range: 0.85, instant: 0.9, exemplars: 0.9, variables: 0.9, all: 0.9 }],
] as const)
  test(`30 viewers, instant.within ${withinMs / SECOND} s: calls that never reach Prometheus, and their answers`, async (t) => {
    const [own, direct] = [requireServer(t, await startOwnFixture()), requireServer(t, await startFixture())]
    if (own === null || direct === null) return
    t.after(() => Promise.all([own.stop(), direct.stop()]))
    const proxy = await startProxy(own.url, withinMs, fakeClock(from))
    t.after(() => proxy.close())
    const viewing: Viewing = {
      ...{ dashboards: dashboards(2), viewersOfEach: 30, refreshMs, from, refreshes: 1 },
    }
    const send = comparing(proxy.url, direct.url, withinMs)
    await replay(firstLoads({ ...viewing, viewersOfEach: 1 }), proxy.clock, send)
    const before = await reachedSoFar(own.url)
    const calls = await replay(refreshLoads(viewing), proxy.clock, send)
    const shares = sharesOf(calls, before, await reachedSoFar(own.url))
    t.diagnostic(JSON.stringify(shares))
    for (const [kind, share] of Object.entries(shares))
      assert.ok(share >= least[kind as CallKind | 'all'], `${kind}: ${share}`)
  })

/** Every answer equals Prometheus' answer to the same request; with `within`, to that for the time which it names. */
function comparing(proxy: string, prometheus: string, withinMs: number): (call: Call) => Promise<void> {
  const known = new Map<string, Promise<Answer>>()
  const directly = (call: Call): Promise<Answer> => {
    const text = `${call.path} ${call.body}`
    const answer = known.get(text) ?? askPlainly(prometheus, call.path, call)
    known.set(text, answer)
    return answer
  }
  return async (call) => {
    const answer = await ask(proxy, call.path, call)
    const earlierMs = evaluatedEarlierMs(answer)
    assert.ok(earlierMs <= withinMs, `${earlierMs}`)
    const same = earlierMs === 0 ? call : movedBack(call, earlierMs)
    const expected = await directly(same)
    assert.equal(answer.status, 200, call.path)
    assert.equal(answer.body.toString(), expected.body.toString(), `${call.path} ${call.body}`)
  }
}

const evaluatedEarlierMs = (answer: Answer): number =>
  Number(/evaluated (\d+) ms before/.exec(String(statusOf(answer).parameters.get('detail')))?.[1] ?? 0)

function movedBack({ method, path, body, time }: Call, ms: number): Call {
  const form = new URLSearchParams(method === 'POST' ? String(body) : path.slice(path.indexOf('?')))
  const query = form.get('query')!
  return instantCall({ method: method === 'POST' ? 'POST' : 'GET', query, time: time! - ms })
}

function sharesOf(calls: Counts, before: Counts, after: Counts): Record<CallKind | 'all', number> {
  const reached = (kind: CallKind) => after[kind] - before[kind]
  const all = (of: (kind: CallKind) => number) => kinds.reduce((sum, kind) => sum + of(kind), 0)
  const shares = Object.fromEntries(kinds.map((kind) => [kind, 1 - reached(kind) / calls[kind]]))
  return { ...(shares as Record<CallKind, number>), all: 1 - all(reached) / all((kind) => calls[kind]) }
}

test('an outage: panels, tables, stats and variables are drawn, also in pages loaded anew, and are fresh after it', async (t) => {
  const own = requireServer(t, await startOwnFixture())
  if (own === null) return
  t.after(() => own.stop())
  const proxy = await startProxy(own.url, 5 * SECOND, fakeClock(from))
  t.after(() => proxy.close())
  const shown = await loadAll(proxy)
  await own.kill()
  for (const passedMs of [refreshMs, 2 * MINUTE, 10 * MINUTE]) {
    await proxy.clock.advance(from + passedMs - proxy.clock.now())
    const during = await loadAll(proxy)
    for (const [i, { call, answer }] of during.entries()) {
      const what = `${passedMs} ${call.path} ${header(answer, 'cache-status')}`
      assert.equal(answer.status, 200, what)
      if (call.kind === 'range') continue
      assert.equal(answer.body.toString(), shown[i]!.answer.body.toString(), what)
      // A fresh answer need not be fetched.
      const isFresh = Number(statusOf(answer).parameters.get('ttl')) > 0
      assert.match(outcomeOf(answer), isFresh ? /^hit$/ : /^(stale\/database_unreachable|hit)$/, what)
      if (call.kind === 'instant') assert.equal(outcomeOf(answer), 'stale/database_unreachable', what)
    }
  }
  await own.restart()
  await afterOutage(proxy, own.url)
})

interface Loaded {
  readonly call: Call
  readonly answer: Answer
}

async function loadAll({ url, clock }: MixProxy): Promise<Loaded[]> {
  const calls = dashboards(2).flatMap((dashboard: Dashboard) => firstLoad(dashboard, clock.now()))
  return Promise.all(calls.map(async (call) => ({ call, answer: await ask(url, call.path, call) })))
}

async function afterOutage(proxy: MixProxy, prometheus: string): Promise<void> {
  await proxy.clock.advance(refreshMs)
  for (const { call, answer } of await loadAll(proxy)) {
    const what = `${call.path} ${header(answer, 'cache-status')}`
    assert.notEqual(statusOf(answer).outcome, 'stale', what)
    const expected = await askPlainly(prometheus, call.path, call)
    assert.equal(answer.body.toString(), expected.body.toString(), what)
  }
}
