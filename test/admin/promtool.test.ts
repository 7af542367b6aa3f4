import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { watchProcess } from '../../src/telemetry/process-figures.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { requireServer } from '../data/fixture.ts'
import { visits } from '../rigs/visits.ts'
import { findProgram } from '../servers/debian.ts'

test('promtool finds nothing wrong with the metrics', async (t) => {
  const promtool = requireServer(t, await findProgram({ package: 'promtool' }))
  if (promtool === null) return
  const telemetry = new Telemetry({
    clock: systemClock,
    version: '1.2.3',
    log: { level: () => 'silent', format: () => 'json', write: () => true },
    sources: {
      stores: () => [{ name: 'memory', engine: 'memory', entries: 1, bytes: 2, evictions: { memory: 3 } }],
      memory: () => ({ used: 1, limit: 2 }),
      flights: () => 0,
      requestsInFlight: () => 0,
      process: watchProcess(systemClock),
    },
  })
  const hooks = telemetry.hooks('main "quoted"')
  for (const visit of Object.values(visits)) hooks.observe(visit)
  const child = spawn(promtool.path, ['check', 'metrics'])
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  child.stdin.end([...telemetry.metrics.render()].join(''))
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.deepEqual([code, said], [0, ''])
})
