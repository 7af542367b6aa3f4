/**
 * Windows that end now, where VictoriaMetrics puts the last older point in the place of those younger than its latency
 * offset. Its clock is the machine's: an answer counts where two direct answers around it agree.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Backend, Plan } from '../../src/backends/backend.ts'
import { systemClock } from '../../src/core/clock.ts'
import { type Answer, ApiClient, outcomeOf } from '../fidelity/client.ts'
import type { Victoriametrics } from '../servers/victoriametrics.ts'
import { compareWithoutStats } from './compare.ts'
import { backendUnderTest, startDatabase, startUnderTest } from './under-test.ts'

const minutes = 30
/** The last points repeat each other only where they are adjusted: every sample has a value of its own. */
function* recentLines(): Generator<string> {
  const now = Math.floor(systemClock.now() / 1000)
  for (let second = now - minutes * 60; second < now + 120; second++)
    yield `ticks{} ${second} ${second * 1000}`
}

const steps = [1, 5, 15, 59, 60] as const
/** Seconds by which the instants of a window are later than multiples of its step. */
const phasesOf = (step: number): readonly [number, number] => [0, 7 % step]
/** Seconds from now: a live window grows. */
const ends = [-90, -45, -20, -10, -3, 0, 0, 12] as const

interface Desk {
  readonly direct: ApiClient
  readonly proxied: ApiClient
}

interface Asked {
  readonly answer: Answer
  readonly difference: ReturnType<typeof compareWithoutStats>
}

/** Repeats until two direct answers agree: then the one between them must, too. */
async function askBetween({ direct, proxied }: Desk, path: string): Promise<Asked> {
  for (let tries = 0; tries < 200; tries++) {
    const before = await direct.get(`${path}&nocache=1`)
    const answer = await proxied.get(path)
    const after = await direct.get(`${path}&nocache=1`)
    if (compareWithoutStats(before, after) === undefined) {
      return { answer, difference: compareWithoutStats(before, answer) }
    }
  }
  throw new Error('no two direct answers agree')
}

async function watch(t: TestContext, server: Victoriametrics, backend: Backend): Promise<Asked[]> {
  const proxied = new ApiClient((await startUnderTest(t, server.url, backend)).url)
  const direct = new ApiClient(server.url)
  t.after(() => Promise.all([proxied.close(), direct.close()]))
  const seen: Asked[] = []
  for (const step of steps) {
    for (const [i, offset] of ends.entries()) {
      const end = Math.floor(systemClock.now() / 1000) + offset
      // On two grids in turn, so that stored buckets count.
      const phase = phasesOf(step)[i % 2]!
      const start = Math.floor((end - 20 * 60 - phase) / step) * step + phase
      const query = `query=last_over_time(ticks[1m])&start=${start}&end=${end}&step=${step}`
      seen.push(await askBetween({ direct, proxied }, `/api/v1/query_range?${query}`))
    }
  }
  return seen
}

test('a window that ends now is answered as the database answers it, mostly from stored buckets', async (t) => {
  const server = await startDatabase(t)
  if (server === null) return
  await server.load(recentLines())
  const seen = await watch(t, server, backendUnderTest())
  assert.deepEqual(
    seen.flatMap(({ difference }) => difference ?? []),
    [],
  )
  const outcomes = seen.map(({ answer }) => outcomeOf(answer))
  // The first question of each grid finds nothing.
  const grids = steps.flatMap((step) => [...new Set(phasesOf(step))])
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'miss').length, grids.length)
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'bypass').length, 0)
  const live = outcomes.filter(({ reason }) => reason === 'edge')
  assert.ok(live.length >= 3 * steps.length, `only ${live.length} answers with a live part`)
})

test('the comparison finds a proxy that stores the last points', async (t) => {
  const server = await startDatabase(t)
  if (server === null) return
  await server.load(recentLines())
  const right = backendUnderTest()
  const wrong: Backend = {
    ...right,
    plan(query, now, flavour) {
      const plan = right.plan(query, now, flavour)
      if ('bypass' in plan) return plan
      const { edges: _, ...stored } = plan
      return { ...stored, whole: [plan.window] } satisfies Plan
    },
  }
  const seen = await watch(t, server, wrong)
  assert.ok(seen.filter(({ difference }) => difference !== undefined).length > 5)
})
