/** Panels that are empty as long as all is well (`up > 2`): an outage must not look worse there than elsewhere. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Limits } from '../../src/proxy/limits.ts'
import { type House, NOW, openHouse, scene } from '../coalescing/house.ts'
import type { Asked } from '../coalescing/upstream.ts'
import { type Answer, outcomeOf, visit } from '../coalescing/viewer.ts'

const MINUTE = 60_000
const empty = '{"status":"success","data":{"resultType":"matrix","result":[]}}'
const nothing = (asked: Asked): void => asked.reply(200, empty)

async function quietHouse(t: TestContext, limits: Partial<Limits> = {}): Promise<House> {
  const house = await openHouse(t, { limits })
  house.upstream.script = nothing
  return house
}

/** The last hours of a panel, at a step. */
function askLast(house: House, hours: number, stepMs = 15_000): Promise<Answer> {
  const end = Math.floor(house.clock.now() / stepMs) * stepMs
  const range = {
    start: String(end / 1000 - hours * 3600),
    end: String(end / 1000),
    step: String(stepMs / 1000),
  }
  return visit(`${house.url}/api/v1/query_range?${new URLSearchParams({ query: 'up > 2', ...range })}`).answer
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
    const house = await quietHouse(t, { maxStaleMs })
    assert.equal((await askLast(house, 3)).body, empty)
    await house.upstream.goDown()
    for (let passed = 10_000; passed <= maxStaleMs; passed += 10_000) {
      await house.clock.advance(10_000)
      assertStale(await askLast(house, 3))
    }
    // The last bucket had a TTL of 5 s.
    await house.clock.advance(5_000)
    assertStale(await askLast(house, 3))
    await house.clock.advance(1)
    assertError(await askLast(house, 3))
    await house.upstream.comeBack()
    assert.equal((await askLast(house, 3)).body, empty)
  })
}

scene('a panel that was refreshed for a while: max stale counts from the last fetch', async (t) => {
  const house = await quietHouse(t)
  for (let i = 0; i < 60; i++) {
    await askLast(house, 3)
    await house.clock.advance(10_000)
  }
  assert.equal(house.clock.now(), NOW + 10 * MINUTE)
  await house.upstream.goDown()
  await house.clock.advance(14 * MINUTE)
  assertStale(await askLast(house, 3))
  await house.clock.advance(2 * MINUTE)
  assertError(await askLast(house, 3))
})

scene('in the first seconds of an outage the database is asked once per request', async (t) => {
  const house = await quietHouse(t)
  await askLast(house, 3)
  let asked = 0
  house.upstream.script = ({ request }) => {
    // Enough to see that it does not end by itself.
    if (++asked > 20) house.upstream.script = nothing
    request.socket.destroy()
  }
  await house.clock.advance(1_000)
  assertStale(await askLast(house, 3))
  assert.equal(asked, 1)
})

scene('a look at older times does not shorten what is known of the newest', async (t) => {
  const house = await quietHouse(t)
  await askLast(house, 3)
  // The same question, one hour that ended three hours ago.
  const end = NOW / 1000 - 3 * 3600
  const range = { start: String(end - 3600), end: String(end), step: '15' }
  await visit(`${house.url}/api/v1/query_range?${new URLSearchParams({ query: 'up > 2', ...range })}`).answer
  await house.upstream.goDown()
  await house.clock.advance(10 * MINUTE)
  assertStale(await askLast(house, 3))
})

scene('wide steps: a last bucket that stays empty is as old as its last fetch', async (t) => {
  const house = await quietHouse(t, { maxStaleMs: 5 * MINUTE })
  const hour = 3_600_000
  for (let i = 0; i < 10; i++) {
    assert.equal((await askLast(house, 24, hour)).body, empty)
    await house.clock.advance(MINUTE)
  }
  await house.upstream.goDown()
  assertStale(await askLast(house, 24, hour))
})
