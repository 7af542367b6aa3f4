/** A store may be broken, slow or return wrong data: the viewer's answer stays the database's. */
import assert from 'node:assert/strict'
import { MatrixSink } from '../../src/backends/matrix/decompose.ts'
import { gridThrough } from '../../src/core/grid.ts'
import type { Interval } from '../../src/core/interval.ts'
import { allocateBody, type Pane, paneOf } from '../../src/core/pane.ts'
import type { Found, Store } from '../../src/stores/store.ts'
import { delegate } from '../coalescing/lookups.ts'
import { direct, NOW, openServer, rangeOf, STEP, scene } from '../coalescing/proxy-rig.ts'
import { silent } from '../coalescing/upstream.ts'
import { outcomeOf } from '../coalescing/viewer.ts'

const span = (from: number, to: number) => ({ from, to })
const window = span(0, 100)
const grid = gridThrough('point', STEP, rangeOf(window).start)
const first = Math.floor((rangeOf(window).start - grid.origin) / STEP)

/** True buckets, as the engine would have stored them. */
function truePane(interval: Interval, fetchedAt = NOW): Pane {
  const sink = new MatrixSink(grid, span(first + interval.from, first + interval.to))
  sink.write(Buffer.from(direct(interval)))
  const decomposed = sink.end(fetchedAt)
  assert.ok('panes' in decomposed)
  return decomposed.panes[0]!
}

/** Buckets of another frame, which must not be used. */
function foreignPane(interval: Interval, fetchedAt: number): Pane {
  const body = allocateBody({
    ...{ from: first + interval.from, buckets: interval.to - interval.from, columns: 0, lanes: 2 },
    ...{ tableLength: 0, rankBytes: 0, frame: Buffer.from('another'), notes: [], slabBytes: 0 },
  })
  body.f64.fill(fetchedAt, body.clocksAt, body.clocksAt + body.buckets)
  return paneOf(body)
}

const shape: Found['shape'] = {
  ...{ backend: 'prometheus', text: '', query: '', sources: [], grid, identity: '' },
  ...{ knowsAllSources: true, lookbackMs: 0 },
  headers: ['Content-Type', 'application/json'],
}

const returning =
  (...panes: Pane[]) =>
  (store: Store): Store => ({ ...delegate(store), read: () => ({ panes, shape }) })

const failure = () => new Error('the store is broken')

const broken: Record<string, (store: Store) => Store> = {
  'throws on reading': (store) => ({
    ...delegate(store),
    read() {
      throw failure()
    },
  }),
  'rejects on reading': (store) => ({ ...delegate(store), read: () => Promise.reject(failure()) }),
  'throws on writing': (store) => ({
    ...delegate(store),
    write() {
      throw failure()
    },
  }),
  'rejects on writing': (store) => ({ ...delegate(store), write: () => Promise.reject(failure()) }),
  'keeps nothing': (store) => ({ ...delegate(store), write: () => false }),
  'knows the key, but no pane': returning(),
  'returns panes outside the interval': returning(
    truePane(span(-200, -100)),
    truePane(span(-50, 20)),
    truePane(span(90, 150)),
    truePane(span(200, 300)),
  ),
  'returns only panes that lie elsewhere': returning(truePane(span(-200, -100)), truePane(span(200, 300))),
  'returns overlapping panes': returning(
    truePane(span(0, 50)),
    truePane(span(20, 60)),
    truePane(span(10, 30)),
    truePane(span(40, 100)),
  ),
  'returns panes out of order': returning(
    truePane(span(60, 80)),
    truePane(span(0, 40)),
    truePane(span(40, 60)),
  ),
  'returns the same pane twice': returning(truePane(span(0, 70)), truePane(span(0, 70))),
  'returns empty panes': returning(truePane(span(0, 50)), { ...truePane(span(50, 60)), to: first + 50 }),
  'returns a pane of an older frame': returning(foreignPane(span(0, 50), NOW - 1000), truePane(span(50, 70))),
  'returns a pane of an older frame alone': returning(foreignPane(span(0, 50), NOW - 1000)),
  'returns a pane from the future': returning(truePane(span(0, 70), NOW + 3_600_000)),
  'returns expired panes': returning(truePane(span(0, 70), NOW - 2 * 3_600_000)),
  'is slow': (store) => ({
    ...delegate(store),
    read: async (key, interval) => {
      for (let i = 0; i < 100; i++) await Promise.resolve()
      return store.read(key, interval)
    },
    write: async (key, entry) => {
      for (let i = 0; i < 100; i++) await Promise.resolve()
      return store.write(key, entry)
    },
  }),
}

for (const [name, wrap] of Object.entries(broken)) {
  scene(`a store that ${name}: the answers stay right`, async (t) => {
    const proxy = await openServer(t, { wrap })
    for (const asked of [window, window, span(0, 120), span(30, 90)]) {
      const { status, body } = await proxy.ask(asked).answer
      assert.deepEqual([status, body], [200, direct(asked)])
    }
    proxy.upstream.script = silent
    const before = proxy.upstream.asked.length
    const together = [proxy.ask(span(400, 500)), proxy.ask(span(400, 500))]
    await proxy.upstream.untilAsked(before + 1)
    proxy.upstream.script = (asked) => asked.answer()
    proxy.upstream.asked[before]!.answer()
    // With an unreadable store there is nothing to join: the second query may have been sent before the script changed.
    for (const asked of proxy.upstream.asked.slice(before + 1))
      if (!asked.response.headersSent) asked.answer()
    for (const { answer } of together) assert.equal((await answer).body, direct(span(400, 500)))
  })
}

/** Works until the test makes it fail. */
function failing(how: 'throws' | 'rejects') {
  const state = { isBroken: false }
  const wrap = (store: Store): Store => ({
    ...delegate(store),
    read(key, interval) {
      if (!state.isBroken) return store.read(key, interval)
      if (how === 'throws') throw failure()
      return Promise.reject(failure())
    },
  })
  return { state, wrap }
}

for (const how of ['throws', 'rejects'] as const) {
  scene(
    `a store that ${how} when the database is slow is no worse than one without stale answers`,
    async (t) => {
      const { state, wrap } = failing(how)
      const proxy = await openServer(t, { wrap })
      const recent = span(880, 961)
      await proxy.ask(span(880, 940)).answer
      proxy.upstream.script = silent
      const visit = await proxy.askAndSettle(recent)
      const query = await proxy.upstream.untilAsked(2)
      state.isBroken = true
      await proxy.clock.advance(10_000)
      query.answer()
      const answer = await visit.answer
      assert.deepEqual([outcomeOf(answer), answer.body], ['partial/absent', direct(recent)])
    },
  )

  scene(`a store that ${how} when the database is broken leaves the database's error`, async (t) => {
    const { state, wrap } = failing(how)
    const proxy = await openServer(t, { wrap })
    await proxy.ask(span(880, 940)).answer
    proxy.upstream.script = silent
    const visit = await proxy.askAndSettle(span(880, 961))
    const query = await proxy.upstream.untilAsked(2)
    state.isBroken = true
    query.reply(500, 'broken')
    const answer = await visit.answer
    assert.deepEqual([answer.status, answer.body, outcomeOf(answer)], [500, 'broken', 'error/database_error'])
  })
}
