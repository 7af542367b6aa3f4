/** The memory limit holds for all workers together, also where panes come and go without end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askPlainly } from '../proxy/client.ts'
import { bigMatrix, rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { startWorkers } from './running-workers.ts'

const MiB = 1024 * 1024
const start = Date.UTC(2026, 0, 1)

test('evicted memory is returned to the system, whichever thread allocated it', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const answer = bigMatrix('m', MiB, start)
  upstream.script = (_, response) =>
    void response.writeHead(200, { 'Content-Type': 'application/json' }).end(answer)
  const { askMany, admin } = await startWorkers(t, {
    upstream,
    flags: ['--memory=16MiB', '--limits.max-answer=8MiB', '--telemetry.log-level=silent'],
  })
  const figure = async (name: string) => {
    const { body } = await askPlainly(admin, '/-/metrics')
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body.toString())![1])
  }
  let [before, most] = [0, 0]
  for (let i = 0; i < 80; i++) {
    const paths = Array.from({ length: 6 }, (_, j) => rangePath({ query: `q${i}_${j}`, start, end: start }))
    for (const { status } of await askMany(paths)) assert.equal(status, 200)
    assert.ok((await figure('windowpane_memory_used_bytes')) <= 16 * MiB)
    most = await figure('process_resident_memory_bytes')
    if (i === 10) before = most
  }
  // Three threads, each of which may hold 8 MiB of garbage; of 480 MiB that came.
  assert.ok(most - before < 160 * MiB, `from ${before / MiB} to ${most / MiB} MiB`)
})
