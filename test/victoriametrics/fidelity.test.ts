/**
 * The same answer: the answer through Windowpane equals VictoriaMetrics' own to the same request with `nocache=1`, byte
 * for byte, its statistics aside.
 *
 * WINDOWPANE_COMPARISONS sets the size, WINDOWPANE_SEED repeats a run, WINDOWPANE_WALK repeats one walk of it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kinds } from '../../src/backends/kinds.ts'
import { ApiClient, outcomeOf } from '../fidelity/client.ts'
import { runSuite } from '../fidelity/run.ts'
import { chooseSeed, chooseSize, fromEnvironment, replayCommand } from '../fidelity/setup.ts'
import { assertFaithful, assertShares } from '../fidelity/tally.ts'
import { compareWithoutStats } from './compare.ts'
import { END, lines, START } from './dataset.ts'
import { forms } from './forms.ts'
import { startDatabase, startUnderTest } from './under-test.ts'

test('answers through Windowpane equal direct answers', async (t) => {
  const server = await startDatabase(t)
  if (server === null) return
  await server.load(lines())
  const proxy = await startUnderTest(t, server.url)
  const replay = replayCommand('test/victoriametrics/fidelity.test.ts')
  const run = { seed: chooseSeed(t), span: { from: START, to: END }, forms, replay }
  const size = chooseSize(fromEnvironment('WINDOWPANE_COMPARISONS') ?? 8_000)
  const servers = {
    ...{ direct: server.url, proxied: proxy.url },
    ...{ directExtra: [['nocache', '1']] as const, compare: compareWithoutStats },
  }

  const tally = await runSuite(run, servers, size)

  for (const line of tally.table().split('\n')) t.diagnostic(line)
  assertFaithful(tally)
  if (size.only === undefined) assertShares([tally])
})

test('a server is known by its build info, and its own cache would answer on another grid', async (t) => {
  const server = await startDatabase(t)
  if (server === null) return
  await server.load(lines())
  const direct = new ApiClient(server.url)
  t.after(() => direct.close())
  const { body, status } = await direct.get(kinds.prometheus.flavour.path)
  assert.equal(kinds.victoriametrics.flavour.read(status, body.toString()).isKnown, true)
  assert.equal(kinds.prometheus.flavour.read(status, body.toString()).isKnown, false)

  const proxy = new ApiClient((await startUnderTest(t, server.url)).url)
  t.after(() => proxy.close())
  const ask = (points: number) =>
    `/api/v1/query_range?query=steady[1m]&start=${START / 1000 + 7}&end=${START / 1000 + 7 + (points - 1) * 60}&step=60`
  const first = async (client: ApiClient, path: string) =>
    Number(/"values":\[\[([\d.]+)/.exec((await client.get(path)).body.toString())![1])
  assert.equal(await first(direct, ask(60)), START / 1000)
  assert.equal(await first(direct, `${ask(60)}&nocache=1`), START / 1000 + 7)
  assert.equal(await first(proxy, ask(60)), START / 1000 + 7)
  await proxy.get(ask(60))
  const hit = await proxy.get(ask(40))
  assert.equal(outcomeOf(hit).outcome, 'hit')
  assert.equal(hit.headers['access-control-allow-origin'], '*')
  assert.ok(!hit.body.includes('stats'))
})
