/** Panels that are empty as long as all is well (`up > 2`): an outage must not look worse there than elsewhere. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Limits } from '../../src/proxy/limits.ts'
import { NOW, openServer, type ProxyRig, scene } from '../coalescing/proxy-rig.ts'
import type { Asked } from '../coalescing/upstream.ts'
import { type Answer, outcomeOf, visit } from '../coalescing/viewer.ts'

const MINUTE = 60_000
const empty = '{"status":"success","data":{"resultType":"matrix","result":[]}}'
const nothing = (asked: Asked): void => asked.reply(200, empty)

async function quietProxy(t: TestContext, limits: Partial<Limits> = {}): Promise<ProxyRig> {
  const proxy = await openServer(t, { limits })
  proxy.upstream.script = nothing
  return proxy
}

/** The last hours of a panel, at a step. */
function askLast(proxy: ProxyRig, hours: number, stepMs = 15_000): Promise<Answer> {
  const end = Math.floor(proxy.clock.now() / stepMs) * stepMs
  const range = {
    start: String(end / 1000 - hours * 3600),
    end: String(end / 1000),
    step: String(stepMs / 1000),
  }
  return visit(`${proxy.url}/api/v1/query_range?${new URLSearchParams({ query: 'up > 2', ...range })}`).answer
}

function assertStale(answer: Answer): void {
  assert.deepEqual([answer.status, outcomeOf(answer)], [200, 'stale/database_unreachable'])
  const { data, warnings } = JSON.parse(answer.body) as { data: { result: unknown[] }; warnings: string[] }
  assert.deepEqual(data.result, [])
  assert.match(warnings[0]!, /^windowpane: the database does not answer; this answer is stale/)
}

function assertError(answer: Answer): void {
  assert.deepEqual([answer.status, outcomeOf(answer)], [502, 'error/database_unreachable'])
}

// The policy's settled age is 11 minutes: above and below it.
for (const maxStaleMs of [15 * MINUTE, 5 * MINUTE, MINUTE]) {
  scene(`stale until ${maxStaleMs / MINUTE} minutes after the last good fetch, then an error`, async (t) => {
    const proxy = await quietProxy(t, { maxStaleMs })
    assert.equal((await askLast(proxy, 3)).body, empty)
    await proxy.upstream.goDown()
    for (let passed = 10_000; passed <= maxStaleMs; passed += 10_000) {
      await proxy.clock.advance(10_000)
      assertStale(await askLast(proxy, 3))
    }
    // The last bucket had a TTL of 5 s.
    await proxy.clock.advance(5_000)
    assertStale(await askLast(proxy, 3))
    await proxy.clock.advance(1)
    assertError(await askLast(proxy, 3))
    await proxy.upstream.comeBack()
    assert.equal((await askLast(proxy, 3)).body, empty)
  })
}

scene('a panel that was refreshed for a while: max stale counts from the last fetch', async (t) => {
  const proxy = await quietProxy(t)
  for (let i = 0; i < 60; i++) {
    await askLast(proxy, 3)
    await proxy.clock.advance(10_000)
  }
  assert.equal(proxy.clock.now(), NOW + 10 * MINUTE)
  await proxy.upstream.goDown()
  await proxy.clock.advance(14 * MINUTE)
  assertStale(await askLast(proxy, 3))
  await proxy.clock.advance(2 * MINUTE)
  assertError(await askLast(proxy, 3))
})

scene('in the first seconds of an outage the database is queried once per request', async (t) => {
  const proxy = await quietProxy(t)
  await askLast(proxy, 3)
  let asked = 0
  proxy.upstream.script = ({ request }) => {
    // Enough to see that it does not end by itself.
    if (++asked > 20) proxy.upstream.script = nothing
    request.socket.destroy()
  }
  await proxy.clock.advance(6_000)
  assertStale(await askLast(proxy, 3))
  assert.equal(asked, 1)
})

scene('a request for older times does not shorten the knowledge of the newest', async (t) => {
  const proxy = await quietProxy(t)
  await askLast(proxy, 3)
  // The same question, one hour that ended three hours ago.
  const end = NOW / 1000 - 3 * 3600
  const range = { start: String(end - 3600), end: String(end), step: '15' }
  await visit(`${proxy.url}/api/v1/query_range?${new URLSearchParams({ query: 'up > 2', ...range })}`).answer
  await proxy.upstream.goDown()
  await proxy.clock.advance(10 * MINUTE)
  assertStale(await askLast(proxy, 3))
})

scene('wide steps: a last bucket that stays empty is as old as its last fetch', async (t) => {
  const proxy = await quietProxy(t, { maxStaleMs: 5 * MINUTE })
  const hour = 3_600_000
  for (let i = 0; i < 10; i++) {
    assert.equal((await askLast(proxy, 24, hour)).body, empty)
    await proxy.clock.advance(MINUTE)
  }
  await proxy.upstream.goDown()
  assertStale(await askLast(proxy, 24, hour))
})
