/** Design §7, rules 4 and 5: failures that one viewer caused, failures of the database, and viewers who hang up. */
import assert from 'node:assert/strict'
import type { Store } from '../../src/stores/store.ts'
import { delegate } from './lookups.ts'
import { direct, openServer, scene } from './proxy-rig.ts'
import { silent, truthful } from './upstream.ts'
import { isCollapsed, outcomeOf } from './viewer.ts'

const span = (from: number, to: number) => ({ from, to })
const window = span(0, 100)
const timedOut = '{"status":"error","errorType":"timeout","error":"query timed out in expression evaluation"}'

scene('a timeout of the leader is its own: a waiter tries again, the others join it', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const leader = await proxy.askAndSettle(window, { parameters: { timeout: '1ms' } })
  const sameTerms = await proxy.askAndSettle(window, { parameters: { timeout: '1ms' } })
  const waiters = [await proxy.askAndSettle(window), await proxy.askAndSettle(window)]
  ;(await proxy.upstream.untilAsked(1)).reply(503, timedOut)
  for (const { answer } of [leader, sameTerms]) {
    assert.deepEqual([(await answer).status, (await answer).body], [503, timedOut])
  }
  const again = await proxy.upstream.untilAsked(2)
  assert.equal(again.parameters.get('timeout'), null)
  again.answer()
  const answers = await Promise.all(waiters.map(({ answer }) => answer))
  for (const { body } of answers) assert.equal(body, direct(window))
  assert.deepEqual(answers.map(isCollapsed).sort(), [false, true])
  assert.equal(proxy.upstream.asked.length, 2)
  await proxy.assertNothingLeft(window)
})

scene('a waiter that becomes the leader and fails by its own fault reports it', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  await proxy.askAndSettle(window, { parameters: { timeout: '1ms' } })
  const waiter = await proxy.askAndSettle(window, { parameters: { timeout: '2ms' } })
  ;(await proxy.upstream.untilAsked(1)).reply(503, timedOut)
  ;(await proxy.upstream.untilAsked(2)).reply(503, timedOut)
  assert.equal((await waiter.answer).status, 503)
  assert.equal(proxy.upstream.asked.length, 2)
  await proxy.assertNothingLeft(window)
})

for (const when of ['before the head', 'in the middle of the body'] as const) {
  scene(`the leader hangs up ${when}: the flight goes on for the others`, async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const leader = proxy.ask(window)
    const { response } = await proxy.upstream.untilAsked(1)
    const waiters = [await proxy.askAndSettle(window), await proxy.askAndSettle(window)]
    const body = direct(window)
    if (when === 'in the middle of the body') {
      response.write(body.slice(0, 500))
      await leader.head
    }
    leader.hangUp()
    await proxy.roundTrips()
    response.end(response.headersSent ? body.slice(500) : body)
    for (const { answer } of waiters) assert.equal((await answer).body, body)
    assert.deepEqual(proxy.asked, [window])
    await proxy.assertNothingLeft(window)
  })
}

scene(
  'the leader hangs up, and then the answer breaks off: it is requested once more for the others',
  async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const leader = proxy.ask(window)
    const { response } = await proxy.upstream.untilAsked(1)
    const waiter = await proxy.askAndSettle(window)
    response.write(direct(window).slice(0, 500))
    await leader.head
    leader.hangUp()
    await proxy.roundTrips()
    proxy.upstream.script = truthful
    response.destroy()
    assert.equal((await waiter.answer).body, direct(window))
    assert.deepEqual(proxy.asked, [window, window])
    await proxy.assertNothingLeft(window)
  },
)

scene('a waiter hangs up: the flight goes on for the leader', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const leader = proxy.ask(window)
  const query = await proxy.upstream.untilAsked(1)
  const waiter = await proxy.askAndSettle(window)
  waiter.hangUp()
  await proxy.roundTrips()
  assert.equal(query.isCancelled, false)
  query.answer()
  assert.equal((await leader.answer).body, direct(window))
  await proxy.assertNothingLeft(window)
})

for (const order of ['the leader first', 'the waiters first'] as const) {
  scene(`all hang up, ${order}: the query is cancelled`, async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const visits = [proxy.ask(window)]
    const query = await proxy.upstream.untilAsked(1)
    for (let i = 0; i < 3; i++) visits.push(await proxy.askAndSettle(window))
    if (order === 'the waiters first') visits.reverse()
    const last = visits.pop()!
    for (const visit of visits) visit.hangUp()
    await proxy.roundTrips()
    assert.equal(query.isCancelled, false)
    last.hangUp()
    await query.cancelled
    await proxy.assertNothingLeft(window)
  })
}

scene('a request that joined one flight and opened another leaves both', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const leader = await proxy.askAndSettle(span(0, 60))
  const both = await proxy.askAndSettle(span(0, 100))
  const own = await proxy.upstream.untilAsked(2)
  both.hangUp()
  await own.cancelled
  assert.equal(proxy.upstream.asked[0]!.isCancelled, false)
  leader.hangUp()
  await proxy.upstream.asked[0]!.cancelled
  await proxy.assertNothingLeft(span(0, 100))
})

scene('no query is sent for a client that disconnects during the lookup', async (t) => {
  let arrived = () => {}
  let release = () => {}
  const looking = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = (store: Store): Store => ({
    ...delegate(store),
    async read(key, interval) {
      arrived()
      await released
      return store.read(key, interval)
    },
  })
  const proxy = await openServer(t, { wrap: slow })
  const visit = proxy.ask(window)
  await looking
  visit.hangUp()
  await proxy.roundTrips()
  proxy.upstream.script = silent
  release()
  await proxy.roundTrips()
  assert.deepEqual(proxy.asked, [])
  await proxy.assertNothingLeft(window)
})

for (const [status, outcome] of [
  [422, 'error/database_refused'],
  [500, 'error/database_error'],
] as const) {
  scene(`an error ${status} of the database goes to all`, async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const visits = [proxy.ask(window)]
    const query = await proxy.upstream.untilAsked(1)
    for (let i = 0; i < 5; i++) visits.push(await proxy.askAndSettle(window))
    const body = `{"status":"error","errorType":"execution","error":"status ${status}"}`
    query.reply(status, body)
    const [, ...waiters] = visits
    for (const { answer } of visits)
      assert.deepEqual([(await answer).status, (await answer).body], [status, body])
    for (const { answer } of waiters) assert.equal(outcomeOf(await answer), outcome)
    assert.equal(proxy.upstream.asked.length, 1)
    await proxy.assertNothingLeft(window)
  })
}

scene('an error of the flight is not the error of a later request', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = (asked) => asked.reply(500, '{}')
  assert.equal((await proxy.ask(window).answer).status, 500)
  proxy.upstream.script = truthful
  assert.equal((await proxy.ask(window).answer).body, direct(window))
  assert.equal(proxy.upstream.asked.length, 2)
})
