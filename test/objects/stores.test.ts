/** Several processes share objects on one real store: regenerations under leases, crashes, slow writers, invalidations. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { openStore } from '../../src/config/open-store.ts'
import type { ObjectKey } from '../../src/engine/objects/objects.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { sharedEngines } from '../stores/shared-engines.ts'
import { eventually, HANG_MS } from '../wait.ts'
import { bodyOf } from './bodies.ts'
import type { Get, Progress } from './node.ts'
import { NodeProcess, pass, shown } from './nodes.ts'

const processes = 4
const readersPerProcess = 2
const hour = 3600
/** Far longer than a test: nothing expires before the test moves the time of the nodes. */
const strict = { revalidateSeconds: hour, staleIfErrorSeconds: 24 * hour }
const lenient = { ...strict, staleWhileRevalidateSeconds: hour }
/** After this a node has noticed the invalidations of others. */
const noticeSeconds = 5
/** The default of node.ts. */
const leaseSeconds = 600

const keyOf = (key: string, ...tags: string[]): ObjectKey => ({ tenant: 'acme', key, tags })
const pkOf = (key: string): string => `TENANT#acme#CACHE#${hash('sha256', key)}`

/** Its title, and its actions on processes that share the store of this URL. */
type Tests = Readonly<Record<string, (nodes: readonly NodeProcess[], url: string) => Promise<void>>>

