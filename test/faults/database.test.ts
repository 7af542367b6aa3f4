/**
 * Every fault of the database meets a cold cache, waiters, and a cache that has some of the answer. Whatever the
 * result, nothing wrong is stored: the next request gets the true bytes and fetches exactly the missing buckets.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Interval } from '../../src/core/interval.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { direct, NOW, openServer, type ProxyRig, rangeOf, STEP, scene } from '../coalescing/proxy-rig.ts'
import { silent, truthful } from '../coalescing/upstream.ts'
import type { Answer } from '../coalescing/viewer.ts'
import { type Fault, faults } from './catalogue.ts'
import { verdictOf } from './judge.ts'

const span = (from: number, to: number) => ({ from, to })
const old = { stored: span(0, 60), window: span(0, 100) }
/** Bucket 960 is now. */
const recent = { stored: span(880, 940), window: span(880, 961) }

/** Lets a stalled database be given up: patience first, then the deadline. */
async function waitForAnswer(
  proxy: ProxyRig,
  fault: Fault,
  answers: readonly Promise<Answer>[],
): Promise<Answer[]> {
  if (fault.stalls) {
    await proxy.roundTrips()
    await proxy.clock.advance(defaultLimits.patienceMs.slow)
    await proxy.clock.advance(defaultLimits.upstreamTimeoutMs)
  }
  return Promise.all(answers)
}

/** The same question when the database is well again. */
async function assertNothingWrongIsStored(
  proxy: ProxyRig,
  window: Interval,
  missing: Interval,
): Promise<void> {
  proxy.upstream.script = truthful
  await proxy.roundTrips()
  const before = proxy.upstream.asked.length
  const { status, body } = await proxy.ask(window).answer
  assert.deepEqual([status, body], [200, direct(window)])
  assert.deepEqual(proxy.asked.slice(before), [missing])
  assert.equal((await proxy.ask(window).answer).body, direct(window))
  await proxy.assertNothingLeft(window)
}

/** The buckets of a window that are not fresh when all known ones were fetched at NOW. */
function missingOf({ stored, window }: typeof old, now: number): Interval {
  const { ttl } = ladder()
  let from = window.from
  while (from < stored.to && now < NOW + ttl(NOW - rangeOf(span(from, from + 1)).start)) from++
  return { from, to: window.to }
}

async function meetCold(t: TestContext, fault: Fault): Promise<void> {
  const proxy = await openServer(t)
  proxy.upstream.script = fault.script
  const leader = proxy.ask(old.window)
  await proxy.upstream.untilAsked(1)
  const [answer] = await waitForAnswer(proxy, fault, [leader.answer])
  assert.equal(verdictOf(answer!, old.window, fault), fault.leader, describe(answer!))
  await assertNothingWrongIsStored(proxy, old.window, old.window)
}

async function meetWaiters(t: TestContext, fault: Fault): Promise<void> {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const leader = proxy.ask(old.window)
  const query = await proxy.upstream.untilAsked(1)
  const visits = [leader]
  for (let i = 0; i < 3; i++) visits.push(await proxy.askAndSettle(old.window))
  proxy.upstream.script = fault.script
  fault.script(query)
  const all = await waitForAnswer(
    proxy,
    fault,
    visits.map(({ answer }) => answer),
  )
  const verdicts = all.map((answer) => verdictOf(answer, old.window, fault))
  assert.deepEqual(verdicts, [fault.leader, fault.waiter, fault.waiter, fault.waiter], describe(all[1]!))
  await assertNothingWrongIsStored(proxy, old.window, old.window)
}

async function meetPartial(t: TestContext, fault: Fault, part: 'old' | 'recent'): Promise<void> {
  const scene = part === 'old' ? old : recent
  const proxy = await openServer(t)
  await proxy.ask(scene.stored).answer
  proxy.upstream.script = fault.script
  const visit = proxy.ask(scene.window)
  const query = await proxy.upstream.untilAsked(2)
  assert.equal(query.range.start, rangeOf(scene.stored).end + STEP)
  const [answer] = await waitForAnswer(proxy, fault, [visit.answer])
  assert.equal(verdictOf(answer!, scene.window, fault), fault[part], describe(answer!))
  await assertNothingWrongIsStored(proxy, scene.window, missingOf(scene, proxy.clock.now()))
}

const describe = ({ status, headers, body }: Answer): string =>
  `${status} ${String(headers['cache-status'])} ${body.slice(0, 300)}`

for (const fault of faults) {
  scene(`${fault.name}: on a cold cache`, (t) => meetCold(t, fault))
  scene(`${fault.name}: with waiters`, (t) => meetWaiters(t, fault))
  scene(`${fault.name}: where the rest is old`, (t) => meetPartial(t, fault, 'old'))
  scene(`${fault.name}: where the rest is recent`, (t) => meetPartial(t, fault, 'recent'))
}
