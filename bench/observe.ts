/** What looking on costs per request: `node bench/observe.ts`. Exits with 1 where a mark is missed. */
import { systemClock } from '../src/core/clock.ts'
import { visits } from '../src/telemetry/fixtures.ts'
import { type RequestRecord, recordOf } from '../src/telemetry/record.ts'
import { Telemetry } from '../src/telemetry/telemetry.ts'
import { microseconds, shown } from './measure.ts'

const telemetry = new Telemetry({
  clock: systemClock,
  version: '0',
  log: { level: () => 'info', format: () => 'json', write: () => true },
})
const hooks = telemetry.hooks('main')
let kept: RequestRecord | undefined

const costs = {
  'record of a hit': microseconds(() => {
    kept = recordOf('main', visits.hit)
  }),
  'metrics.observe': microseconds(() => telemetry.metrics.observe(kept!)),
  'recorder.add': microseconds(() => telemetry.recorder.add(kept!)),
  'shapes.observe': microseconds(() => telemetry.shapes.observe(kept!)),
  'all of a hit': microseconds(() => hooks.observe(visits.hit)),
  'all of a partial': microseconds(() => hooks.observe(visits.partial)),
}
for (const [name, cost] of Object.entries(costs)) console.log(`${name.padEnd(20)} ${shown(cost)} µs`)
const text = microseconds(() => [...telemetry.metrics.render()].join(''))
console.log(`${'rendering'.padEnd(20)} ${shown(text)} µs`)
process.exitCode = costs['metrics.observe'] < 1 && costs['all of a hit'] < 1 ? 0 : 1
