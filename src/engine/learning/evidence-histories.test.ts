/** Every observation counts once, whatever happens to nodes and their store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { evidenceRig, forgetful, LedgerNode, leaseMs, roundMs } from '../../../test/rigs/evidence-rig.ts'

const histories = fc.array(
  fc.record({
    node: fc.nat(2),
    act: fc.constantFrom('see', 'see', 'close', 'kill', 'cut', 'mend'),
    name: fc.constantFrom('a', 'b', 'c'),
    thenMs: fc.integer({ min: 0, max: 3 * leaseMs }),
  }),
  { maxLength: 30 },
)

test('no history counts an observation twice, or loses one that was saved', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const { clock, start } = evidenceRig()
      const nodes = [await start(), await start(), await start()]
      let seen = 0
      /** Observations of nodes that were killed before they could save them. */
      let atRisk = 0
      for (const { node, act, name, thenMs } of history) {
        const { ledger, shared, cut } = nodes[node]!
        if (act === 'see') {
          ledger.see(name, 1)
          seen++
        } else if (act === 'cut' || act === 'mend') cut.isCut = act === 'cut'
        else {
          const isSafe = act === 'close' && !cut.isCut
          if (!isSafe) atRisk += ledger.ownTotal
          await (act === 'kill' ? nodes[node]!.kill() : shared.close())
          nodes[node] = await start()
        }
        await clock.advance(thenMs)
      }
      for (const { cut } of nodes) cut.isCut = false
      await clock.advance(leaseMs + 6 * roundMs)
      const [total] = nodes.map(({ ledger }) => ledger.total)
      for (const { ledger } of nodes) assert.ok(Math.abs(ledger.total - total!) < 0.01 * seen + 1e-9)
      assert.ok(
        total! <= seen + 1e-9 && total! >= seen - atRisk - 1e-9,
        `${total} of ${seen}, ${atRisk} at risk`,
      )
    }),
    { numRuns: 150 },
  )
})

test('answers of the store that are lost may cost evidence, and never count it twice', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const { clock, cells } = evidenceRig()
      const start = async () => {
        const node = new LedgerNode(clock, forgetful(clock, cells))
        await node.shared.load()
        return node
      }
      const nodes = [await start(), await start(), await start()]
      let seen = 0
      for (const { node, act, name, thenMs } of history) {
        if (act === 'see') {
          nodes[node]!.ledger.see(name, 1)
          seen++
        } else if (act === 'close') {
          await nodes[node]!.shared.close()
          nodes[node] = await start()
        }
        await clock.advance(thenMs)
      }
      await clock.advance(leaseMs + 6 * roundMs)
      const total = nodes.reduce((sum, { ledger }) => sum + ledger.ownTotal, 0)
      assert.ok(total <= seen + 1e-9, `${total} of ${seen}`)
    }),
    { numRuns: 150 },
  )
})
