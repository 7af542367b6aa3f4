/** Several workers as people run them: one command, one address, one cache. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { startCommand } from '../cli/child.ts'
import { type Answer, ask, askPlainly, header, outcomeOf, statusOf, until } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { scratchDirectory } from '../stores/scratch.ts'
import { startCollector } from '../tracing/collector.ts'
import { eventually } from '../wait.ts'
import { many, startWorkers } from './running-workers.ts'

const start = Date.UTC(2026, 0, 1)
const minute = 60_000
const window = (shift: number, minutes = 30) =>
  rangePath({ start: start + shift * minute, end: start + (shift + minutes) * minute })

const truth = (path: string, generation = 1): string =>
  matrixFor(new URLSearchParams(path.slice(path.indexOf('?'))), generation).toString()

const textOf = (answer: Answer): string =>
  (header(answer, 'content-encoding') === 'gzip' ? gunzipSync(answer.body) : answer.body).toString()

const outcomes = (answers: readonly Answer[]): Set<string> => new Set(answers.map(outcomeOf))
const fetches = ({ seen }: ScriptedUpstream): number =>
  seen.filter(({ target }) => target.includes('query_range')).length

/** Panels that roll, each viewed by several at once; returns the number of queries to the database. */
async function browse(t: TestContext, workers: number): Promise<number> {
  const upstream = await startScriptedUpstream(t)
  const { askMany, counted, child } = await startWorkers(t, {
    workers,
    upstream,
    flags: ['--telemetry.log-level=silent'],
  })
  let asked = 0
  for (let round = 0; round < 6; round++) {
    for (const panel of [0, 500, 1000]) {
      const path = window(panel + round)
      const headers = round % 2 === 0 ? {} : { 'Accept-Encoding': 'gzip' }
      const answers = await askMany(many(path, 10), headers)
      for (const answer of answers) assert.equal(textOf(answer), truth(path))
      asked += answers.length
    }
  }
  // Workers report their requests a moment later.
  await eventually(
    () => counted('windowpane_requests_total'),
    (count) => count === asked,
  )
  assert.equal(await counted('windowpane_origin_requests_total'), fetches(upstream))
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
  assert.equal(child.err(), '')
  return fetches(upstream)
}

test('two workers give the same bytes as one, query the database no more often, and are counted together', async (t) => {
  const [one, two] = [await browse(t, 1), await browse(t, 2)]
  assert.ok(two <= 1.1 * one, `${one} queries by one worker, ${two} by two`)
})

test('a bucket that one worker has fetched is a hit on every connection', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { askMany, url } = await startWorkers(t, { upstream })
  await ask(url, window(0))
  assert.deepEqual(outcomes(await askMany(many(window(0)))), new Set(['hit']))
  assert.equal(fetches(upstream), 1)
})

test('after a purge no worker serves earlier buckets', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { askMany, post } = await startWorkers(t, { upstream })
  for (let generation = 1; generation <= 4; generation++) {
    upstream.generation = generation
    for (const answer of await askMany(many(window(0))))
      assert.equal(textOf(answer), truth(window(0), generation))
    upstream.generation = generation + 1
    const purged = await post('/-/purge', { all: true })
    assert.equal(purged['buckets'], 31)
    for (const answer of await askMany(many(window(0))))
      assert.equal(textOf(answer), truth(window(0), generation + 1))
  }
})

test('a mode that is set is in force on every connection', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { askMany, post } = await startWorkers(t, { upstream })
  await askMany(many(window(0)))
  assert.deepEqual(await post('/-/mode', { backend: 'main', mode: 'off' }), {
    backend: 'main',
    mode: 'off',
    was: 'on',
  })
  assert.deepEqual(outcomes(await askMany(many(window(0)))), new Set(['bypass/switched_off']))
  await post('/-/mode', { backend: 'main', mode: 'shadow' })
  assert.deepEqual(outcomes(await askMany(many(window(0)))), new Set(['bypass/shadow']))
  await post('/-/mode', { backend: 'main', mode: 'on' })
  assert.deepEqual(outcomes(await askMany(many(window(0)))), new Set(['hit']))
})

test('the findings of shadow mode in any worker are in one report', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { askMany, post, admin } = await startWorkers(t, { upstream })
  await askMany([window(0)])
  await post('/-/mode', { backend: 'main', mode: 'shadow' })
  await askMany(many(window(0)))
  const report = async () => {
    const { body } = await askPlainly(admin, '/-/shadow')
    const { backends } = JSON.parse(body.toString()) as { backends: { comparisons: number; equal: number }[] }
    return backends[0]!
  }
  const { equal } = await eventually(report, ({ comparisons }) => comparisons === 24)
  assert.equal(equal, 24)
})

