import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../../core/budget.ts'
import { newFigures, ShadowLog } from '../../engine/shadow/log.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { FleetNode, FleetView } from '../fleet/fleet.ts'
import type { BackendSummary, ShadowSummary } from '../fleet/summary.ts'
import type { AdminAnswer } from './answer.ts'
import { chooseNodes, viewOfFleet } from './fleet.ts'
import type { AdminCall } from './page.ts'
import { shadowPages } from './shadow.ts'

const clock = fakeClock()
const now = clock.now()

function nodeOf(
  name: string,
  part: Partial<FleetNode> = {},
  backend: Partial<BackendSummary> = {},
): FleetNode {
  return {
    ...{ id: `id-${name}`, name, admin: `http://${name}:9192`, version: '1.0.0', pid: 1, startedAt: now },
    ...{ isSelf: false, state: 'up', beatAt: now },
    summary: {
      at: now,
      memory: { used: 1, limit: 2 },
      totals: {
        ...{ requests: { hit: 3, miss: 1, bypass: 0 }, buckets: { cache: 30, origin: 10 } },
        ...{ queries: 1, failedQueries: 0, durations: [0, 0, 0, 4] },
      },
      backends: [{ name: 'main', mode: 'shadow', isOverridden: true, ...backend }],
      shapes: [],
    },
    ...part,
  }
}

const others: ShadowSummary = {
  figures: {
    ...newFigures(now - 1000),
    comparisons: 900,
    equal: 899,
    explained: 1,
    wouldBe: { hit: 800, partial: 0, miss: 100 },
  },
  examples: [
    {
      ...{ id: '17', at: now, backend: 'main', text: 'up', window: { from: 0, to: 60_000, step: 1000 } },
      ...{ cause: 'late_data', isExplained: true, sentence: 'Data came late.' },
    },
  ],
}

const fleetOf = (...nodes: FleetNode[]) => ({
  view: async (): Promise<FleetView> => ({ nodes, trouble: undefined }),
})

/** The report of a node that has compared a hundred answers itself. */
async function report(fleet: ReturnType<typeof fleetOf>, search = '') {
  const log = new ShadowLog({ clock, budget: new Budget(1 << 20) })
  for (let i = 0; i < 100; i++) log.equal('main', 'hit')
  const state = { mode: 'shadow', configured: 'on', isOverridden: true } as const
  const modes = new Map([['main', { state, set: async () => ({ was: 'on', isShared: true }) as const }]])
  const page = shadowPages({ shadow: { log, modes }, fleet })['/-/shadow']!
  const answer = (await page.answer({ parameters: new URLSearchParams(search) } as AdminCall)) as AdminAnswer
  const text = [...answer.body].join('')
  return {
    status: answer.status,
    text,
    backend: answer.status === 200 ? JSON.parse(text).backends[0] : undefined,
  }
}

test('shadow reports of all nodes are added up and judged together', async () => {
  const fleet = fleetOf(nodeOf('a', { isSelf: true }), nodeOf('b', {}, { shadow: others }))
  const { backend } = await report(fleet)
  assert.deepEqual(
    [backend.comparisons, backend.equal, backend.explained, backend.verdict],
    [1000, 999, 1, 'safe'],
  )
  assert.deepEqual(backend.wouldBe, { hit: 900, partial: 0, miss: 100 })
  assert.deepEqual(
    backend.mismatches.map(({ id, node, cause }: Record<string, unknown>) => [id, node, cause]),
    [['17@b', 'b', 'late_data']],
  )
  assert.deepEqual(
    backend.nodes.map(({ node, comparisons }: Record<string, unknown>) => [node, comparisons]),
    [
      ['a', 100],
      ['b', 900],
    ],
  )
})

test('one node is about that one, and a name that is not there is a mistake', async () => {
  const fleet = fleetOf(nodeOf('a', { isSelf: true }), nodeOf('b', {}, { shadow: others }))
  assert.equal((await report(fleet, 'node=a')).backend.comparisons, 100)
  assert.equal((await report(fleet, 'node=id-b')).backend.comparisons, 900)
  const { status, text } = await report(fleet, 'node=z')
  assert.equal(status, 400)
  assert.match(text, /there is no node "z"; there are: a \(http:\/\/a:9192, id id-a\), b/)
  const twins = fleetOf(nodeOf('a', { isSelf: true }), nodeOf('a', { id: 'other' }))
  assert.match((await report(twins, 'node=a')).text, /several nodes are called "a"/)
})

test('a store that does not answer is reported, and the report covers this node', async () => {
  const view = async (): Promise<FleetView> => ({
    nodes: [nodeOf('a', { isSelf: true })],
    trouble: 'it is gone',
  })
  const { text, backend } = await report({ view })
  assert.deepEqual([JSON.parse(text).note, backend.comparisons], ['it is gone', 100])
})

test('the status lists all nodes and adds up the ones that are up', async () => {
  const nodes = [nodeOf('a', { isSelf: true }), nodeOf('b'), nodeOf('c', { state: 'missing' })]
  const shown = viewOfFleet({ nodes, trouble: undefined }) as Record<'fleet' | 'nodes', unknown>
  assert.deepEqual(shown.fleet, {
    ...{ state: 'shared', up: 2, missing: 1, requests: { hit: 6, miss: 2 }, hitShare: 0.75 },
    ...{ buckets: { cache: 60, origin: 20 }, queries: 2, failedQueries: 0, p50Ms: 0.75, p99Ms: 0.995 },
  })
  assert.deepEqual(
    (shown.nodes as Record<string, unknown>[]).map(({ name, state, self, hitShare }) => [
      name,
      state,
      self,
      hitShare,
    ]),
    [
      ['a', 'up', true, 0.75],
      ['b', 'up', undefined, 0.75],
      ['c', 'missing', undefined, 0.75],
    ],
  )
})

test('where no store is shared there is nothing to choose from', async () => {
  assert.deepEqual(await chooseNodes({}, new URLSearchParams()), { nodes: [], trouble: undefined })
  assert.ok('mistake' in (await chooseNodes({}, new URLSearchParams('node=a'))))
})
