import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedStore } from '../../../test/rigs/engine-rig.ts'
import type { Cells } from '../../stores/cells.ts'
import type { ShapeRow } from '../../telemetry/shapes.ts'
import { asynchronous } from '../../testing/asynchronous.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { beatMs, Fleet, type FleetView } from './fleet.ts'
import { mergeFigures, mergeShapes, quantileOf } from './merge.ts'
import { NodeRows } from './node-rows.ts'
import { encodeSummary, maxSummaryBytes, type NodeSummary, summaryIn } from './summary.ts'

const leaseMs = 4 * beatMs

const summaryAt = (at: number): NodeSummary => ({
  at,
  memory: { used: 1, limit: 2 },
  totals: {
    requests: { hit: 3, miss: 1 },
    buckets: { cache: 30, origin: 10 },
    queries: 1,
    failedQueries: 0,
    durations: [0, 4],
  },
  backends: [{ name: 'main', mode: 'on', isOverridden: false }],
  shapes: [],
})

const shapeOf = (name: string, count: number): ShapeRow => ({
  ...{
    shape: `sum(rate(${name.padEnd(400, 'x')}[5m]))`,
    key: name,
    backend: 'main',
    stepMs: 60_000,
    phaseMs: 0,
  },
  ...{ calendar: undefined, since: 1000, lastAt: 2000, count, outcomes: { hit: count - 1, miss: 1 } },
  ...{
    bytes: 10 * count,
    totalSeconds: 1,
    savedSeconds: 0.25,
    asked: 1,
    askedSeconds: 0.125,
    notCached: undefined,
  },
})

/** Nodes on one store, each over a network that can be cut. */
class Nodes {
  readonly clock: FakeClock = fakeClock()
  readonly cut = new Set<string>()
  readonly #store = sharedStore(this.clock)