const tests: Tests = {
  async 'readers at expiry cause one regeneration, and all get its result'(nodes) {
    const key = keyOf('expiry')
    await renderedEverywhere(nodes, key)
    await pass(nodes, hour)
    const readers = readAtOnce(nodes, key, { terms: strict, version: 'v2', hold: 'render' })
    await resumeTheOnlyRenderer(nodes)
    const answers = (await Promise.all(readers)).map(shown).sort()
    assert.deepEqual(answers, ['miss v2', ...Array(readers.length - 1).fill('wait-hit v2')])
    assert.deepEqual(rendersIn(nodes), [])
  },

  async 'readers of an object that was never rendered cause one regeneration'(nodes) {
    const readers = readAtOnce(nodes, keyOf('new'), { terms: strict, version: 'v1', hold: 'render' })
    await resumeTheOnlyRenderer(nodes)
    const answers = (await Promise.all(readers)).map(shown).sort()
    assert.deepEqual(answers, ['miss v1', ...Array(readers.length - 1).fill('wait-hit v1')])
    assert.deepEqual(rendersIn(nodes), [])
  },

  async 'within stale-while-revalidate readers get the old version at once, and one regeneration the new one'(
    nodes,
  ) {
    const key = keyOf('background')
    await renderedEverywhere(nodes, key)
    await pass(nodes, hour)
    const order = { terms: lenient, version: 'v2', hold: 'render' } as const
    const answers = await Promise.all(readAtOnce(nodes, key, order))
    assert.deepEqual([...new Set(answers.map(shown))], ['stale v1'])
    await resumeTheOnlyRenderer(nodes)
    for (const node of nodes) {
      const read = async (): Promise<string> => shown(await node.get(key, { terms: lenient, version: 'v3' }))
      assert.equal(await eventually(read, (answer) => answer !== 'stale v1'), 'hit v2')
    }
    assert.deepEqual(rendersIn(nodes), [])
  },

  async 'a body of many chunks comes back byte for byte'(nodes) {
    const [key, bytes] = [keyOf('large'), (1 << 20) + 17]
    const expected = hash('sha256', bodyOf('v1', bytes))
    const [first, ...others] = nodes
    const rendered = await first!.get(key, { terms: strict, version: 'v1', bytes })
    assert.deepEqual([rendered.state, rendered.sha256], ['miss', expected])
    for (const node of others) {
      const found = await node.get(key, { terms: strict, version: 'v2', bytes })
      assert.deepEqual([found.state, found.sha256], ['hit', expected])
    }
  },

  async 'a writer that lost its lease while it rendered does not overwrite the newer version'(nodes) {
    // The one test in which a lease runs out by the real clock.
    await overtaken(nodes, { hold: 'render', cache: { leaseSeconds: 1 } })
  },

  async 'a writer that lost its lease after it wrote the body does not overwrite the newer version'(nodes) {
    await overtaken(nodes, { hold: 'commit' })
  },

  async 'a writer that lost its lease neither publishes nor ends the lease of the current one'(nodes) {
    const [slow, other, third] = nodes as [NodeProcess, NodeProcess, NodeProcess]
    const key = keyOf('overtaken-during')
    const lost = slow.get(key, { terms: strict, version: 'slow', hold: 'commit' })
    await slow.reached('committing')
    await pass(nodes, leaseSeconds)
    const newer = other.get(key, { terms: strict, version: 'newer', hold: 'render' })
    await other.reached('rendering')
    await slow.order({ do: 'resume' })
    assert.equal(shown(await lost), 'miss slow')
    assert.equal(await third.peek(key), undefined)
    const waiting = third.get(key, { terms: strict, version: 'third' })
    await third.reached('waiting')
    await other.order({ do: 'resume' })
    assert.equal(shown(await newer), 'miss newer')
    assert.equal(shown(await waiting), 'wait-hit newer')
  },

  async 'an invalidation by tag reaches every process, and leaves the stale version'(nodes) {
    const [a, b, c] = nodes as [NodeProcess, NodeProcess, NodeProcess]
    const [red, both, plain] = [keyOf('red', 'red'), keyOf('both', 'red', 'blue'), keyOf('plain')]
    for (const key of [red, both, plain]) await renderedEverywhere(nodes, key)
    await a.order({ do: 'invalidate', what: { tenant: 'acme', tag: 'red' } })
    const read = async (node: NodeProcess, key: ObjectKey, version?: string): Promise<string> =>
      shown(await node.get(key, { terms: strict, ...(version === undefined ? {} : { version }) }))
    assert.equal(await read(a, red, 'v2'), 'miss v2')
    await pass(nodes, noticeSeconds)
    assert.equal(await read(b, both), 'stale v1')
    assert.equal(await read(b, both, 'v2'), 'miss v2')
    for (const node of nodes) {
      assert.equal(await read(node, red), 'hit v2')
      assert.equal(await read(node, both), 'hit v2')
      assert.equal(await read(node, plain), 'hit v1')
    }
    await c.order({ do: 'invalidate', what: { tenant: 'acme' } })
    await pass(nodes, noticeSeconds)
    assert.equal(await read(b, plain, 'v2'), 'miss v2')
    assert.equal(await read(a, red), 'stale v2')
  },

  async 'an object that was being rendered when another process invalidated it is not fresh'(nodes) {
    const [a, b, c] = nodes as [NodeProcess, NodeProcess, NodeProcess]
    const key = keyOf('invalidated-during')
    const old = a.get(key, { terms: strict, version: 'old', hold: 'render' })
    await a.reached('rendering')
    await b.order({ do: 'invalidate', what: key })
    await a.order({ do: 'resume' })
    assert.equal(shown(await old), 'miss old')
    await pass(nodes, noticeSeconds)
    assert.equal(shown(await c.get(key, { terms: strict, version: 'new' })), 'miss new')
    for (const node of nodes)
      assert.equal(shown(await node.get(key, { terms: strict, version: 'x' })), 'hit new')
  },

  async 'a rollback reaches every process, and a slower regeneration does not undo it'(nodes) {
    const [a, b] = nodes as [NodeProcess, NodeProcess]
    const key = keyOf('rollback')
    await renderedEverywhere(nodes, key)
    await pass(nodes, hour)
    assert.equal(shown(await a.get(key, { terms: strict, version: 'v2' })), 'miss v2')
    await pass(nodes, hour)
    a.unread()
    const slow = a.get(key, { terms: strict, version: 'v3', hold: 'commit' })
    await a.reached('committing')
    assert.equal(await b.rollback(key), true)
    await a.order({ do: 'resume' })
    assert.equal(shown(await slow), 'miss v3')
    await pass(nodes, noticeSeconds)
    for (const node of nodes)
      assert.equal(shown(await node.get(key, { terms: strict, version: 'x' })), 'hit v1')
    assert.equal(await b.rollback(key), false)
  },

  async 'kill -9 between body and commit leaves the old version, and the next regeneration succeeds'(
    nodes,
    url,
  ) {
    const [a, b, , dying] = nodes as [NodeProcess, NodeProcess, NodeProcess, NodeProcess]
    const key = keyOf('killed')
    const bytes = 200_000
    const [v1, v2] = ['v1', 'v2'].map((version) => hash('sha256', bodyOf(version, bytes)))
    await a.get(key, { terms: strict, version: 'v1', bytes })
    await pass(nodes, hour)
    const lost = dying.get(key, { terms: strict, version: 'lost', bytes, hold: 'commit' })
    const gone = assert.rejects(lost, /SIGKILL/)
    await dying.reached('committing')
    await dying.kill()
    await gone
    const left = nodes.filter((node) => node !== dying)
    assert.deepEqual(await b.peek(key), { state: 'stale', text: '', sha256: v1 })
    const impatient = { terms: strict, version: 'v2', bytes, cache: { waitSeconds: 0 } }
    const meanwhile = await b.get(key, impatient)
    assert.deepEqual([meanwhile.state, meanwhile.sha256], ['stale', v1])
    assert.match(meanwhile.failure ?? '', /another node/)
    await pass(left, leaseSeconds)
    const next = await b.get(key, impatient)
    assert.deepEqual([next.state, next.sha256], ['miss', v2])
    const found = await a.get(key, { terms: strict, version: 'x' })
    assert.deepEqual([found.state, found.sha256], ['hit', v2])
    await checkOrphans(url, key)
  },
}

