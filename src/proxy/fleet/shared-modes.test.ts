import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cells } from '../../stores/cells.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { ladder } from '../../ttl/ladder.ts'
import { type Mode, ModeSwitch, type Settings } from '../request/settings.ts'
import { ModeRow } from './mode-row.ts'
import { modePollMs, SharedModes } from './shared-modes.ts'

const settingsOf = (mode: Mode): Settings => ({
  terms: { mode, identity: 'separate', policy: ladder(), maxStaleMs: 0 },
  rules: [],
})

/** A node with one backend, `main`. */
class Node {
  settings: Settings
  readonly switch: ModeSwitch
  readonly shared: SharedModes

  constructor(clock: FakeClock, cells: Cells, { isFirst = false, configured = 'on' as Mode } = {}) {
    this.settings = settingsOf(configured)
    this.switch = new ModeSwitch(() => this.settings)
    const { switch: modes } = this
    const holder = {
      name: 'main',
      get state() {
        return modes.state
      },
      set: async (mode: Mode) => modes.set(mode),
    }
    const row = new ModeRow(cells)
    this.shared = new SharedModes({ clock, row, backends: () => [holder], isFirst: async () => isFirst })
  }

  get mode(): Mode {
    return this.switch.state.mode
  }

  /** As `windowpane mode` does. */
  async set(mode: Mode): Promise<boolean> {
    this.switch.set(mode)
    return this.shared.set('main', mode)
  }

  reload(mode: Mode): void {
    this.settings = settingsOf(mode)
  }
}

async function fleet(clock: FakeClock, cells: Cells, count = 3): Promise<Node[]> {
  const nodes = Array.from({ length: count }, (_, i) => new Node(clock, cells, { isFirst: i === 0 }))
  for (const node of nodes) await node.shared.load()
  return nodes
}

const modesOf = (nodes: readonly Node[]): Mode[] => nodes.map(({ mode }) => mode)

test('a mode set at one node is in force at all of them after one poll', async () => {
  const clock = fakeClock()
  const nodes = await fleet(clock, memoryCells({ clock }))
  assert.equal(await nodes[1]!.set('shadow'), true)
  assert.deepEqual(modesOf(nodes), ['on', 'shadow', 'on'])
  await clock.advance(modePollMs)
  assert.deepEqual(modesOf(nodes), ['shadow', 'shadow', 'shadow'])
  assert.ok(nodes.every((node) => node.switch.state.isOverridden))
})

test('the last one wins at every node, also where two are set at once', async () => {
  const clock = fakeClock()
  const nodes = await fleet(clock, memoryCells({ clock }))
  await Promise.all([nodes[0]!.set('off'), nodes[2]!.set('shadow')])
  await clock.advance(2 * modePollMs)
  assert.equal(new Set(modesOf(nodes)).size, 1)
  await nodes[0]!.set('on')
  await nodes[1]!.set('off')
  await clock.advance(2 * modePollMs)
  assert.deepEqual(modesOf(nodes), ['off', 'off', 'off'])
})

test('a node that starts while others run begins with the mode that was set', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const nodes = await fleet(clock, cells)
  await nodes[0]!.set('off')
  const late = new Node(clock, cells)
  await late.shared.load()
  assert.equal(late.mode, 'off')
})

test('when the last node is gone the mode is over, as after the restart of a single process', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const nodes = await fleet(clock, cells)
  await nodes[0]!.set('off')
  for (const { shared } of nodes) shared.close()
  const first = new Node(clock, cells, { isFirst: true })
  await first.shared.load()
  const second = new Node(clock, cells)
  await second.shared.load()
  await clock.advance(3 * modePollMs)
  assert.deepEqual(modesOf([first, second]), ['on', 'on'])
})

