/** Laws of objects about several nodes that regenerate at once, slow ones and dead ones; see test-objects.ts. */
import assert from 'node:assert/strict'
import { pause } from '../core/clock.ts'
import type { Cells } from '../stores/cells.ts'
import { cellsThrough } from '../stores/cells-through.ts'
import { countedRender, eventually, renderOf, shown, shownBy, until } from './object-rig.ts'
import type { ObjectLaw } from './test-objects.ts'

/** Longer than any of these laws. */
const long = { revalidateSeconds: 3600 }
const terms = { revalidateSeconds: 60, staleIfErrorSeconds: 600 }

/** A node that is frozen while it renders: it renews no lease. */
const withoutRenewals = (cells: Cells): Cells => ({
  ...cellsThrough(cells, (operation) => operation()),
  put: (id, draft, condition) =>
    id.sk === 'LOCK' && condition.is === 'revision'
      ? Promise.reject(new Error('frozen'))
      : cells.put(id, draft, condition),
})

/** A node that dies after it has written the body, and before it commits. */
const killedBeforeCommit = (cells: Cells, onDeath: () => void): Cells => ({
  ...withoutRenewals(cells),
  publish() {
    onDeath()
    return new Promise(() => {})
  },
  remove: () => new Promise(() => {}),
})

export const objectLeaseLaws: Readonly<Record<string, ObjectLaw>> = {
  async '8 readers on 4 nodes at expiry cause one render, and all get its result'({ node, clock }) {
    const nodes = [node(), node(), node(), node()]
    const render = countedRender()
    await eventually(clock, nodes[0]!.get('k', render, terms))
    for (const each of nodes) await eventually(clock, each.get('k', render, terms))
    await clock.advance(60_000)
    render.gives = async (call) => {
      await pause(clock, 200)
      return `v${call}`
    }
    const readers = [...nodes, ...nodes].map((each) => each.get('k', render, terms))
    const answers = (await eventually(clock, Promise.all(readers))).map(shown)
    assert.equal(render.calls, 2)
    assert.deepEqual(answers.filter((answer) => answer === 'miss v2').length, 1)
    assert.deepEqual([...new Set(answers)].sort(), ['miss v2', 'wait-hit v2'])
  },

  async 'readers of an object that was never rendered cause one render'({ node, clock }) {
    const render = countedRender(async () => {
      await pause(clock, 200)
      return 'v1'
    })
    const readers = [node(), node(), node()].map((each) => each.get('k', render, terms))
    const answers = await eventually(clock, Promise.all(readers))
    assert.equal(render.calls, 1)
    assert.deepEqual(answers.map(({ state }) => state).sort(), ['miss', 'wait-hit', 'wait-hit'])
  },

  async 'a render may take many times as long as the lease: it is renewed, and no other node renders'(
    context,
  ) {
    const { node, clock } = context
    const options = { leaseSeconds: 90, waitSeconds: 1200 }
    const [a, b] = [node(options), node(options)]
    const render = countedRender(() => pause(clock, 600_000).then(() => 'v1'))
    const first = a.get('k', render, terms)
    await until(clock, () => render.calls === 1)
    const answers = await eventually(clock, Promise.all([first, b.get('k', render, terms)]), 100)
    assert.deepEqual(answers.map(shown), ['miss v1', 'wait-hit v1'])
    assert.equal(render.calls, 1)
  },

  async 'a node that lost the lease serves its own render, and cannot overwrite the newer version'(context) {
    const { node, clock } = context
    const options = { leaseSeconds: 20, waitSeconds: 40 }
    const [slow, other] = [node(options, withoutRenewals), node(options)]
    const render = countedRender(() => pause(clock, 80_000).then(() => 'slow'))
    const first = slow.get('k', render, long)
    await until(clock, () => render.calls === 1)
    assert.equal(await shownBy(clock, other.get('k', renderOf('newer'), long), 50), 'miss newer')
    assert.equal(await shownBy(clock, first, 50), 'miss slow')
    for (const each of [slow, other, node()])
      assert.equal(await shownBy(clock, each.get('k', renderOf('x'), long)), 'hit newer')
  },

  async 'a node that dies between body and commit leaves the old version, and is replaced'({ node, clock }) {
    const options = { leaseSeconds: 20, waitSeconds: 40 }
    let isDead = false
    const dying = node(options, (cells) => killedBeforeCommit(cells, () => (isDead = true)))
    const other = node(options)
    await eventually(clock, other.get('k', renderOf('v1'), terms))
    await clock.advance(60_000)
    void dying.get('k', renderOf('lost'), terms)
    await until(clock, () => isDead)
    assert.equal(shown((await eventually(clock, node().peek('k')))!), 'stale v1')
    assert.equal(await shownBy(clock, other.get('k', renderOf('v2'), terms), 50), 'miss v2')
  },

  async 'a holder that fails releases the lease: a waiter renders before it would have expired'(context) {
    const { node, clock } = context
    const began = clock.now()
    const render = countedRender(() => pause(clock, 500).then(() => Promise.reject(new Error('down'))))
    const first = Promise.resolve(node().get('k', render, terms)).catch(String)
    await until(clock, () => render.calls === 1)
    assert.equal(await shownBy(clock, node().get('k', renderOf('v1'), terms)), 'miss v1')
    assert.match(String(await first), /down/)
    assert.ok(clock.now() - began < 60_000)
  },
}
