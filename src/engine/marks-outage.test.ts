/** Marks and a store that is down for a while, or loses acknowledged writes: no purge is forgotten. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../test/rigs/engine-rig.ts'
import { FleetRig } from '../../test/rigs/fleet-rig.ts'
import type { Mark } from '../core/mark.ts'

const purgeAt = (at: number): Mark => ({
  ...{ kind: 'purge', at, backend: 'cells' },
  ...{ from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY },
})

/** Node 0 has half an hour in its memory and in the far tier; node 1 has nothing in its memory. */
async function fleetWithData(): Promise<FleetRig> {
  const fleet = new FleetRig({ nodes: 2 })
  await fleet.loadMarks()
  const to = fleet.openCell - 10 * minuteMs
  for (let i = 0; i < 2; i++) await fleet.ask(0, 30, to)
  await fleet.clock.advance(1000)
  fleet.database.asked.length = 0
  return fleet
}

/** Adds a mark; time passes until it is known whether it was saved. */
async function add(fleet: FleetRig, node: number): Promise<boolean> {
  const adding = fleet.nodes[node]!.marks.add(purgeAt(fleet.clock.now()))
  await fleet.clock.advance(1000)
  return adding
}

const marksOf = (fleet: FleetRig, node: number): number => fleet.nodes[node]!.marks.list().length

test('a purge that another node made during an outage holds as soon as the store is reachable again', async () => {
  for (const outageMs of [500, 3000, 20_000, 90_000]) {
    for (const laterMs of [0, 50, 300, 1000, 2000, 40_000]) {
      const fleet = await fleetWithData()
      const to = fleet.openCell - 10 * minuteMs
      fleet.cut(1)
      await fleet.clock.advance(outageMs)
      assert.equal(await add(fleet, 0), true)
      fleet.mend(1)
      await fleet.clock.advance(laterMs)
      const { decision, text } = await fleet.ask(1, 30, to)
      assert.notEqual(decision.outcome, 'hit', `${outageMs} ms of outage, ${laterMs} ms after it`)
      assert.equal(text, fleet.truth(30, to))
      assert.equal(fleet.database.asked.length, 1)
    }
  }
})

test('a store whose marks cannot be read gives no buckets, and does again when they can', async () => {
  const fleet = await fleetWithData()
  const to = fleet.openCell - 10 * minuteMs
  fleet.cut(1)
  await fleet.clock.advance(30_000)
  assert.equal(fleet.nodes[1]!.marks.isCurrent, false)
  fleet.mend(1)
  await fleet.clock.advance(31_000)
  assert.equal(fleet.nodes[1]!.marks.isCurrent, true)
  assert.equal((await fleet.ask(1, 30, to)).decision.outcome, 'hit')
  assert.equal(fleet.database.asked.length, 0)
})

test('marks made during an outage are saved when the store is back, and others hear of them', async () => {
  const fleet = await fleetWithData()
  fleet.cut(0)
  await fleet.clock.advance(20_000)
  assert.equal(await add(fleet, 0), false)
  assert.deepEqual([marksOf(fleet, 0), marksOf(fleet, 1)], [1, 0])
  await fleet.clock.advance(10 * minuteMs)
  fleet.mend(0)
  await fleet.clock.advance(33_000)
  assert.deepEqual([marksOf(fleet, 0), marksOf(fleet, 1)], [1, 1])
})

test('a mark that was acknowledged and lost is saved again', async () => {
  let lost = 1
  const fleet = new FleetRig({ nodes: 2, network: { lostWrites: () => lost } })
  await fleet.loadMarks()
  assert.equal(await add(fleet, 0), true)
  await fleet.clock.advance(5000)
  assert.equal(marksOf(fleet, 1), 0)
  lost = 0
  await fleet.clock.advance(3000)
  assert.equal(marksOf(fleet, 1), 1)
})