test('a reload ends it at that node only, is not undone by the others, and new nodes begin with the configuration', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const nodes = await fleet(clock, cells)
  await nodes[0]!.set('off')
  await clock.advance(modePollMs)
  nodes[1]!.reload('shadow')
  assert.deepEqual(modesOf(nodes), ['off', 'shadow', 'off'])
  await clock.advance(3 * modePollMs)
  assert.deepEqual(modesOf(nodes), ['off', 'shadow', 'off'])
  const late = new Node(clock, cells, { configured: 'shadow' })
  await late.shared.load()
  assert.equal(late.mode, 'shadow')
  // The others follow with the same configuration, and a mode that is set again reaches all.
  nodes[0]!.reload('shadow')
  nodes[2]!.reload('shadow')
  await clock.advance(modePollMs)
  assert.deepEqual(modesOf(nodes), ['shadow', 'shadow', 'shadow'])
  await late.set('on')
  await clock.advance(modePollMs)
  assert.deepEqual(modesOf([...nodes, late]), ['on', 'on', 'on', 'on'])
})

test('a mode set while a node reloads is not ended by that reload', async () => {
  const clock = fakeClock()
  const nodes = await fleet(clock, memoryCells({ clock }))
  await nodes[0]!.set('off')
  await clock.advance(modePollMs)
  await nodes[0]!.set('shadow')
  nodes[1]!.reload('on')
  await clock.advance(2 * modePollMs)
  assert.deepEqual(modesOf(nodes), ['shadow', 'shadow', 'shadow'])
})

test('where the store fails the mode holds at this node, and at the others when the store is back', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const failing = { is: false }
  const get: Cells['get'] = (id, v) => {
    if (failing.is) throw new Error('gone')
    return cells.get(id, v)
  }
  const nodes = await fleet(clock, { ...bound(cells), get })
  await nodes[0]!.set('shadow')
  await clock.advance(modePollMs)
  failing.is = true
  assert.equal(await nodes[1]!.set('off'), false)
  await clock.advance(2 * modePollMs)
  assert.deepEqual(modesOf(nodes), ['shadow', 'off', 'shadow'])
  failing.is = false
  await clock.advance(2 * modePollMs)
  assert.deepEqual(modesOf(nodes), ['off', 'off', 'off'], 'it is saved when the store is back')
})

test('a later mode of another node is not undone by a mode that was set during an outage', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const failing = { is: false }
  const get: Cells['get'] = (id, v) => {
    if (failing.is) throw new Error('gone')
    return cells.get(id, v)
  }
  const [well] = await fleet(clock, cells, 1)
  const cut = new Node(clock, { ...bound(cells), get })
  await cut.shared.load()
  failing.is = true
  assert.equal(await cut.set('off'), false)
  await clock.advance(1000)
  await well!.set('shadow')
  failing.is = false
  await clock.advance(2 * modePollMs)
  assert.deepEqual(modesOf([well!, cut]), ['shadow', 'shadow'])
})

test('a row of another release: unknown members are read over, unknown modes and versions are absent', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const row = (v: number, value: object) => ({
    ...{ kind: 'modes', v, clocks: {}, collectAt: 'never' as const },
    value: Buffer.from(JSON.stringify(value)),
  })
  const id = { pk: 'fleet', sk: 'modes' }
  const entry = { id: 'a', mode: 'off', at: clock.now(), by: 'somebody', reason: { text: 'x' } }
  await cells.put(id, row(1, { main: entry, other: { id: 'b', mode: 'turbo', at: 1 }, odd: null }), {
    is: 'absent',
  })
  const node = new Node(clock, cells)
  await node.shared.load()
  assert.equal(node.mode, 'off')
  await cells.put(id, row(2, { main: { ...entry, id: 'c', mode: 'shadow' } }), { is: 'absent' })
  await clock.advance(modePollMs)
  assert.equal(node.mode, 'off')
})

/** Its methods are on the prototype. */
const bound = (cells: Cells): Cells => ({
  name: cells.name,
  capabilities: cells.capabilities,
  get: (...given) => cells.get(...given),
  list: (...given) => cells.list(...given),
  put: (...given) => cells.put(...given),
  take: (...given) => cells.take(...given),
  remove: (...given) => cells.remove(...given),
  publish: (...given) => cells.publish(...given),
  close: () => cells.close(),
})
