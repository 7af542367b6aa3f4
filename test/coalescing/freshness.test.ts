/** Design §7, rule 3: which results a waiter accepts, and which flights it does not join. */
import assert from 'node:assert/strict'
import { matrixOf } from './matrix.ts'
import { direct, NOW, openServer, STEP, scene } from './proxy-rig.ts'
import { type Asked, silent } from './upstream.ts'
import { isCollapsed, outcomeOf } from './viewer.ts'

const span = (from: number, to: number) => ({ from, to })
/** Ends now: its last buckets have the floor's TTL of 5 s. */
const recent = span(860, 961)
const old = span(0, 100)

scene('waiters accept a result whose TTL lapsed on the way', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const visits = [await proxy.askAndSettle(recent), await proxy.askAndSettle(recent)]
  // Slower than the floor: by the time of the answer the last buckets are no longer fresh.
  await proxy.clock.advance(60_000)
  ;(await proxy.upstream.untilAsked(1)).answer()
  for (const { answer } of visits) assert.equal((await answer).body, direct(recent))
  assert.equal(proxy.upstream.asked.length, 1)
  // A later request does not accept it.
  proxy.upstream.script = (asked) => asked.answer()
  assert.equal(outcomeOf(await proxy.ask(recent).answer), 'partial/expired')
  await proxy.assertNothingLeft(recent)
})

scene(
  'no-cache does not join a flight that began before it, but a later viewer joins its flight',
  async (t) => {
    const proxy = await openServer(t)
    proxy.upstream.script = silent
    const first = await proxy.askAndSettle(old)
    await proxy.clock.advance(1)
    const reload = await proxy.askAndSettle(old, { headers: { 'cache-control': 'no-cache' } })
    await proxy.upstream.untilAsked(2)
    await proxy.clock.advance(1)
    const later = await proxy.askAndSettle(span(0, 120))
    await proxy.upstream.untilAsked(3)
    assert.deepEqual(proxy.asked, [old, old, span(100, 120)])
    ;(await proxy.upstream.untilAsked(2)).answer()
    assert.equal((await reload.answer).body, direct(old), 'it does not wait for the first')
    assert.ok(!isCollapsed(await reload.answer))
    ;(await proxy.upstream.untilAsked(1)).answer()
    ;(await proxy.upstream.untilAsked(3)).answer()
    assert.equal((await first.answer).body, direct(old))
    assert.equal((await later.answer).body, direct(span(0, 120)))
    assert.ok(isCollapsed(await later.answer))
    await proxy.assertNothingLeft(old)
  },
)

scene('no-cache fetches stored and fresh buckets once more', async (t) => {
  const proxy = await openServer(t)
  await proxy.ask(old).answer
  await proxy.clock.advance(1)
  const reload = await proxy.ask(old, { headers: { pragma: 'no-cache' } }).answer
  assert.deepEqual([outcomeOf(reload), reload.body], ['miss/revalidate', direct(old)])
  assert.deepEqual(proxy.asked, [old, old])
})

scene('max-age joins a flight that is young enough, and no other', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const first = await proxy.askAndSettle(old)
  await proxy.clock.advance(3_000)
  const patient = await proxy.askAndSettle(old, { headers: { 'cache-control': 'max-age=3' } })
  const strict = await proxy.askAndSettle(old, { headers: { 'cache-control': 'max-age=2' } })
  await proxy.upstream.untilAsked(2)
  assert.deepEqual(proxy.asked, [old, old])
  for (const query of proxy.upstream.asked) query.answer()
  const [joined, own] = [await patient.answer, await strict.answer]
  assert.deepEqual([joined.body, own.body], [direct(old), direct(old)])
  assert.deepEqual([isCollapsed(joined), isCollapsed(own)], [true, false])
  await first.answer
  await proxy.assertNothingLeft(old)
})

