/** An unknown compatible server: it is compared first, although the configuration switches the cache on. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts'
import { databasesOf, settingsOf } from '../../src/config/settings.ts'
import { systemClock } from '../../src/core/clock.ts'
import { startServer } from '../../src/proxy/assembly/server.ts'
import { limitsOf } from '../../src/proxy/limits.ts'
import { ask, outcomeOf } from '../proxy/client.ts'
import { eventually } from '../wait.ts'

const needed = 3

/** Reports to be something else, and answers every range query with the same two points. */
async function startCompatible(): Promise<{ readonly url: string; close(): void }> {
  const points = '[1600000000,"1"],[1600000060,"2"]'
  const matrix = `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[${points}]}]}}`
  const info = '{"status":"success","data":{"version":"9.9.9","application":"Compatible"}}'
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(request.url!.startsWith('/api/v1/query_range') ? matrix : info)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() }
}

function load(url: string, assume: string): LoadedConfig['config'] {
  const bytes = Buffer.from(`backends: { main: { url: '${url}', assume: ${assume}, mode: on } }`)
  const loaded = loadConfig({ file: { name: 'w.yaml', bytes } })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  return loaded.config
}

test('one word is short for the section', () => {
  const short = load('http://a', 'prometheus').backends['main']
  assert.deepEqual(short, load('http://a', '{ server: prometheus }').backends['main'])
  assert.notDeepEqual(short, load('http://a', '{}').backends['main'])
})

test('an assumed server stays in shadow mode until enough answers were equal, and says why', async (t) => {
  const database = await startCompatible()
  t.after(() => database.close())
  const config = load(database.url, `{ server: prometheus, comparisons: ${needed} }`)
  const settings = settingsOf(config)
  const databases = await databasesOf(config, { kindOf: () => 'prometheus', settings: () => settings })
  const proxy = await startServer({
    listen: '127.0.0.1:0',
    limits: limitsOf({}),
    clock: systemClock,
    databases,
  })
  t.after(() => proxy.close())
  const [{ backendRuntime } = assert.fail()] = proxy.databases
  const path = '/api/v1/query_range?query=up&start=1600000000&end=1600000060&step=60'
  const state = () => backendRuntime.modes.state

  assert.equal(state().mode, 'shadow')
  assert.match(state().heldBack!, new RegExp(`assumed to be Prometheus: 0 of ${needed} `))
  // The first would have been a miss.
  for (let i = 0; i <= needed; i++) {
    const answer = await ask(proxy.url, path)
    assert.equal(outcomeOf(answer), 'bypass/shadow')
    await eventually(
      async () => proxy.shadowLog.report('main').comparisons,
      (count) => count === i + 1,
    )
  }
  assert.deepEqual(state(), { mode: 'on', configured: 'on', isOverridden: false })
  const hit = await ask(proxy.url, path)
  assert.equal(outcomeOf(hit), 'hit')
  assert.match(JSON.stringify(hit.headers), /exceptions=assume\.server/)
})
