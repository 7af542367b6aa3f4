/** Traces of the command as people start it, from its configuration to the collector. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { readyAddress, startCommand } from '../cli/child.ts'
import { ask } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { sent, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { startCollector } from './collector.ts'

const yesterday = Date.UTC(2026, 0, 1)
const path = rangePath({ start: yesterday, end: yesterday + 600_000 })
const quiet = ['--listen', '127.0.0.1:0', '--admin.enabled=false']

test('with an endpoint, spans are sent at the end at the latest, with the headers of the file', async (t) => {
  const [upstream, collector] = [await startScriptedUpstream(t), await startCollector(t)]
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-traces-'))
  t.after(() => rm(folder, { recursive: true }))
  const headers = join(folder, 'headers')
  await writeFile(headers, 'Authorization: Bearer of-the-collector\n')
  const flags = [`--telemetry.traces.endpoint=${collector.url}`, `--telemetry.traces.headers-file=${headers}`]
  const running = startCommand(t, [upstream.url, ...quiet, ...flags])
  await ask(await readyAddress(running), path)
  running.process.kill('SIGTERM')
  assert.equal(await running.exit, 0)
  assert.equal(collector.requests[0]?.headers.authorization, 'Bearer of-the-collector')
  const server = collector.spans.find(({ kind }) => kind === 2)
  assert.equal(server?.name, 'GET /api/v1/query_range')
  assert.match(
    sent(upstream.seen[0]!, 'traceparent')[0]!,
    new RegExp(`^00-${server.traceId}-[0-9a-f]{16}-01$`),
  )
  assert.doesNotMatch(running.out() + running.err(), /of-the-collector/)
})

test('a collector that cannot be reached, or headers that cannot be read, are logged once, and delay nothing', async (t) => {
  const [upstream, collector] = [await startScriptedUpstream(t), await startCollector(t)]
  await collector.close()
  const cases = [
    [[], /traces: the collector does not take them: connect ECONNREFUSED/],
    [['--telemetry.traces.headers-file=/nowhere'], /nowhere cannot be read: it does not exist/],
  ] as const
  const end = async ([more, why]: (typeof cases)[number]) => {
    const flags = [`--telemetry.traces.endpoint=${collector.url}`, ...more]
    const running = startCommand(t, [upstream.url, ...quiet, ...flags])
    assert.equal((await ask(await readyAddress(running), path)).status, 200)
    running.process.kill('SIGTERM')
    assert.equal(await running.exit, 0)
    assert.match(running.err(), why)
  }
  await Promise.all(cases.map(end))
})
