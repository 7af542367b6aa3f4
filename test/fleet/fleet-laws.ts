/**
 * Laws of several processes on one store, with any engine: a new test file per engine names the URL and calls
 * `testFleet`. One of the processes has two workers.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { type Answer, ask, askPlainly, outcomeOf } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { eventually } from '../wait.ts'
import { type RunningWorkers, startWorkers } from '../workers/running-workers.ts'

/** The URL of a store that is empty, or why there is none here. */
export type StoreUrl = (t: TestContext) => Promise<string | { readonly skip: string }>

const start = Date.UTC(2026, 0, 1)
const buckets = 31
const shapes = ['up', 'a', 'b', 'c', 'd', 'e', 'f', 'g']
const pathOf = (query: string): string => rangePath({ query, start, end: start + (buckets - 1) * 60_000 })
const truthOf = (at: string): string =>
  matrixFor(new URLSearchParams(at.slice(at.indexOf('?'))), 1).toString()
const path = pathOf('up')
const truth = truthOf(path)

interface NodeStatus {
  readonly name: string
  readonly state: string
  readonly self?: boolean
  readonly requests?: Readonly<Record<string, number>>
  readonly backends?: readonly { readonly mode: string; readonly overridden?: boolean }[]
}

interface Status {
  readonly fleet: { readonly state: string; readonly up: number; readonly missing: number }
  readonly nodes: readonly NodeStatus[]
}

/** Processes on one store in front of one database. */
class Nodes {
  readonly upstream: ScriptedUpstream
  readonly #t: TestContext
  readonly #url: string

  constructor(t: TestContext, upstream: ScriptedUpstream, url: string) {
    this.#t = t
    this.upstream = upstream
    this.#url = url
  }

