/** Nodes that share a far store act as one towards the database; their cost to it, and the effect of faults. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type Served, sharedStore, storeWith } from '../../test/rigs/engine-rig.ts'
import { type FleetOptions, FleetRig } from '../../test/rigs/fleet-rig.ts'
import type { Store } from '../stores/store.ts'
import { seededRandom } from '../testing/random.ts'
import { usualLeaseMs } from './cell-claims.ts'

const windowCells = 180
const warmUpMs = 15 * minuteMs
const measuredMs = 15 * minuteMs
const refreshMs = 10_000
const viewers = 60

interface Case {
  readonly nodes: number
  /** Without a far store nodes do not know of each other. */
  readonly isShared: boolean
  readonly lagMs: number
  readonly failures?: () => number
  readonly newStore?: FleetOptions['newStore']
}

interface Result {
  readonly queries: number
  readonly wrong: number
  readonly served: number
  /** Per node. */
  readonly farHits: readonly number[]
}

async function simulate({ nodes, isShared, lagMs, ...store }: Case, seed: number): Promise<Result> {
  const { failures, newStore } = store
  const network = failures && { network: { failures } }
  const fleet = new FleetRig({ nodes, seed, ...network, ...(newStore && { newStore }) })
  const { clock, database } = fleet
  const apart = isShared ? undefined : fleet.nodes.map(() => new EngineRig({ clock, database }))
  const engines = apart ?? fleet.nodes
  database.lagMs = lagMs
  const random = seededRandom(seed)
  const tally = { asked: 0, served: 0, wrong: 0 }
  let isOver = false
  const look = async (engine: EngineRig) => {
    const to = engine.openCell + minuteMs
    tally.asked++
    const { text } = await engine.ask(windowCells, to)
    tally.served++
    if (text !== fleet.truth(windowCells, to)) tally.wrong++
  }
  for (let i = 0; i < viewers; i++) {
    const engine = engines[i % nodes]!
    const refresh = () => {
      if (isOver) return
      void look(engine)
      clock.after(refreshMs, refresh)
    }
    clock.after(random() * refreshMs, refresh)
  }
  await clock.advance(warmUpMs)
  database.asked.length = 0
  await clock.advance(measuredMs)
  const farHits = engines.map(({ tiered }) => tiered?.far.found ?? 0)
  const queries = database.asked.length
  // Requests under way finish.
  isOver = true
  await clock.advance(minuteMs)
  return { ...tally, queries, farHits }
}

/** A store that all nodes share, and that has panes only: there are no claims. */
function withoutCells(): NonNullable<FleetOptions['newStore']> {
  let shared: Store | undefined
  return (clock) => (shared ??= storeWith(sharedStore(clock), {}))
}

const seeds = [1, 3]
// Before the first test is registered: from then on the runner follows every promise, which costs ten times as much.
const results = new Map<string, readonly Result[]>()
for (const lagMs of [0, 300]) {
  for (const nodes of [1, 2, 4]) {
    for (const isShared of [true, false]) {
      if (nodes === 1 && isShared) continue
      const runs: Result[] = []
      for (const seed of seeds) runs.push(await simulate({ nodes, isShared, lagMs }, seed))
      results.set(`${nodes} ${isShared ? 'shared' : 'apart'} ${lagMs}`, runs)
    }
  }
}
const unclaimed = await simulate({ nodes: 4, isShared: true, lagMs: 300, newStore: withoutCells() }, 1)
const failing = new Map<number, Result>()
for (const nodes of [2, 4])
  failing.set(nodes, await simulate({ nodes, isShared: true, lagMs: 300, failures: () => 0.1 }, 1))

const queriesOf = (name: string): number => results.get(name)!.reduce((sum, { queries }) => sum + queries, 0)

for (const lagMs of [0, 300]) {
  for (const nodes of [2, 4]) {
    test(`${nodes} nodes, ${lagMs} ms lag: at most 1.2 times the queries of one node with all viewers`, (t) => {
      const [one, shared, apart] = [`1 apart ${lagMs}`, `${nodes} shared ${lagMs}`, `${nodes} apart ${lagMs}`]
      t.diagnostic(`one node ${queriesOf(one)}, shared ${queriesOf(shared)}, apart ${queriesOf(apart)}`)
      assert.ok(queriesOf(shared) <= 1.2 * queriesOf(one), `${queriesOf(shared)} of ${queriesOf(one)}`)
      // Otherwise the savings would not come from sharing.
      assert.ok(queriesOf(apart) >= 0.75 * nodes * queriesOf(one), `${queriesOf(apart)} apart`)
    })

    test(`${nodes} nodes, ${lagMs} ms lag: every node finds the buckets of others in the far tier`, () => {
      for (const { farHits, served, wrong } of results.get(`${nodes} shared ${lagMs}`)!) {
        for (const hits of farHits) assert.ok(hits > 0)
        assert.equal(wrong, 0)
        assert.ok(served > 0)
      }
    })
  }
}

for (const [nodes, { wrong, served, queries }] of failing) {
  test(`${nodes} nodes, a store that fails now and then: no wrong answer, and no more queries than nodes that know nothing of each other`, () => {
    const apart = results.get(`${nodes} apart 300`)![0]!
    assert.equal(wrong, 0)
    assert.equal(served, results.get(`${nodes} shared 300`)![0]!.served)
    assert.ok(queries <= apart.queries, `${queries} of ${apart.queries}`)
  })
}

test('a store without cells: no wrong answer, and no more queries than nodes that know nothing of each other', (t) => {
  const apart = results.get('4 apart 300')![0]!
  t.diagnostic(`${unclaimed.queries} queries, apart ${apart.queries}`)
  assert.equal(unclaimed.wrong, 0)
  assert.equal(unclaimed.served, apart.served)
  assert.ok(unclaimed.queries <= apart.queries, `${unclaimed.queries} of ${apart.queries}`)
  for (const hits of unclaimed.farHits) assert.ok(hits > 0, 'its panes are used')
})