scene('the clock of a bucket is the instant before its query, also for waiters', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const first = await proxy.askAndSettle(old)
  await proxy.clock.advance(2 * STEP)
  ;(await proxy.upstream.untilAsked(1)).answer()
  await first.answer
  assert.equal(proxy.clock.now(), NOW + 2 * STEP)
  const hit = await proxy.ask(old).answer
  assert.deepEqual([outcomeOf(hit), hit.headers['age']], ['hit', '30'])
})

/** An answer for the request that fetched it; each names the query that it answers. */
const forOneOnly =
  (headers: Readonly<Record<string, string>>) =>
  ({ response, range }: Asked, number: number): void => {
    response.writeHead(200, headers)
    response.end(matrixOf(range).replace('"host":"a"', `"host":"a${number}"`))
  }

for (const [reason, headers] of [
  ['no_store', { 'cache-control': 'private, no-store' }],
  ['no_cache', { 'cache-control': 'no-cache' }],
  ['no_cache', { 'cache-control': 'max-age=0' }],
  ['private', { 'cache-control': 'private' }],
  ['vary', { vary: 'X-Team' }],
  ['vary', { vary: '*' }],
  ['malformed_cache_headers', { 'cache-control': 'max-age=soon' }],
] as const) {
  for (const [what, stored] of [
    ['all of it', undefined],
    ['the rest', span(0, 60)],
  ] as const) {
    const name = `${JSON.stringify(headers)}: an answer is not given to waiters with: ${what}`
    scene(name, async (t) => {
      const proxy = await openServer(t)
      if (stored !== undefined) await proxy.ask(stored).answer
      const before = proxy.asked.length
      const answer = forOneOnly(headers)
      proxy.upstream.script = silent
      const leader = await proxy.askAndSettle(old)
      const query = await proxy.upstream.untilAsked(before + 1)
      const waiters = [await proxy.askAndSettle(old), await proxy.askAndSettle(old)]
      proxy.upstream.script = (asked) => answer(asked, proxy.upstream.asked.length)
      answer(query, before + 1)
      assert.match((await leader.answer).body, new RegExp(`"a${before + 1}"`))
      const answers = await Promise.all(waiters.map((waiter) => waiter.answer))
      for (const given of answers) {
        assert.deepEqual([given.status, outcomeOf(given)], [200, `bypass/${reason}`])
        for (const [header, value] of Object.entries(headers)) assert.equal(given.headers[header], value)
      }
      const hosts = answers.map(({ body }) => /"(a\d)"/.exec(body)?.[1]).sort()
      assert.deepEqual(hosts, [`a${before + 2}`, `a${before + 3}`])
      assert.deepEqual(proxy.asked.slice(before + 1), [old, old])
      await proxy.assertNothingLeft(old)
    })
  }
}

scene('an answer that took longer than its own lifetime is not given to waiters', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const visits = [await proxy.askAndSettle(old), await proxy.askAndSettle(old)]
  const query = await proxy.upstream.untilAsked(1)
  await proxy.clock.advance(2000)
  proxy.upstream.script = (asked) => asked.answer()
  query.response.setHeader('cache-control', 'max-age=2')
  query.answer()
  assert.deepEqual(await Promise.all(visits.map(async ({ answer }) => outcomeOf(await answer))), [
    'miss/absent',
    'bypass/no_cache',
  ])
})

scene('waiters get an answer that is theirs too', async (t) => {
  const proxy = await openServer(t)
  proxy.upstream.script = silent
  const headers = { authorization: 'Bearer anna' }
  const visits = [await proxy.askAndSettle(old, { headers }), await proxy.askAndSettle(old, { headers })]
  const query = await proxy.upstream.untilAsked(1)
  query.response.setHeader('cache-control', 'private, max-age=60')
  query.response.setHeader('vary', 'Authorization, Origin')
  query.answer()
  for (const { answer } of visits) assert.equal((await answer).body, direct(old))
  assert.equal(proxy.asked.length, 1)
})
