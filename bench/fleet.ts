/**
 * The fleet simulated, next to the predictions of the capacity model in brackets: `npm run bench:fleet` (some minutes of one core). The engine is the real one, time is simulated, and the same seed gives the same figures.
 */
import { fleetTable, rowOf } from '../scripts/capacity/confirm.ts'
import { type FleetCase, simulateFleet } from '../test/rigs/fleet-simulation.ts'

const minuteMs = 60_000
const usual = { viewers: 240, shapes: 6, warmUpMs: 6 * minuteMs, measuredMs: 3 * minuteMs }
const weak = { failing: 0.02, slow: 0.01 }
const outage = { failing: 0, slow: 0, outage: { fromMs: 60_000, toMs: 90_000 } }
const cases: readonly FleetCase[] = [
  { ...usual, nodes: 1, isShared: false },
  ...[2, 4, 16, 32, 64].map((nodes) => ({ ...usual, nodes })),
  ...[60, 960, 2400].map((viewers) => ({ ...usual, nodes: 16, viewers })),
  { ...usual, nodes: 16, shapes: 40 },
  { ...usual, nodes: 16, serviceMs: 1500 },
  { ...usual, nodes: 16, faults: weak },
  { ...usual, nodes: 16, faults: outage },
]

const rows: (readonly string[])[] = []
for (const each of cases) {
  rows.push(rowOf(each, await simulateFleet(each)))
  console.error(rows.at(-1)!.join('  '))
}
console.log(fleetTable(rows))