test('workers send the traces of their requests, and explain sees their stored buckets', async (t) => {
  const [upstream, collector] = [await startScriptedUpstream(t), await startCollector(t)]
  const flags = [`--telemetry.traces.endpoint=${collector.url}`]
  const { askMany, post, child } = await startWorkers(t, { upstream, flags })
  await askMany(many(window(0), 12))
  const [, search] = window(0).split('?')
  const explained = await post('/-/explain', { search })
  assert.equal(explained['outcome'], 'hit', JSON.stringify(explained))
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
  assert.equal(collector.spans.filter(({ kind }) => kind === 2).length, 12)
})

test('a reload is in force on every connection', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const file = join(scratchDirectory(), 'windowpane.yaml')
  const written = (rules: string) =>
    writeFile(file, `backends: { main: { url: "${upstream.url}" } }\n${rules}`)
  await written('')
  const { askMany, admin } = await startWorkers(t, { flags: ['--config', file] })
  await askMany(many(window(0)))
  await written('rules: [{ match: { query: { contains: up } }, bypass: true }]\n')
  const { status } = await askPlainly(admin, '/-/reload', { method: 'POST' })
  assert.equal(status, 200)
  assert.deepEqual(outcomes(await askMany(many(window(0)))), new Set(['bypass/switched_off']))
})

test('a worker that ends is replaced, and the requests of the other go on', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { askMany, child, counted } = await startWorkers(t, { upstream })
  await askMany(many(window(0)))
  const before = await counted('windowpane_requests_total')
  child.process.kill('SIGUSR2')
  await child.says(/a worker ended/, 'err')
  const meanwhile = await Promise.allSettled(many(0).map(() => askMany([window(0)])))
  assert.ok(meanwhile.some(({ status }) => status === 'fulfilled'))
  await child.says(/the worker is back/, 'err')
  assert.deepEqual(outcomes(await askMany(many(window(0)))), new Set(['hit']))
  assert.equal(fetches(upstream), 1)
  assert.ok((await counted('windowpane_requests_total')) >= before)
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
})

test('a worker that is started again begins with the marks and modes in force', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { askMany, child, post } = await startWorkers(t, { upstream })
  await askMany([window(0)])
  await post('/-/purge', { all: true })
  await post('/-/mode', { backend: 'main', mode: 'off' })
  child.process.kill('SIGUSR2')
  await child.says(/the worker is back/, 'err')
  assert.deepEqual(outcomes(await askMany(many(window(0)))), new Set(['bypass/switched_off']))
})

test('a restart finds the buckets on disk', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const directory = scratchDirectory()
  const flags = [
    ...['--stores.disk.type=lmdb', `--stores.disk.path=${directory}`, '--stores.disk.reserve=1MiB'],
    '--backends.main.store=disk',
  ]
  const first = await startWorkers(t, { upstream, flags })
  // From the second sighting on it is kept; the main thread receives it within a second.
  for (let i = 0; i < 3; i++) await first.askMany(many(window(0), 4))
  await eventually(
    async () => (await askPlainly(first.admin, '/-/metrics')).body.toString(),
    (metrics) => /^windowpane_store_entries\{store="disk"\} 1$/m.test(metrics),
  )
  first.child.process.kill('SIGTERM')
  assert.equal(await first.child.exit, 0)
  const asked = fetches(upstream)
  const second = await startWorkers(t, { upstream, flags })
  for (const answer of await second.askMany(many(window(0)))) {
    assert.equal(outcomeOf(answer), 'hit')
    assert.equal(textOf(answer), truth(window(0)))
  }
  assert.equal(fetches(upstream), asked)
})

test('requests under way when the end comes are answered', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { askMany, child } = await startWorkers(t, { upstream })
  const usual = upstream.script
  const held: (() => void)[] = []
  upstream.script = (request, response) => void held.push(() => usual(request, response))
  const paths = Array.from({ length: 12 }, (_, i) => window(100 * i))
  const asking = askMany(paths)
  await until(() => held.length === paths.length)
  child.process.kill('SIGTERM')
  for (const go of held) go()
  for (const [i, answer] of (await asking).entries()) assert.equal(textOf(answer), truth(paths[i]!))
  assert.equal(await child.exit, 0)
})

test('an address that is taken is reported, with the programs that may share it', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { url, child } = await startWorkers(t, { upstream })
  const second = startCommand(t, [
    upstream.url,
    `--listen=${new URL(url).host}`,
    '--workers=2',
    '--admin.enabled=false',
  ])
  assert.equal(await second.exit, 2)
  assert.match(second.err(), /cannot listen on .*EADDRINUSE.*WINDOWPANE_LISTEN_FAILED/s)
  assert.equal(statusOf(await ask(url, window(0))).outcome, 'miss')
  child.process.kill('SIGTERM')
  await child.exit
})