  cellsOf(id: string): Cells {
    return asynchronous(this.#store, { clock: this.clock, isCut: () => this.cut.has(id) }).cells!
  }

  async start(name: string, { id = name, admin = undefined as string | undefined } = {}): Promise<Fleet> {
    const { clock } = this
    const startedAt = clock.now()
    const fleet = new Fleet({
      clock,
      stores: [{ name: 'shared', nodes: new NodeRows({ cells: this.cellsOf(id), clock }) }],
      facts: () => ({ id, name, admin, version: '1.0.0', pid: 7, startedAt }),
      summary: () => summaryAt(clock.now()),
    })
    await fleet.start()
    return fleet
  }
}

const shown = ({ nodes }: FleetView): string[] => nodes.map(({ name, state }) => `${name} ${state}`)

test('nodes see each other after one heartbeat, with their summaries', async () => {
  const nodes = new Nodes()
  const [a, b] = [await nodes.start('a'), await nodes.start('b')]
  assert.deepEqual(a.figures(), { nodes: { up: 1, missing: 0 }, isConnected: true })
  await nodes.clock.advance(beatMs)
  assert.deepEqual(a.figures(), { nodes: { up: 2, missing: 0 }, isConnected: true })
  const view = await b.view()
  assert.deepEqual([shown(view), view.trouble], [['b up', 'a up'], undefined])
  for (const { summary } of view.nodes) assert.deepEqual(summary?.totals, summaryAt(0).totals)
})

test('a node that leaves is gone at once', async () => {
  const nodes = new Nodes()
  const [a, b] = [await nodes.start('a'), await nodes.start('b')]
  await b.close()
  assert.deepEqual(shown(await a.view()), ['a up'])
})

test('a node that is killed is missing once its lease has run out, and forgotten after an hour', async () => {
  const nodes = new Nodes()
  const a = await nodes.start('a')
  await nodes.start('b')
  nodes.cut.add('b')
  await nodes.clock.advance(leaseMs - 1)
  assert.deepEqual(shown(await a.view()), ['a up', 'b up'])
  await nodes.clock.advance(beatMs)
  assert.deepEqual(shown(await a.view()), ['a up', 'b missing'])
  assert.deepEqual(a.figures()!.nodes, { up: 1, missing: 1 })
  await nodes.clock.advance(3_600_000)
  assert.deepEqual(shown(await a.view()), ['a up'])
  assert.deepEqual(a.figures()!.nodes, { up: 1, missing: 0 })
})

test('a process that comes back under its name and address takes the place of the one that was killed', async () => {
  const nodes = new Nodes()
  const admin = 'http://b:9192'
  const a = await nodes.start('a')
  await nodes.start('b', { id: 'b1', admin })
  nodes.cut.add('b1')
  await nodes.clock.advance(leaseMs + beatMs)
  await nodes.start('b', { id: 'b2', admin })
  await nodes.clock.advance(beatMs)
  assert.deepEqual(shown(await a.view()), ['a up', 'b up'])
  assert.deepEqual(
    (await new NodeRows({ cells: nodes.cellsOf('a'), clock: nodes.clock }).list()).map(({ id }) => id),
    ['a', 'b2'],
  )
})

test('a node that cannot reach the store works alone and reports it, and comes back by itself', async () => {
  const nodes = new Nodes()
  const [a] = [await nodes.start('a'), await nodes.start('b')]
  await nodes.clock.advance(beatMs)
  nodes.cut.add('a')
  await nodes.clock.advance(beatMs)
  const alone = await a.view()
  assert.deepEqual(shown(alone), ['a up'])
  assert.match(alone.trouble!, /the shared store shared does not answer/)
  assert.equal(a.figures()!.isConnected, false)
  nodes.cut.clear()
  await nodes.clock.advance(2 * beatMs)
  assert.deepEqual([shown(await a.view()), a.figures()!.isConnected], [['a up', 'b up'], true])
})

test('a store that only this process has open is not written to', async () => {
  const nodes = new Nodes()
  const { clock } = nodes
  const cells = { ...nodes.cellsOf('a'), isAlone: () => true }
  const rows = new NodeRows({ cells, clock })
  const facts = { id: 'a', name: 'a', admin: undefined, version: '1', pid: 1, startedAt: 0 }
  const summary = () => summaryAt(0)
  const fleet = new Fleet({ clock, stores: [{ name: 's', nodes: rows }], facts: () => facts, summary })
  await fleet.start()
  assert.deepEqual(await rows.list(), [])
  assert.deepEqual(fleet.figures(), { nodes: { up: 1, missing: 0 }, isConnected: true })
})

test('of a thousand nodes each reads at most ten rows per second, and they write fifty together', async () => {
  const nodes = new Nodes()
  const { clock } = nodes
  const rows = new NodeRows({ cells: nodes.cellsOf('a'), clock })
  for (let i = 0; i < 1000; i++) {
    await rows.beat(
      { id: `n${i}`, name: `n${i}`, admin: undefined, version: '1', pid: 1, startedAt: 0 },
      beatMs,
    )
  }
  let listed = 0
  let beats = 0
  const cells = nodes.cellsOf('a')
  const counting: Cells = {
    ...cells,
    list: async (pk, v) => {
      const found = await cells.list(pk, v)
      listed += found.length
      return found
    },
    put: (id, draft, condition) => {
      if (id.pk === 'nodes') beats++
      return cells.put(id, draft, condition)
    },
  }
  const facts = { id: 'a', name: 'a', admin: undefined, version: '1', pid: 1, startedAt: 0 }
  const stores = [{ name: 's', nodes: new NodeRows({ cells: counting, clock }) }]
  const fleet = new Fleet({ clock, stores, facts: () => facts, summary: () => summaryAt(0) })
  await fleet.start()
  assert.equal(fleet.figures()!.nodes.up, 1001)
  const before = listed
  beats = 0
  const seconds = 600
  await clock.advance(seconds * 1000)
  assert.ok(listed - before <= 10 * seconds, `${(listed - before) / seconds} rows per second`)
  assert.ok(1000 * beats <= 50 * 1.1 * seconds, `${beats} beats in ${seconds} s`)
})

test('a summary is bounded, whatever its content', () => {
  const shapes = Array.from({ length: 1000 }, (_, i) => shapeOf(`metric_${i}`, 1000 - i))
  const figures = mergeFigures([])
  const example = {
    ...{ id: '1', at: 1, backend: 'main', text: 'x'.repeat(5000), window: { from: 0, to: 1, step: 1 } },
    ...{ cause: 'late_data', isExplained: true, sentence: 'a sentence' },
  } as const
  const backends = Array.from({ length: 64 }, (_, i) => ({
    ...{ name: `backend-${i}`, mode: 'shadow', isOverridden: true },
    shadow: { figures: { ...figures, since: 0 }, examples: Array(50).fill(example) },
  }))
  for (const summary of [
    { ...summaryAt(1), shapes },
    { ...summaryAt(1), shapes, backends },
    { ...summaryAt(1), shapes, backends: backends.map((each) => ({ ...each, name: 'n'.repeat(5000) })) },
  ]) {
    const bytes = encodeSummary(summary)
    assert.ok(bytes.length <= maxSummaryBytes, `${bytes.length}`)
    assert.deepEqual(summaryIn(bytes)?.totals, summary.totals)
  }
  assert.ok(summaryIn(encodeSummary({ ...summaryAt(1), shapes }))!.shapes.length >= 6)
})

test('a summary of another release is read as far as it is understood', () => {
  const read = (value: unknown) => summaryIn(Buffer.from(JSON.stringify(value)))
  assert.deepEqual(read({ ...summaryAt(5), more: { a: 1 } }), summaryAt(5))
  assert.equal(read({ at: 5 })!.totals.queries, 0)
  assert.equal(
    read({ ...summaryAt(5), totals: { requests: { hit: 'x' }, queries: -1, durations: 'x' } })!.totals
      .queries,
    0,
  )
  for (const odd of [null, 1, 'x', [], {}, { at: 'x' }]) assert.equal(read(odd), undefined)
  assert.equal(summaryIn(Buffer.from('{')), undefined)
})

test('shapes of several nodes are added up by their keys', () => {
  const merged = mergeShapes([[shapeOf('a', 5), shapeOf('b', 9)], [shapeOf('a', 7)], []], 10)
  assert.deepEqual(
    merged.map(({ key, count, outcomes, nodes, savedSeconds }) => [
      key,
      count,
      outcomes,
      nodes,
      savedSeconds,
    ]),
    [
      ['a', 12, { hit: 10, miss: 2 }, 2, 0.5],
      ['b', 9, { hit: 8, miss: 1 }, 1, 0.25],
    ],
  )
  assert.equal(mergeShapes([[shapeOf('a', 5), shapeOf('b', 9)]], 1).length, 1)
})

test('quantiles come from the counts of all nodes', () => {
  assert.equal(quantileOf([], 0.5), undefined)
  assert.equal(quantileOf([10], 0.5), 0.000_05)
  assert.equal(quantileOf([0, 0, 0, 100], 0.5), 0.000_75)
  assert.equal(quantileOf([...Array(18).fill(0), 3], 0.99), 60)
})