  start(name: string, workers = 1): Promise<RunningWorkers> {
    const store = ['--stores.shared.url', this.#url, '--backends.main.store', 'shared']
    // On a busy machine the store may take longer to answer; requests would then go straight to the database.
    const flags = [...store, '--stores.shared.timeout=20s', '--node.name', name]
    return startWorkers(this.#t, { workers, upstream: this.upstream, flags })
  }

  get queries(): number {
    return this.upstream.seen.filter(({ target }) => target.includes('query_range')).length
  }
}

export function testFleet(name: string, storeUrl: StoreUrl): void {
  const fleetTest = (title: string, run: (nodes: Nodes, t: TestContext) => Promise<void>) =>
    test(`${name}: ${title}`, async (t) => {
      const url = await storeUrl(t)
      if (typeof url !== 'string') t.skip(url.skip)
      else await run(new Nodes(t, await startScriptedUpstream(t), url), t)
    })

  fleetTest('scale-out and a rolling restart keep the hit rate', async (nodes, t) => {
    const first = await nodes.start('a')
    for (const shape of shapes) await warm(first, pathOf(shape))
    await untilWritten(first, shapes.length)
    const second = await nodes.start('b', 2)
    let late = await missesBeforeHit(second)
    await stop(first)
    late += await missesBeforeHit(await nodes.start('a'))
    await stop(second)
    late += await missesBeforeHit(await nodes.start('b', 2))
    if (late > 0) t.diagnostic(`${late} lookups came too late on this machine`)
    assert.equal(nodes.queries, shapes.length + late)
  })

  fleetTest(
    'a mode set at one node holds at all, in every worker, and at nodes that start later',
    async (nodes, t) => {
      const [one, two] = [await nodes.start('a'), await nodes.start('b', 2)]
      await seesNodes(one, 2)
      await seesNodes(two, 2)
      const set = await one.post('/-/mode', { backend: 'main', mode: 'off' })
      assert.deepEqual(set, {
        ...{ backend: 'main', mode: 'off', was: 'on' },
        reach: { nodes: 2, withinSeconds: 5 },
      })
      const began = systemClock.elapsed()
      const isOff = (answers: readonly Answer[]) =>
        answers.every((answer) => outcomeOf(answer) === 'bypass/switched_off')
      await eventually(() => two.askMany(Array(8).fill(path)), isOff)
      const tookMs = Math.round(systemClock.elapsed() - began)
      t.diagnostic(`a mode was in force in both workers of another node after ${tookMs} ms`)
      assert.equal(await modeOf(two), 'off')
      const late = await nodes.start('c')
      assert.equal((await look(late))[0], 'bypass/switched_off')
      // A rolling restart does not bring the configured mode back while others run.
      await stop(one)
      assert.equal((await look(await nodes.start('a')))[0], 'bypass/switched_off')
      await late.post('/-/mode', { backend: 'main', mode: 'on' })
      await eventually(
        () => modeOf(two),
        (mode) => mode === 'on',
      )
    },
  )

  fleetTest(
    'a purge at one node is in force at all, in every worker; shared buckets are counted once',
    async (nodes) => {
      const [one, two] = [await nodes.start('a'), await nodes.start('b', 2)]
      await warm(one, path)
      await untilWritten(one, 1)
      // Copies in the memory of the other node, too.
      await untilHit(two)
      await seesNodes(one, 2)
      const counted = await one.post('/-/purge?dryRun=1', { source: 'up' })
      assert.deepEqual([counted['buckets'], counted['shapes'], counted['dryRun']], [buckets, 1, true])
      const purged = await one.post('/-/purge', { source: 'up' })
      assert.deepEqual(
        [purged['buckets'], purged['shapes'], purged['durable'], purged['reach']],
        [buckets, 1, true, { nodes: 2, withinSeconds: 5 }],
      )
      const before = nodes.queries
      const [, body] = await eventually(
        () => look(two),
        ([outcome]) => outcome !== 'hit',
      )
      assert.equal(body, truth)
      assert.equal(nodes.queries, before + 1, 'what was purged is not served by the other node')
      for (const answer of await two.askMany(Array(8).fill(path))) assert.match(outcomeOf(answer), /^hit/)
    },
  )

  fleetTest(
    'every node shows all of them, with their figures; one that ends is no longer up',
    async (nodes) => {
      const [one, two] = [await nodes.start('a'), await nodes.start('b', 2)]
      await warm(one, path)
      await untilWritten(one, 1)
      await untilHit(two)
      const isTold = ({ nodes: all }: Status) => all.every(({ requests = {} }) => (requests['hit'] ?? 0) > 0)
      for (const node of [one, two]) {
        const { fleet, nodes: all } = await eventually(() => statusOf(node), isTold)
        assert.deepEqual([fleet.state, fleet.up, fleet.missing, all.length], ['shared', 2, 0, 2])
        assert.equal(all[0]!.self, true)
      }
      const [shape] = (await json(two, '/-/shapes')) as [{ count: number; nodes: number }]
      assert.equal(shape.nodes, 2)
      const [own] = (await json(two, '/-/shapes?node=b')) as [{ count: number }]
      const [others] = (await json(two, '/-/shapes?node=a')) as [{ count: number }]
      assert.equal(own.count + others.count, shape.count)
      const missing = await askPlainly(two.admin, '/-/shapes?node=z')
      assert.deepEqual(
        [missing.status, /there is no node "z"; there are: b/.test(missing.body.toString())],
        [400, true],
      )
      await stop(one)
      await seesNodes(two, 1)
    },
  )
}

/** The second sighting takes a shape to the shared store. */
async function warm(node: RunningWorkers, at: string): Promise<void> {
  for (const outcome of ['miss/absent', 'hit']) assert.deepEqual(await look(node, at), [outcome, truthOf(at)])
}

/** Another process finds it there when it is written. */
const untilWritten = (node: RunningWorkers, writes: number): Promise<number> =>
  eventually(
    () => operations(node, 'write'),
    (count) => count >= writes,
  )

const operations = (node: RunningWorkers, op: string): Promise<number> =>
  node.counted('windowpane_store_operation_duration_seconds_count', `op="${op}"`)

/**
 * The first request of a warm shape at a node is a hit. A store that is late on a busy machine is not waited for: then the
 * next shape is tried, once the node has heard from its store again. Returns how many were not hits.
 */
async function missesBeforeHit(node: RunningWorkers): Promise<number> {
  for (const [misses, shape] of shapes.entries()) {
    const [outcome, body] = await look(node, pathOf(shape))
    assert.equal(body, truthOf(pathOf(shape)))
    if (outcome === 'hit') return misses
    const before = await operations(node, 'cell')
    await eventually(
      () => operations(node, 'cell'),
      (count) => count >= before + 3,
    )
  }
  return assert.fail('no first request was a hit')
}

async function look(node: RunningWorkers, at = path): Promise<[string, string]> {
  const answer = await ask(node.url, at)
  return [outcomeOf(answer), answer.body.toString()]
}

/** Waits until a node has the answer, too. */
const untilHit = (node: RunningWorkers): Promise<unknown> =>
  eventually(
    () => look(node),
    ([outcome]) => outcome === 'hit',
  )

async function json(node: RunningWorkers, at: string): Promise<unknown> {
  const { status, body } = await askPlainly(node.admin, at)
  assert.equal(status, 200, body.toString())
  return JSON.parse(body.toString())
}

const statusOf = async (node: RunningWorkers): Promise<Status> => (await json(node, '/-/status')) as Status

const seesNodes = (node: RunningWorkers, count: number): Promise<Status> =>
  eventually(
    () => statusOf(node),
    ({ fleet }) => fleet.up === count,
  )

async function modeOf(node: RunningWorkers): Promise<string | undefined> {
  const { nodes } = await statusOf(node)
  return nodes.find(({ self }) => self)?.backends?.[0]?.mode
}

async function stop({ child }: RunningWorkers): Promise<void> {
  child.process.kill('SIGTERM')
  assert.equal(await child.exit, 0)
}
