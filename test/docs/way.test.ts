/** CONTRIBUTING.md names every file that a request runs through: compared with the functions that V8 counts. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { dirname, join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { prometheus } from '../../src/backends/prometheus/index.ts'
import { type ProxyServer, startServer } from '../../src/proxy/assembly/server.ts'
import { defaultLimits } from '../../src/proxy/limits.ts'
import type { Settings } from '../../src/proxy/request/settings.ts'
import { RowCells } from '../../src/stores/rows/row-cells.ts'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { ask, outcomeOf, until } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { NOW, oldRange, startBoth } from '../proxy/setup.ts'
import { MemoryCellEngine, MemoryRowEngine, MemoryServer } from '../rigs/memory-engines.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')

/** The files of the tables between the first one and a text. A name without a folder is in the folder of the name before it. */
function namedBefore(end: string): Set<string> {
  const tables = page.slice(page.indexOf('| step | file | job |'), page.indexOf(end))
  const files = new Set<string>()
  for (const row of tables.split('\n')) {
    let folder = ''
    for (const [, name] of (row.split('|')[2] ?? '').matchAll(/`([^`]+\.ts)`/g)) {
      if (name!.includes('/')) folder = dirname(name!)
      files.add(name!.includes('/') ? name! : join(folder, name!))
    }
  }
  return files
}

/** Values that many files share, what puts the proxy together, and this test's own clock. */
const besides = /^src\/(?:core|testing|proxy\/assembly)\//

async function filesRunBy(requests: () => Promise<void>): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await requests()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return result
    .filter(({ functions }) =>
      functions.some((each) => each.functionName !== '' && each.ranges[0]!.count > 0),
    )
    .map(({ url: file }) => file.slice(`file://${root}/`.length))
    .filter((file) => file.startsWith('src/') && !besides.test(file))
}

const keptOpen = { headers: { Connection: 'keep-alive' } }

test('CONTRIBUTING.md names every file that a request runs through', async (t) => {
  const { url } = await startBoth(t)
  const range = oldRange()
  const gzip = { headers: { ...keptOpen.headers, 'Accept-Encoding': 'gzip' } }
  const outcomes: string[] = []
  const run = await filesRunBy(async () => {
    for (const [path, given] of [
      [rangePath(range), keptOpen],
      [rangePath(range), keptOpen],
      [rangePath(range), gzip],
      [rangePath({ ...range, end: range.end + 60_000 }), keptOpen],
      [rangePath(oldRange(3)), {}],
    ] as const) {
      outcomes.push(outcomeOf(await ask(url, path, given)))
    }
  })
  assert.deepEqual(outcomes, ['miss/absent', 'hit', 'hit', 'partial/absent', 'miss/absent'])
  // By the shortcut: a request that node:http reads runs through fewer files.
  assert.ok(run.includes('src/proxy/front/send-buffer.ts'))
  const named = namedBefore('With a far store behind the memory')
  assert.deepEqual(
    run.filter((file) => !named.has(file)),
    [],
  )
})

/** One of the nodes that share a store of rows. */
async function startNode(t: TestContext, database: string, rows: Rows): Promise<ProxyServer> {
  const { server, clock } = rows
  const cells = new RowCells(new MemoryCellEngine(server), clock)
  const retentionMs = defaultLimits.retentionMs
  const panes = new RowStore({ engine: new MemoryRowEngine(server), cells, clock, retentionMs })
  const { maxStaleMs } = defaultLimits
  const settings: Settings = {
    terms: { mode: 'on', identity: 'separate', policy: ladder(), edges: 'exact', align: false, maxStaleMs },
    rules: [],
  }
  const node = await startServer({
    ...{ listen: '127.0.0.1:0', limits: defaultLimits, clock },
    databases: [
      {
        name: 'main',
        backend: prometheus({ settledAgeMs: 3_600_000, maxBuckets: 10_000 }),
        upstream: { urls: [database] },
        farStore: 'shared',
        settings: () => settings,
      },
    ],
    farStores: new Map([
      ['shared', { engine: 'rows', panes, cells, close: async () => {}, timeoutMs: 1000 }],
    ]),
  })
  t.after(async () => {
    const closed = node.close()
    await clock.advance(defaultLimits.drainMs)
    await closed
  })
  return node
}

interface Rows {
  readonly server: MemoryServer
  readonly clock: FakeClock
}

/** Two nodes request the same at once: the first one fetches, the second one waits for it. */
async function fetchForBoth(
  upstream: ScriptedUpstream,
  nodes: readonly ProxyServer[],
  rows: Rows,
): Promise<void> {
  const path = rangePath(oldRange(3))
  const { script } = upstream
  upstream.script = () => {}
  const arrives = upstream.next()
  const first = ask(nodes[0]!.url, path, keptOpen)
  const { request, response } = await arrives
  const second = ask(nodes[1]!.url, path, keptOpen)
  let isAnswered = false
  const both = Promise.all([first, second]).finally(() => {
    isAnswered = true
  })
  const cells = () => [...rows.server.cells.values()].flatMap((partition) => [...partition.values()])
  await until(() => cells().some(({ value }) => Buffer.from(value).includes('"isAwaited":true')))
  script(request, response)
  while (!isAnswered) await rows.clock.advance(10)
  for (const answer of await both) assert.equal(answer.status, 200)
}

test('CONTRIBUTING.md names every file that a request over a far store runs through', async (t) => {
  const rows = { server: new MemoryServer(), clock: fakeClock(NOW) }
  const upstream = await startScriptedUpstream(t)
  const nodes = [await startNode(t, upstream.url, rows), await startNode(t, upstream.url, rows)]
  const path = rangePath(oldRange())
  const outcomes: string[] = []
  const run = await filesRunBy(async () => {
    // The second sighting takes it to the far store.
    for (const { url } of [nodes[0]!, nodes[0]!]) outcomes.push(outcomeOf(await ask(url, path, keptOpen)))
    await until(() => rows.server.keys.size > 0)
    outcomes.push(outcomeOf(await ask(nodes[1]!.url, path, keptOpen)))
    await fetchForBoth(upstream, nodes, rows)
  })
  assert.deepEqual(outcomes, ['miss/absent', 'hit', 'hit'])
  assert.equal(upstream.seen.length, 2)
  for (const file of ['src/stores/outbound.ts', 'src/engine/claim-polls.ts'])
    assert.ok(run.includes(file), file)
  const named = namedBefore('Outside this path:')
  assert.deepEqual(
    run.filter((file) => !named.has(file)),
    [],
  )
})
