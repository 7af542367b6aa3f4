/** A request to a thread is one sighting of its shape in the main thread, whatever it reads besides. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedStore } from '../../../test/rigs/engine-rig.ts'
import { clocksIn, paneOf } from '../../../test/rigs/replica-rig.ts'
import { Budget } from '../../core/budget.ts'
import { tieredStore } from '../../stores/tiered.ts'
import { asynchronous } from '../../testing/asynchronous.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { shapeOf } from '../../testing/store-laws-panes.ts'
import { Directory } from './directory.ts'
import { Replica } from './replica.ts'

test('a shape that a thread requests once is not written to the far tier, and from the second request on it is', async () => {
  const clock = fakeClock()
  const near = sharedStore(clock)
  const tiered = tieredStore({ clock, near, far: asynchronous(sharedStore(clock), { clock }) })
  const directory = new Directory({ memory: near, storeOf: () => tiered })
  const replica = new Replica({
    send: (message) => directory.receive(1, message),
    ...{ clock, budget: new Budget(1 << 24), maxPaneBytes: 1 << 20, farStores: new Set(['far']) },
  })
  directory.open(1, (message) => replica.receive(message))
  const store = replica.store('far')
  const interval = { from: 0, to: 10 }
  const request = async () => {
    store.seen!('a')
    await store.near!('a', interval)
    await store.read('a', interval, [interval])
    await store.near!('a', interval)
    await store.write('a', { pane: paneOf('a', interval, clock.now()), shape: shapeOf('a') })
    assert.equal((await store.near!('a', interval))?.panes.length, 1)
    await tiered.idle()
  }
  await request()
  assert.equal(tiered.far.written, 0)
  await clock.advance(1)
  await request()
  await clock.advance(1000)
  await tiered.idle()
  assert.ok(tiered.far.written > 0)
})

for (const isHeld of [false, true])
  test(`a thread that ${isHeld ? 'holds' : 'does not hold'} a key waits where it was not compared with the far tier for long`, async () => {
    const clock = fakeClock()
    const memory = sharedStore(clock)
    const inner = sharedStore(clock)
    const far = Object.assign(asynchronous(inner, { clock }), { hasNews: async () => true })
    const tiered = tieredStore({ clock, near: memory, far, noticeMs: 1000 })
    const directory = new Directory({ memory, storeOf: () => tiered })
    const replica = new Replica({
      send: (message) => directory.receive(1, message),
      ...{ clock, budget: new Budget(1 << 24), maxPaneBytes: 1 << 20, farStores: new Set(['far']) },
      noticeMsOf: () => 1000,
    })
    directory.open(1, (message) => replica.receive(message))
    const interval = { from: 0, to: 10 }
    const entryAt = (fetchedAt: number) => ({ pane: paneOf('a', interval, fetchedAt), shape: shapeOf('a') })
    tiered.seen!('a')
    await tiered.write('a', entryAt(clock.now()))
    const store = replica.store('far')
    if (isHeld) {
      store.seen!('a')
      await store.near!('a', interval)
    }
    await clock.advance(5000)
    const fetchedAt = clock.now()
    await inner.write('a', entryAt(fetchedAt))
    assert.equal(replica.look('a', interval) !== undefined, isHeld)
    store.seen!('a')
    assert.deepEqual(new Set(clocksIn('a', await store.near!('a', interval)).values()), new Set([fetchedAt]))
  })
