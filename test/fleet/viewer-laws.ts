/**
 * Viewers spread over several processes on one store cause the same backend load as at one process. Windows lie in the past
 * and move by one bucket per round, so that every round has exactly one bucket to fetch, however slow the machine is.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, ask } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { type RunningWorkers, startWorkers } from '../workers/running-workers.ts'
import type { StoreUrl } from './fleet-laws.ts'

const start = Date.UTC(2026, 0, 1)
const minute = 60_000
const windowBuckets = 180
const viewers = 60
const rounds = 25
/** A loaded machine must not make a claim or a read of the store late. */
const patient = ['--stores.shared.timeout=20s']

interface Tally {
  readonly queries: number
  /** Per node. */
  readonly requests: readonly number[]
  readonly farReads: readonly number[]
  readonly queriesPerNode: readonly number[]
}

const windowOf = (query: string, round: number): string => {
  const end = start + (windowBuckets - 1 + round) * minute
  return rangePath({ query, start: end - (windowBuckets - 1) * minute, end })
}

const truthOf = (path: string): string =>
  matrixFor(new URLSearchParams(path.slice(path.indexOf('?'))), 1).toString()

const queriesIn = ({ seen }: ScriptedUpstream): number =>
  seen.filter(({ target }) => target.includes('query_range')).length

async function view(t: TestContext, url: string, count: number): Promise<Tally> {
  const upstream = await startScriptedUpstream(t)
  const flags = ['--stores.shared.url', url, '--backends.main.store', 'shared', ...patient]
  const nodes = await Promise.all(
    Array.from({ length: count }, () => startWorkers(t, { workers: 1, upstream, flags })),
  )
  const query = `viewed_by_${count}_nodes`
  for (let round = 0; round < rounds; round++) {
    const path = windowOf(query, round)
    const asked = Array.from({ length: viewers }, (_, viewer) => ask(nodes[viewer % count]!.url, path))
    for (const answer of await Promise.all(asked)) assertTrue(answer, path)
  }
  const each = (name: string, labels?: string) => Promise.all(nodes.map((node) => node.counted(name, labels)))
  const tally = {
    queries: queriesIn(upstream),
    requests: await each('windowpane_requests_total'),
    farReads: await each('windowpane_store_found_total', 'store="shared"'),
    queriesPerNode: await each('windowpane_origin_requests_total'),
  }
  await Promise.all(nodes.map(ended))
  return tally
}

function assertTrue(answer: Answer, path: string): void {
  assert.equal(answer.body.toString(), truthOf(path))
}

async function ended({ child }: RunningWorkers): Promise<void> {
  child.process.kill('SIGTERM')
  await child.exit
}

export function testViewers(name: string, storeUrl: StoreUrl): void {
  test(`${name}: 60 viewers at two and four nodes cause the queries of one node`, async (t) => {
    const url = await storeUrl(t)
    if (typeof url !== 'string') return t.skip(url.skip)
    const one = await view(t, url, 1)
    for (const count of [2, 4]) {
      const several = await view(t, url, count)
      t.diagnostic(`${count} nodes: ${several.queries} queries, one node: ${one.queries}`)
      assert.ok(several.queries <= 1.2 * one.queries, `${several.queries} queries against ${one.queries}`)
      assert.deepEqual(several.requests, Array(count).fill((viewers / count) * rounds))
      assert.ok(
        several.farReads.every((reads) => reads > 0),
        `far reads per node: ${several.farReads}`,
      )
      assert.equal(
        several.queriesPerNode.reduce((sum, queries) => sum + queries, 0),
        several.queries,
      )
    }
  })
}
