/** Nodes that share a far store: a fetch of one replaces the copies of the others, though these are still fresh. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../test/rigs/engine-rig.ts'
import { FleetRig } from '../../test/rigs/fleet-rig.ts'
import { MemoryRowEngine, MemoryServer } from '../../test/rigs/memory-engines.ts'
import { RowStore } from '../stores/rows/row-store.ts'

const retentionMs = 24 * 60 * minuteMs

for (const hasPubsub of [false, true]) {
  const how = hasPubsub ? 'by an announcement' : 'by a comparison'
  test(`a node learns ${how} what another has fetched anew`, async () => {
    const server = new MemoryServer()
    let value = 1
    const fleet = new FleetRig({
      nodes: 2,
      valueAt: () => value,
      newStore: (clock) =>
        new RowStore({ engine: new MemoryRowEngine(server, { hasPubsub }), clock, retentionMs }),
    })
    const { clock } = fleet
    const to = fleet.openCell - 60 * minuteMs
    for (const node of [0, 0, 1, 1]) await fleet.ask(node, 10, to)
    value = 2
    await clock.advance(1000)
    const changed = await fleet.ask(1, 10, to, { notBefore: clock.now() })
    assert.equal(changed.text, fleet.truth(10, to))
    await clock.advance(hasPubsub ? 1000 : minuteMs)
    // This request starts the comparison, and does not wait for it.
    await fleet.ask(0, 10, to)
    await clock.advance(1000)
    const { text, decision } = await fleet.ask(0, 10, to)
    assert.deepEqual([decision.outcome, text], ['hit', changed.text])
  })
}
