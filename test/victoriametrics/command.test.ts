/** Every command that the guide shows is run in front of a real server. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Subject } from '../../src/backends/kind.ts'
import { kinds } from '../../src/backends/kinds.ts'
import { connectTo } from '../../src/config/probe.ts'
import type { BackendConfig } from '../../src/config/schema.ts'
import { readyAddress, startCommand } from '../cli/child.ts'
import { shownCommands, victoriametricsPage, wordsOf } from '../docs/commands.ts'
import { ask, outcomeOf } from '../proxy/client.ts'
import { lines, START } from './dataset.ts'
import { startDatabase } from './under-test.ts'

test('the command of the guide finds VictoriaMetrics, caches its answers, and forwards the rest', async (t) => {
  const server = await startDatabase(t)
  if (server === null) return
  await server.load(lines())
  for (const { command } of await shownCommands([victoriametricsPage])) {
    const [start, url, ...flags] = wordsOf(command).slice(4)
    assert.deepEqual([start, url, flags[0]], ['--', 'http://127.0.0.1:8428', '--listen'])
    const child = startCommand(t, [server.url, '--listen', '127.0.0.1:0', '--admin.enabled=false'])
    const proxy = await readyAddress(child)
    await child.says(
      /→ http:\S+ \(VictoriaMetrics; caching is on\)\n.*Prometheus or VictoriaMetrics data source/,
    )
    const range = `start=${START / 1000 + 600}&end=${START / 1000 + 1200}&step=60`
    const outcome = async (query: string) =>
      outcomeOf(await ask(proxy, `/api/v1/query_range?query=${encodeURIComponent(query)}&${range}`))
    const cached = 'sum by (job) (last_over_time(steady[1m]))'
    assert.deepEqual([await outcome(cached), await outcome(cached)], ['miss/absent', 'hit'])
    assert.equal(await outcome('rate(steady[1m])'), 'bypass/unsafe_function')
    assert.equal(await outcome('steady'), 'bypass/depends_on_range')
  }
})

test('doctor reads the flags of a server', async (t) => {
  const server = await startDatabase(t)
  if (server === null) return
  const database = await connectTo({ auth: {}, tls: {} } as BackendConfig, server.url)
  t.after(() => database.close())
  const subject = { name: 'main' } as Subject
  const found = await kinds.victoriametrics.examine(subject, database)
  assert.deepEqual(
    found.map(({ check, status }) => [check, status]),
    [['settings main', 'ok']],
  )
})
