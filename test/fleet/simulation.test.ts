/** The simulated fleet, in its short form; `npm run bench:fleet` is the long one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compare, rowOf } from '../../scripts/capacity/confirm.ts'
import { type FleetCase, type FleetResult, simulateFleet } from '../rigs/fleet-simulation.ts'

const minuteMs = 60_000
const short = { shapes: 4, warmUpMs: 6 * minuteMs, measuredMs: 2 * minuteMs }
const faults = { failing: 0.02, slow: 0.01, outage: { fromMs: 30_000, toMs: 60_000 } }
const cases = {
  'one node': { ...short, nodes: 1, viewers: 120, isShared: false },
  '4 nodes': { ...short, nodes: 4, viewers: 120 },
  '16 nodes': { ...short, nodes: 16, viewers: 120 },
  '16 nodes, four times the viewers': { ...short, nodes: 16, viewers: 480 },
  '16 nodes apart': { ...short, nodes: 16, viewers: 120, isShared: false },
  '16 nodes, a store that fails': { ...short, nodes: 16, viewers: 120, faults },
} satisfies Record<string, FleetCase>
type Name = keyof typeof cases
const names = Object.keys(cases) as Name[]

// Before the first test is registered: from then on the runner follows every promise, which costs ten times as much.
const results = {} as Record<Name, FleetResult>
for (const name of names) results[name] = await simulateFleet(cases[name])

test('the table', (t) => {
  for (const name of names) t.diagnostic(rowOf(cases[name], results[name]).join('  '))
})

test('queries stay flat in nodes and viewers', () => {
  const one = results['one node'].queries
  for (const name of ['4 nodes', '16 nodes', '16 nodes, four times the viewers'] as const) {
    const { queries } = results[name]
    assert.ok(queries <= 1.1 * one, `${name}: ${queries} of ${one}`)
  }
  // Otherwise the savings would not come from sharing.
  assert.ok(results['16 nodes apart'].queries > 4 * one)
})

test('no answer is wrong or missing, whatever the store does; none is stale unless it fails', () => {
  for (const name of names) {
    const { wrong, failed, stale, requests } = results[name]
    assert.deepEqual({ name, wrong, failed }, { name, wrong: 0, failed: 0 })
    // A claim that a failing store keeps is waited for until the patience of a request ends.
    assert.ok(stale === 0 || (name === '16 nodes, a store that fails' && stale <= 3), `${name}: ${stale}`)
    assert.ok(requests > 1000)
  }
})

test('every node finds the buckets of others in the far tier', () => {
  for (const name of ['4 nodes', '16 nodes', '16 nodes, a store that fails'] as const)
    for (const hits of results[name].farHits) assert.ok(hits > 0, name)
})

test('a store that fails costs queries for as long as it does, and no more than nodes that know nothing of each other', () => {
  const failing = results['16 nodes, a store that fails']
  assert.ok(failing.unclaimed > 0)
  assert.ok(failing.queries < results['16 nodes apart'].queries)
})

test('the same seed gives the same run', async () => {
  const tiny = { nodes: 3, viewers: 12, shapes: 2, warmUpMs: minuteMs, measuredMs: minuteMs, seed: 7 }
  assert.deepEqual(await simulateFleet(tiny), await simulateFleet(tiny))
})

for (const name of ['4 nodes', '16 nodes', '16 nodes, four times the viewers'] as const) {
  test(`${name}: the capacity model predicts operations within a fifth, and bytes within a factor of 1.7`, () => {
    for (const { name: what, simulated, predicted } of compare(cases[name], results[name])) {
      const off = Math.max(simulated / predicted, predicted / simulated)
      assert.ok(
        off <= (what === 'bytes' ? 1.7 : 1.2),
        `${what}: ${simulated} simulated, ${predicted} predicted`,
      )
    }
  })
}