test('a store without cells: requests at the same moment cause one query per node', async () => {
  const fleet = new FleetRig({ nodes: 4, newStore: withoutCells() })
  assert.ok(fleet.nodes.every(({ claims, tiered }) => claims === undefined && tiered !== undefined))
  fleet.database.lagMs = 500
  const all = fleet.nodes.flatMap((node) => [node.ask(30), node.ask(30), node.ask(30)])
  await fleet.clock.advance(2000)
  for (const { text } of await Promise.all(all)) assert.equal(text, fleet.truth(30))
  assert.equal(fleet.database.asked.length, 4)
})

test('a lookup in the far tier while a flight of its own node lands finds the landed buckets', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const fleet = new FleetRig({ nodes: 1, seed })
    fleet.database.lagMs = 500
    const first = fleet.nodes[0]!.ask(30)
    await fleet.clock.advance(500)
    const looks: Promise<Served>[] = []
    for (let ms = 0; ms < 100; ms += 5) {
      looks.push(fleet.nodes[0]!.ask(30))
      await fleet.clock.advance(5)
    }
    await fleet.clock.advance(2000)
    for (const { text } of await Promise.all([first, ...looks])) assert.equal(text, fleet.truth(30))
    assert.equal(fleet.database.asked.length, 1, `seed ${seed}`)
  }
})

test('a shape with one request of one node never reaches the far tier', async () => {
  const fleet = new FleetRig({ nodes: 2 })
  for (let i = 0; i < 50; i++) await fleet.ask(0, 30, fleet.openCell - i * 40 * minuteMs)
  assert.ok(fleet.nodes[0]!.tiered!.far.written > 0, 'one shape with fifty requests is no one-off')
  const other = new FleetRig({ nodes: 2 })
  for (let i = 0; i < 50; i++) {
    const { plan } = { plan: other.nodes[0]!.planOf(`q=up${i}&from=0&to=${30 * minuteMs}&step=${minuteMs}`) }
    const served = other.nodes[0]!.serve(plan)
    await other.clock.advance(1000)
    assert.equal((await served).answer.kind, 'panes')
  }
  assert.equal(other.nodes[0]!.tiered!.far.written, 0)
})

test('a bucket of another node is a hit here once it was requested twice', async () => {
  const fleet = new FleetRig({ nodes: 2 })
  await fleet.ask(0, 30)
  await fleet.ask(0, 30)
  await fleet.clock.advance(1000)
  const { decision, text } = await fleet.ask(1, 30)
  assert.deepEqual([decision.outcome, text], ['hit', fleet.truth(30)])
  assert.equal(fleet.database.asked.length, 1)
  assert.equal(fleet.nodes[1]!.tiered!.far.found, 1)
})

test('a holder that is gone is replaced when its lease has run out, and not before', async () => {
  const fleet = new FleetRig({ nodes: 2, patienceMs: { slow: 60_000, down: 60_000 } })
  const [dead, alive] = fleet.nodes as [EngineRig, EngineRig]
  fleet.database.lagMs = 1e9
  void dead.ask(30)
  await fleet.clock.advance(200)
  assert.equal(fleet.database.asked.length, 1)
  fleet.cut(0)
  fleet.database.lagMs = 50
  const asking = alive.ask(30)
  await fleet.clock.advance(usualLeaseMs - 1000)
  assert.equal(fleet.database.asked.length, 1)
  await fleet.clock.advance(2000)
  assert.equal((await asking).text, fleet.truth(30))
  assert.equal(fleet.database.asked.length, 2)
  assert.equal(alive.claims!.counters.expired, 1)
})

test('a slow database holds its claim for as long as it takes', async () => {
  const fleet = new FleetRig({ nodes: 2, patienceMs: { slow: 200_000, down: 200_000 } })
  fleet.database.lagMs = 4 * usualLeaseMs
  const first = fleet.nodes[0]!.ask(30)
  await fleet.clock.advance(1000)
  const second = fleet.nodes[1]!.ask(30)
  await fleet.clock.advance(5 * usualLeaseMs)
  const texts = (await Promise.all([first, second])).map(({ text }) => text)
  assert.equal(texts[0], texts[1])
  assert.equal(fleet.database.asked.length, 1)
})

test('a fetch that fails is tried by the node that waited, and its answer is the one of the outage', async () => {
  const fleet = new FleetRig({ nodes: 2 })
  const to = fleet.openCell + minuteMs
  await fleet.ask(0, 30, to)
  await fleet.ask(1, 30, to)
  await fleet.clock.advance(20_000)
  fleet.database.failure = { reason: 'database_unreachable', detail: 'connect ECONNREFUSED' }
  fleet.database.lagMs = 100
  const all = fleet.nodes.map((node) => node.ask(30, to))
  await fleet.clock.advance(2000)
  for (const { decision } of await Promise.all(all)) {
    assert.deepEqual([decision.outcome, decision.reason], ['stale', 'database_unreachable'])
  }
})

test('slow, then failing: a stale answer after the patience, wherever the buckets lie', async () => {
  const fleet = new FleetRig({ nodes: 2, patienceMs: { slow: 10_000, down: 1000 } })
  await fleet.ask(0, 30)
  await fleet.clock.advance(20_000)
  fleet.database.lagMs = 30_000
  fleet.database.failure = { reason: 'database_timeout', detail: 'no answer' }
  const asking = fleet.nodes[0]!.ask(30)
  await fleet.clock.advance(10_200)
  assert.deepEqual((await asking).decision.outcome, 'stale')
})
