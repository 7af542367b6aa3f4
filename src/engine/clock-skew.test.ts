/** Nodes whose clocks differ by up to ten seconds: that adds to the allowed staleness, and to nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EngineRig, minuteMs } from '../../test/rigs/engine-rig.ts'
import { FleetRig } from '../../test/rigs/fleet-rig.ts'
import { sharedRows } from '../../test/rigs/memory-engines.ts'
import { seededRandom } from '../testing/random.ts'
import { ladder } from '../ttl/ladder.ts'
import { usualLeaseMs } from './cell-claims.ts'

const viewers = 20
const refreshMs = 10_000
const windowCells = 60
const runMs = 10 * minuteMs
const lagMs = 300
const dayMs = 24 * 60 * minuteMs

interface Result {
  readonly asked: number
  readonly served: number
  readonly stale: number
  /** By how much the oldest value of an answer exceeded its TTL, at most. */
  readonly overdueMs: number
  readonly queries: number
  readonly hits: readonly number[]
  readonly slowestMs: number
}

/** The value of a cell is when it was fetched. */
function changingFleet(aheadMs: readonly number[]): FleetRig {
  const fleet: FleetRig = new FleetRig({
    ...{ nodes: aheadMs.length, aheadMs, newStore: sharedRows(dayMs) },
    valueAt: () => fleet.clock.now(),
  })
  return fleet
}

const rowsOf = (text: string): readonly (readonly [start: number, fetchedAt: number])[] =>
  (JSON.parse(text) as { rows: [number, number][] }).rows

async function simulate(aheadMs: readonly number[]): Promise<Result> {
  const fleet = changingFleet(aheadMs)
  const { clock, database } = fleet
  database.lagMs = lagMs
  await fleet.loadMarks()
  const { ttl } = ladder()
  // A node that is ahead takes buckets for older than they are.
  const mostAheadMs = Math.max(...aheadMs, 0)
  const tally = { asked: 0, served: 0, stale: 0, overdueMs: Number.NEGATIVE_INFINITY, slowestMs: 0 }
  const hits = aheadMs.map(() => 0)
  let isOver = false
  const look = async (engine: EngineRig, node: number) => {
    const [began, to] = [clock.now(), fleet.openCell + minuteMs]
    tally.asked++
    const { text, decision } = await engine.ask(windowCells, to)
    tally.served++
    if (decision.outcome === 'stale') tally.stale++
    if (decision.outcome === 'hit') hits[node]!++
    tally.slowestMs = Math.max(tally.slowestMs, clock.now() - began)
    for (const [start, fetchedAt] of rowsOf(text)) {
      const ageMs = fetchedAt + mostAheadMs - (start + minuteMs)
      const overdue = began - (fetchedAt + ttl(ageMs))
      tally.overdueMs = Math.max(tally.overdueMs, overdue)
    }
  }
  const random = seededRandom(5)
  for (let i = 0; i < viewers; i++) {
    const node = i % aheadMs.length
    const refresh = () => {
      if (isOver) return
      void look(fleet.nodes[node]!, node)
      clock.after(refreshMs, refresh)
    }
    clock.after(random() * refreshMs, refresh)
  }
  await clock.advance(runMs)
  database.asked.length = 0
  await clock.advance(runMs)
  const queries = database.asked.length
  isOver = true
  await clock.advance(minuteMs)
  return { ...tally, queries, hits }
}

const cases = [
  [0, 5000],
  [0, -5000],
  [-5000, 5000],
  [5000, -5000],
  [-5000, 0, 2500, 5000],
]
const together = await simulate([0, 0])
const results = new Map<readonly number[], Result>()
for (const aheadMs of cases) results.set(aheadMs, await simulate(aheadMs))

const nameOf = (aheadMs: readonly number[]): string =>
  `clocks that are ahead by ${aheadMs.map((ms) => ms / 1000).join(', ')} s`

for (const [aheadMs, result] of results) {
  test(`${nameOf(aheadMs)}: answers are older than allowed by the difference at most, and shared as before`, (t) => {
    t.diagnostic(JSON.stringify(result))
    assert.equal(result.served, result.asked)
    assert.equal(result.stale, 0)
    const difference = Math.max(...aheadMs) - Math.min(...aheadMs)
    assert.ok(result.overdueMs <= difference, `${result.overdueMs} ms overdue`)
    assert.ok(result.queries <= 1.2 * together.queries, `${result.queries} of ${together.queries}`)
    assert.ok(result.slowestMs <= 2000)
    assert.ok(result.hits.every((hits) => hits > 0))
  })

  test(`${nameOf(aheadMs)}: a slow query is claimed for as long as it takes`, async () => {
    const patienceMs = { slow: 200_000, down: 200_000 }
    const fleet = new FleetRig({ nodes: aheadMs.length, aheadMs, patienceMs, newStore: sharedRows(dayMs) })
    fleet.database.lagMs = 4 * usualLeaseMs
    const to = fleet.openCell
    const asking = fleet.nodes.map((node) => node.ask(windowCells, to))
    await fleet.clock.advance(5 * usualLeaseMs)
    for (const { text } of await Promise.all(asking)) assert.equal(text, fleet.truth(windowCells, to))
    assert.equal(fleet.database.asked.length, 1)
  })

  for (const [purging, ahead] of aheadMs.entries()) {
    test(`${nameOf(aheadMs)}: a purge by the one that is ${ahead / 1000} s ahead holds for all earlier fetches of all nodes`, async () => {
      const fleet = changingFleet(aheadMs)
      await fleet.loadMarks()
      const to = fleet.openCell - 60 * minuteMs
      const askAll = async () => {
        for (const node of fleet.nodes.keys())
          await fleet.ask(node, windowCells, to, { notBefore: fleet.clock.now() - 1 })
      }
      await askAll()
      await askAll()
      await fleet.clock.advance(500)
      const purgedAt = fleet.clock.now()
      const running = fleet.nodes[purging]!.purge.run({})
      await fleet.clock.advance(3000)
      await running
      for (let i = 0; i < 30; i++) {
        for (const node of fleet.nodes.keys()) {
          const { text } = await fleet.ask(node, windowCells, to)
          for (const [start, fetchedAt] of rowsOf(text))
            assert.ok(fetchedAt > purgedAt, `cell ${start} of node ${node}`)
        }
        await fleet.clock.advance(500)
      }
    })
  }
}
