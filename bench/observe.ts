/** The cost of telemetry per request: `node bench/observe.ts`. Exits with 1 where a mark is missed. */
import { systemClock } from '../src/core/clock.ts'
import { type RequestRecord, recordOf } from '../src/telemetry/record.ts'
import { Telemetry } from '../src/telemetry/telemetry.ts'
import { Tracing } from '../src/telemetry/tracing.ts'
import { TraceExporter } from '../src/telemetry/tracing-export.ts'
import { visits } from '../test/rigs/visits.ts'
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
// The cost around every request, with or without a subscriber; then the cost of a traced one beside its telemetry.
const tracing = new Tracing({ clock: systemClock, backend: 'main' })
const headers = ['traceparent', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`]
const traced = (): void => {
  const trace = tracing.begin(headers)
  tracing.end(trace === undefined ? visits.partial : { ...visits.partial, trace })
}
const tracingOff = microseconds(traced)
const exporter = new TraceExporter({
  clock: systemClock,
  version: '0',
  post: async () => ({ kind: 'taken' }),
})
const tracingOn = microseconds(traced)
await exporter.close()
Object.assign(costs, { 'tracing, off': tracingOff, 'tracing, on': tracingOn })
for (const [name, cost] of Object.entries(costs)) console.log(`${name.padEnd(20)} ${shown(cost)} µs`)
const text = microseconds(() => [...telemetry.metrics.render()].join(''))
console.log(`${'rendering'.padEnd(20)} ${shown(text)} µs`)
const isCheap = costs['metrics.observe'] < 1 && costs['all of a hit'] < 1 && tracingOff < 0.05
process.exitCode = isCheap ? 0 : 1
