/** Two and four nodes that share a far store answer as one would: coalescing, purges, marks, shadow mode, outages. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { minuteMs, type Served, sharedStore, storeWith } from '../../test/rigs/engine-rig.ts'
import { FleetRig } from '../../test/rigs/fleet-rig.ts'
import { pause } from '../core/clock.ts'
import type { Store } from '../stores/store.ts'
import type { FakeClock } from '../testing/fake-clock.ts'

/** Nodes that hear of each other's marks, each of which has half an hour in its memory. */
async function loadedFleet(nodes: number): Promise<FleetRig> {
  const fleet = new FleetRig({ nodes })
  await fleet.loadMarks()
  for (let node = 0; node < nodes; node++) await fleet.ask(node, 30)
  await fleet.clock.advance(1)
  fleet.database.asked.length = 0
  return fleet
}

for (const nodes of [2, 4])
  describe(`${nodes} nodes`, () => {
    test('requests at the same moment cause one query, even for a shape never seen before', async () => {
      for (let seed = 1; seed <= 20; seed++) {
        const fleet = new FleetRig({ nodes, seed })
        fleet.database.lagMs = 500
        const all = fleet.nodes.flatMap((node) => [node.ask(30), node.ask(30)])
        await fleet.clock.advance(2000)
        for (const { text } of await Promise.all(all)) assert.equal(text, fleet.truth(30))
        assert.equal(fleet.database.asked.length, 1, `seed ${seed}`)
      }
    })

    test('what others wait for is in the store before they look, at the first sighting and with slow writes, too', async () => {
      for (let seed = 1; seed <= 10; seed++) {
        let shared: Store | undefined
        const slow = (clock: FakeClock): Store => {
          const store = sharedStore(clock)
          const write: Store['write'] = (...what) => pause(clock, 190).then(() => store.write(...what))
          return storeWith(store, { cells: store.cells!, write })
        }
        const fleet = new FleetRig({ nodes, seed, newStore: (clock) => (shared ??= slow(clock)) })
        fleet.database.lagMs = 500
        const all = fleet.nodes.map((node) => node.ask(30))
        await fleet.clock.advance(3000)
        for (const { text } of await Promise.all(all)) assert.equal(text, fleet.truth(30))
        assert.equal(fleet.database.asked.length, 1, `seed ${seed}`)
      }
    })

    for (const lagMs of [0, 300, 2000]) {
      test(`viewers who refresh at the same moment cause the queries of one, ${lagMs} ms lag`, async () => {
        const fleet = new FleetRig({ nodes })
        fleet.database.lagMs = lagMs
        for (let round = 0; round < 60; round++) {
          const to = fleet.openCell + minuteMs
          const asking = fleet.nodes.map((node) => node.ask(60, to))
          await fleet.clock.advance(10_000)
          for (const { text } of await Promise.all(asking)) assert.equal(text, fleet.truth(60, to))
        }
        // At the first sighting nobody shares. Some buckets lapse ten seconds after a fetch, so at the moment of a refresh.
        assert.ok(fleet.database.asked.length <= 60 + nodes, `${fleet.database.asked.length} queries`)
      })
    }

    test('viewers who come while their node waits for another one accept its buckets, older than their TTL or not', async () => {
      const fleet = new FleetRig({ nodes, patienceMs: { slow: 60_000, down: 60_000 } })
      fleet.database.lagMs = 12_000
      const to = fleet.openCell + minuteMs
      const asking = []
      for (const arrivesMs of [0, 1000, 6000, 10_000]) {
        await fleet.clock.advance(arrivesMs - fleet.clock.elapsed())
        for (const node of fleet.nodes) asking.push(node.ask(30, to))
      }
      await fleet.clock.advance(30_000)
      for (const { text } of await Promise.all(asking)) assert.equal(text, fleet.truth(30, to))
      assert.equal(fleet.database.asked.length, 1)
    })

    test('viewers who come while their node waits in vain wait for no other node', async () => {
      const fleet = new FleetRig({ nodes })
      fleet.database.lagMs = 30_000
      fleet.database.failure = { reason: 'database_timeout', detail: 'no answer' }
      const waits: number[] = []
      for (let viewer = 0; viewer < 3; viewer++)
        for (const node of fleet.nodes) {
          const began = fleet.clock.elapsed()
          void node.ask(30).then(() => waits.push(fleet.clock.elapsed() - began))
          await fleet.clock.advance(100)
        }
      await fleet.clock.advance(300_000)
      assert.equal(waits.length, 3 * nodes)
      for (const waitMs of waits) assert.ok(waitMs <= 63_000, `${waitMs} ms`)
      assert.equal(fleet.database.asked.length, nodes)
    })

    for (const [takes, lagMs] of Object.entries({
      'is slow, then fails': 30_000,
      'takes long to fail': 9000,
    })) {
      test(`a database that ${takes}: no request waits longer than the patience`, async () => {
        const fleet = await loadedFleet(nodes)
        await fleet.clock.advance(20_000)
        fleet.database.lagMs = lagMs
        fleet.database.failure = { reason: 'database_timeout', detail: 'no answer' }
        const waits: number[] = []
        for (const node of fleet.nodes) {
          const began = fleet.clock.elapsed()
          void node.ask(30).then(({ decision }) => {
            assert.equal(decision.outcome, 'stale')
            waits.push(fleet.clock.elapsed() - began)
          })
          await fleet.clock.advance(500)
        }
        await fleet.clock.advance(60_000)
        assert.equal(waits.length, nodes)
        // Of one node 10 s; the lookup in the store comes on top.
        for (const waitMs of waits) assert.ok(waitMs <= 10_100, `${waitMs} ms`)
      })
    }

    test('a database that takes long to fail, and nothing stored: the error after one failure of another node at most', async () => {
      const fleet = new FleetRig({ nodes })
      fleet.database.lagMs = 30_000
      fleet.database.failure = { reason: 'database_timeout', detail: 'no answer' }
      const waits: number[] = []
      for (const node of fleet.nodes) {
        const began = fleet.clock.elapsed()
        void node.ask(30).then(({ answer }) => {
          assert.equal(answer.kind, 'failure')
          waits.push(fleet.clock.elapsed() - began)
        })
        await fleet.clock.advance(500)
      }
      await fleet.clock.advance(120_000)
      assert.equal(waits.length, nodes)
      // The other node's query, the next look at its claim, and the query of its own.
      for (const waitMs of waits) assert.ok(waitMs <= 63_000, `${waitMs} ms`)
      assert.equal(fleet.database.asked.length, nodes)
    })

    test('a purge on one holds on all of them, and is paid for once', async () => {
      const fleet = await loadedFleet(nodes)
      const purging = fleet.nodes[0]!.purge.run({})
      await fleet.clock.advance(3000)
      assert.equal((await purging).buckets, 30)
      const asking = fleet.nodes.map((node) => node.ask(30))
      await fleet.clock.advance(500)
      for (const { text, decision } of await Promise.all(asking)) {
        assert.equal(text, fleet.truth(30))
        assert.notEqual(decision.outcome, 'stale')
      }
      assert.equal(fleet.database.asked.length, 1)
    })

    test('buckets marked as changed on one are fetched once for all, and are served stale in an outage', async () => {
      const fleet = await loadedFleet(nodes)
      const { clock, database } = fleet
      const changed = async () => {
        const mark = { kind: 'stale', at: clock.now(), backend: 'cells', from: 0, to: clock.now() } as const
        const adding = fleet.nodes.at(-1)!.marks.add(mark)
        await clock.advance(3000)
        assert.equal(await adding, true)
        const asking = fleet.nodes.map((node) => node.ask(30))
        await clock.advance(5000)
        return Promise.all(asking)
      }
      for (const { text } of await changed()) assert.equal(text, fleet.truth(30))
      assert.deepEqual(
        database.asked.map(({ cells }) => cells),
        [30],
      )
      database.failure = { reason: 'database_unreachable', detail: 'connect ECONNREFUSED' }
      for (const { decision } of await changed()) assert.equal(decision.outcome, 'stale')
    })

    test('shadow mode compares with the buckets of another node', async () => {
      const fleet = await loadedFleet(nodes)
      const last = fleet.nodes.at(-1)!
      const shadowing = last.shadow(30)
      await fleet.clock.advance(500)
      assert.deepEqual(
        [(await shadowing).text, (await shadowing).decision.detail],
        [fleet.truth(30), 'would be hit'],
      )
      const { comparisons, equal } = last.shadowLog.report('cells')
      assert.deepEqual([comparisons, equal], [1, 1])
    })

    test('a store that is back before the patience ends: its buckets are served stale, though the lookup found none', async () => {
      const fleet = new FleetRig({ nodes })
      for (let times = 0; times < 2; times++) await fleet.ask(0, 30)
      await fleet.clock.advance(20_000)
      fleet.database.lagMs = 30_000
      fleet.database.failure = { reason: 'database_timeout', detail: 'no answer' }
      fleet.cut(1)
      let served: Served | undefined
      void fleet.nodes[1]!.ask(30).then((is) => {
        served = is
      })
      await fleet.clock.advance(2000)
      fleet.mend(1)
      await fleet.clock.advance(8500)
      assert.deepEqual([served?.decision.outcome, served?.decision.reason], ['stale', 'database_slow'])
      await fleet.clock.advance(60_000)
    })

    test('in an outage each serves stale buckets of all nodes', async () => {
      const fleet = await loadedFleet(nodes)
      fleet.database.failure = { reason: 'database_unreachable', detail: 'connect ECONNREFUSED' }
      await fleet.clock.advance(20_000)
      const asking = fleet.nodes.map((node) => node.ask(30))
      await fleet.clock.advance(5000)
      for (const { decision } of await Promise.all(asking)) {
        assert.deepEqual([decision.outcome, decision.reason], ['stale', 'database_unreachable'])
      }
    })
  })