/** `v1` is rendered by the first process, and held by all. */
async function renderedEverywhere(nodes: readonly NodeProcess[], key: ObjectKey): Promise<void> {
  for (const [i, node] of nodes.entries()) {
    const answer = await node.get(key, { terms: strict, version: 'v1' })
    assert.equal(shown(answer), i === 0 ? 'miss v1' : 'hit v1')
  }
  for (const node of nodes) node.unread()
}

const readAtOnce = (nodes: readonly NodeProcess[], key: ObjectKey, order: Omit<Get, 'do' | 'key'>) =>
  nodes.flatMap((node) => Array.from({ length: readersPerProcess }, () => node.get(key, order)))

/** Lets the renderer go on once every process renders or waits: none begins so late that it finds the result. */
async function resumeTheOnlyRenderer(nodes: readonly NodeProcess[]): Promise<void> {
  const steps = await Promise.all(nodes.map((node) => node.progress()))
  const expected: Progress[] = ['rendering', ...Array(nodes.length - 1).fill('waiting')]
  assert.deepEqual([...steps].sort(), expected)
  for (const node of nodes) await node.order({ do: 'resume' })
}

/** Renders that have begun since the last look. */
const rendersIn = (nodes: readonly NodeProcess[]): Progress[] =>
  nodes.flatMap((node) => node.unread()).filter((step) => step === 'rendering')

/** A node stands still at some point of its regeneration until another has taken its place and finished. */
async function overtaken(
  nodes: readonly NodeProcess[],
  held: Required<Pick<Get, 'hold'>> & Pick<Get, 'cache'>,
): Promise<void> {
  const [slow, other] = nodes as [NodeProcess, NodeProcess]
  const key = keyOf(`overtaken-${held.hold}`)
  const lost = slow.get(key, { terms: strict, version: 'slow', ...held })
  await slow.reached(held.hold === 'render' ? 'rendering' : 'committing')
  if (held.cache === undefined) await pass(nodes, leaseSeconds)
  assert.equal(shown(await other.get(key, { terms: strict, version: 'newer' })), 'miss newer')
  await slow.order({ do: 'resume' })
  assert.equal(shown(await lost), 'miss slow')
  for (const node of nodes)
    assert.equal(shown(await node.get(key, { terms: strict, version: 'x' })), 'hit newer')
}

/** Chunks of a version that was never published are collected like others, and no lease is left. */
async function checkOrphans(url: string, { key }: ObjectKey): Promise<void> {
  const store = await openStore(url, { timeoutMs: HANG_MS })
  const rows = await store.cells!.list(pkOf(key), 1)
  await store.close()
  const meta = rows.find(([sk]) => sk === 'META')![1]
  const published = Buffer.from(meta.value).toString()
  const orphans = rows.filter(([sk]) => sk.startsWith('VER#') && !published.includes(sk.split('#')[1]!))
  assert.equal(orphans.length, 4)
  for (const [, { collectAt }] of orphans)
    assert.ok(collectAt !== 'never' && collectAt <= Number(meta.collectAt))
  assert.ok(!rows.some(([sk]) => sk === 'LOCK'))
}

for (const [name, start] of Object.entries(sharedEngines('objects'))) {
  const engine = await start()
  after(() => (isUnavailable(engine) ? undefined : engine.stop?.()))
  describe(`objects of several processes: ${name}`, { skip: skipReason(engine) }, () => {
    if (isUnavailable(engine)) return
    let nodes: NodeProcess[] = []
    before(async () => {
      nodes = await Promise.all(Array.from({ length: processes }, () => NodeProcess.start(engine.url)))
    })
    after(() => Promise.all(nodes.map((node) => node.end())))

    for (const [title, testOf] of Object.entries(tests))
      test(title, async () => {
        for (const node of nodes) node.unread()
        try {
          await testOf(nodes, engine.url)
        } finally {
          // A test that failed leaves no node held; one that was killed needs nothing.
          await Promise.allSettled(nodes.map((node) => node.order({ do: 'resume' })))
        }
      })
  })
}
