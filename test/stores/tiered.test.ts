import assert from 'node:assert/strict'
import test from 'node:test'
import { Budget } from '../../src/core/budget.ts'
import { pause } from '../../src/core/clock.ts'
import type { Key } from '../../src/core/key.ts'
import { clockOf } from '../../src/core/pane.ts'
import { StoreGuard } from '../../src/stores/guard.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Found, Store } from '../../src/stores/store.ts'
import { type TieredStoreOptions, tieredStore } from '../../src/stores/tiered.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { checkPane, entryOf, keyNumber } from './truth.ts'

const memory = (clock: FakeClock, bytes = 64 * 1024 * 1024): Store =>
  memoryStore({ clock, budget: new Budget(bytes), retentionMs: 86_400_000, maxBucketsPerShape: 100_000 })

interface Calls {
  reads: number
  writes: number
  removes: number
}

/** A far store that counts its calls and answers with promises, as one on the network would. */
function remote(inner: Store): Store & { calls: Calls } {
  const calls = { reads: 0, writes: 0, removes: 0 }
  return {
    calls,
    name: 'remote',
    record: async (key) => await inner.record(key),
    read: async (key, interval) => {
      calls.reads++
      return await inner.read(key, interval)
    },
    write: async (key, entry) => {
      calls.writes++
      return await inner.write(key, entry)
    },
    remove: async (key, interval, fetchedUntil) => {
      calls.removes++
      return await inner.remove(key, interval, fetchedUntil)
    },
    shapes: () => inner.shapes(),
    close: () => inner.close(),
  }
}

function rig(given: Partial<TieredStoreOptions> = {}, timeoutMs = 250) {
  const clock = fakeClock()
  const inner = memory(clock)
  const far = remote(inner)
  const guard = new StoreGuard({ clock, timeoutMs })
  const store = tieredStore({ clock, near: memory(clock), far, guard, ...given })
  return { clock, inner, far, store }
}

const hour = { from: 0, to: 60 }
/** What a request does first. */
const look = (store: Store, key: Key) => {
  store.seen!(key)
  return store.near!(key, hour)
}
const buckets = (n: number, found: Found | undefined): number =>
  (found?.panes ?? []).reduce((sum, pane) => sum + checkPane(n, pane), 0)

test('buckets in memory are answered at once; others are read from the far store and kept', async () => {
  const { clock, inner, far, store } = rig()
  inner.write(keyNumber(1), entryOf(1, hour, clock.now()))
  const first = store.read(keyNumber(1), hour)
  assert.ok(first instanceof Promise)
  assert.equal(buckets(1, await first), 60)
  const second = store.read(keyNumber(1), hour)
  assert.ok(!(second instanceof Promise), 'memory has it now')
  assert.equal(buckets(1, second), 60)
  assert.equal(far.calls.reads, 1)
})

test('a far store that answers at once keeps a read synchronous', () => {
  const clock = fakeClock()
  const far = memory(clock)
  far.write(keyNumber(1), entryOf(1, hour, clock.now()))
  const found = tieredStore({ clock, near: memory(clock), far }).read(keyNumber(1), hour)
  assert.ok(!(found instanceof Promise))
  assert.equal(buckets(1, found), 60)
})

test('only the gap is read from the far store, every time: another node may have filled it', async () => {
  const { clock, inner, far, store } = rig()
  const asked: unknown[] = []
  const { read } = far
  far.read = (key, interval) => {
    asked.push(interval)
    return read(key, interval)
  }
  inner.write(keyNumber(1), entryOf(1, { from: 0, to: 30 }, clock.now()))
  store.write(keyNumber(1), entryOf(1, { from: 20, to: 50 }, clock.now()))
  assert.equal(buckets(1, await store.read(keyNumber(1), hour)), 50)
  assert.equal(buckets(1, await store.read(keyNumber(1), hour)), 50)
  assert.deepEqual(asked, [hour, { from: 50, to: 60 }])
  assert.ok(!(store.near!(keyNumber(1), hour) instanceof Promise))
  inner.write(keyNumber(1), entryOf(1, { from: 50, to: 60 }, clock.now()))
  assert.equal(buckets(1, await store.read(keyNumber(1), hour)), 60)
})

test('where a read names stale buckets, newer buckets of the far store replace older ones near', async () => {
  const { clock, inner, far, store } = rig()
  store.write(keyNumber(1), entryOf(1, hour, clock.now() - 2000))
  inner.write(keyNumber(1), entryOf(1, { from: 50, to: 60 }, clock.now() - 1000))
  inner.write(keyNumber(1), entryOf(1, { from: 0, to: 10 }, clock.now() - 3000))
  const clocks = (found: Found | undefined) =>
    [5, 45, 55].map((bucket) => {
      const pane = found!.panes.find(({ from, to }) => from <= bucket && bucket < to)!
      return clockOf(pane, bucket) - clock.now()
    })
  assert.deepEqual(clocks(await store.read(keyNumber(1), hour)), [-2000, -2000, -2000])
  assert.equal(far.calls.reads, 0, 'nothing is absent near')
  const stale = [
    { from: 0, to: 10 },
    { from: 50, to: 60 },
  ]
  assert.deepEqual(clocks(await store.read(keyNumber(1), hour, stale)), [-2000, -2000, -1000])
  assert.deepEqual([far.calls.reads, store.far.found], [2, 1])
  // They are kept: the next lookup needs no far store.
  assert.deepEqual(clocks((await store.near!(keyNumber(1), hour)) as Found), [-2000, -2000, -1000])
})

test('one request is one sighting, whatever it reads: one-off questions never reach the far store', async () => {
  const { clock, far, store } = rig()
  for (let n = 1; n <= 50; n++) {
    const key = keyNumber(n)
    await look(store, key)
    await store.near!(key, hour)
    for (const stale of [undefined, [], [hour]]) await store.read(key, hour, stale)
    await store.record(key)
    store.write(key, entryOf(n, hour, clock.now()))
    await store.read(key, hour)
  }
  await store.idle()
  assert.equal(far.calls.writes, 0)
})

test('a pane that another node waits for is shared whatever its sightings, and resolves when it is there', async () => {
  const { clock, inner, store } = rig()
  const key = keyNumber(1)
  await look(store, key)
  store.write(key, entryOf(1, hour, clock.now()))
  assert.equal(await store.share(key, hour, false), false)
  assert.equal(inner.read(key, hour), undefined)
  assert.equal(await store.share(key, hour, true), true)
  assert.equal(buckets(1, inner.read(key, hour) as Found), 60)
})

test('a pane that was shared is written once, and stays shared when a claim asks again', async () => {
  const { clock, far, store } = rig()
  const key = keyNumber(1)
  await look(store, key)
  store.write(key, entryOf(1, hour, clock.now()))
  assert.equal(await store.share(key, hour, true), true)
  assert.equal(await store.share(key, hour, true), true)
  assert.equal(await store.share(key, hour, false), true)
  for (let sighting = 2; sighting <= 5; sighting++) await look(store, key)
  await clock.advance(0)
  await store.idle()
  assert.equal(far.calls.writes, 1)
})

test('a big one goes to the far store although other buckets of its key were found there', async () => {
  const { clock, inner, store } = rig({ bigBytes: 2000 })
  const key = keyNumber(1)
  await look(store, key)
  store.write(key, entryOf(1, hour, clock.now()))
  inner.write(key, entryOf(1, { from: 60, to: 65 }, clock.now()))
  const other = { from: 60, to: 65 }
  assert.equal(buckets(1, await store.read(key, other)), 5)
  for (let sighting = 2; sighting <= 5; sighting++) await look(store, key)
  await clock.advance(0)
  await store.idle()
  assert.equal(buckets(1, inner.read(key, hour) as Found), 60)
})

test('buckets that the far store did not take are not shared, however often the shape was seen', async () => {
  const { clock, far, store } = rig()
  const key = keyNumber(1)
  const { write } = far
  far.write = async () => false
  for (let sighting = 0; sighting < 5; sighting++) await look(store, key)
  store.write(key, entryOf(1, hour, clock.now()))
  await store.idle()
  assert.equal(await store.share(key, hour, false), false)
  far.write = write
  assert.equal(await store.share(key, hour, true), true)
  assert.equal(buckets(1, (await far.read(key, hour)) as Found), 60)
})

test('a shape is written to the far store from its second sighting on, with its panes in memory', async () => {
  const { clock, inner, far, store } = rig()
  const key = keyNumber(1)
  await look(store, key)
  store.write(key, entryOf(1, hour, clock.now()))
  await store.idle()
  assert.equal(far.calls.writes, 0, 'one sighting is not enough')
  await look(store, key)
  await clock.advance(0)
  await store.idle()
  assert.equal(buckets(1, inner.read(key, hour) as Found), 60)
  store.write(key, entryOf(1, { from: 60, to: 70 }, clock.now()))
  await store.idle()
  assert.equal(buckets(1, inner.read(key, { from: 0, to: 99 }) as Found), 70)
  assert.equal(store.far.written, 2)
})

test('big ones need more sightings', async () => {
  const { clock, far, store } = rig({ bigBytes: 2000 })
  for (let sighting = 1; sighting <= 4; sighting++) {
    await look(store, keyNumber(1))
    store.write(keyNumber(1), entryOf(1, hour, clock.now()))
    await store.idle()
    // The one in memory and the new one.
    assert.equal(far.calls.writes, sighting < 4 ? 0 : 2, `sighting ${sighting}`)
  }
})

test('a big one that stays fresh goes to the far store at its fourth sighting, and is not shared before', async () => {
  const { clock, inner, far, store } = rig({ bigBytes: 2000 })
  const key = keyNumber(1)
  await look(store, key)
  store.write(key, entryOf(1, hour, clock.now()))
  for (let sighting = 2; sighting <= 6; sighting++) {
    await look(store, key)
    await clock.advance(0)
    assert.equal(await store.share(key, hour, false), sighting >= 4, `sighting ${sighting}`)
    assert.equal(far.calls.writes, sighting < 4 ? 0 : 1, `sighting ${sighting}`)
  }
  assert.equal(buckets(1, inner.read(key, hour) as Found), 60)
})

test('a far store that is silent delays a read by its time limit, then not at all', async () => {
  const clock = fakeClock()
  const silent: Store = { ...remote(memory(clock)), read: () => new Promise(() => {}) }
  const guard = new StoreGuard({ clock, timeoutMs: 100 })
  const store = tieredStore({ clock, near: memory(clock), far: silent, guard })
  store.write(keyNumber(1), entryOf(1, { from: 0, to: 30 }, clock.now()))
  for (let i = 0; i < 3; i++) {
    const pending = store.read(keyNumber(10 + i), hour)
    assert.ok(pending instanceof Promise)
    await clock.advance(100)
    assert.equal(await pending, undefined)
  }
  assert.equal(store.far.errors, 3)
  const now = store.read(keyNumber(1), hour)
  assert.ok(!(now instanceof Promise), 'it is left alone')
  assert.equal(buckets(1, now), 30)
  await clock.advance(5000)
  assert.ok(store.read(keyNumber(2), hour) instanceof Promise, 'it is tried again')
  assert.equal(clock.pending, 1)
})

/** A rig whose writes take so long and succeed; so many keys are on their way to the far store, or in its queue. */
async function slowRig(writeMs: number, keys: number) {
  const made = rig({}, 100)
  const { clock, far, store } = made
  const { write } = far
  far.write = async (key, entry) => {
    await pause(clock, writeMs)
    return write(key, entry)
  }
  for (let n = 1; n <= keys; n++) {
    for (let i = 0; i < 2; i++) await look(store, keyNumber(n))
    store.write(keyNumber(n), entryOf(n, hour, clock.now()))
  }
  return made
}

test('a write may take longer than a request would wait: it is kept, and the store stays in use', async () => {
  const { clock, store } = await slowRig(900, 8)
  await clock.advance(200)
  assert.ok(store.read(keyNumber(99), hour) instanceof Promise, 'it is read meanwhile')
  const [isShared, removed] = [store.share(keyNumber(1), hour, true), store.remove(keyNumber(2))]
  await clock.advance(100)
  assert.equal(await isShared, false, 'requests of other nodes wait for this')
  assert.equal(await removed, 60)
  await clock.advance(900)
  assert.deepEqual([store.far.written, store.far.dropped, store.far.errors], [8, 0, 0])
})

test('a claim waits for its pane in the queue, ahead of panes that no claim waits for', async () => {
  const { clock, store } = await slowRig(80, 40)
  const began = clock.elapsed()
  const ends: number[] = []
  for (const n of [39, 40, 1])
    void store.share(keyNumber(n), hour, true).then((isShared) => {
      assert.ok(isShared)
      ends.push(clock.elapsed() - began)
    })
  await clock.advance(400)
  assert.deepEqual(ends, [80, 160, 160])
  assert.deepEqual([store.far.written, store.far.dropped], [40, 0])
})

test('a claim waits in a slow queue no longer than a write may take', async () => {
  const { clock, store } = await slowRig(900, 40)
  const shared = Array.from({ length: 40 }, (_, n) => store.share(keyNumber(n + 1), hour, true))
  await clock.advance(1100)
  assert.ok((await Promise.all(shared)).every((is) => !is))
  await clock.advance(4000)
  assert.deepEqual([store.far.written, store.far.dropped], [40, 0])
})

test('closing takes no longer than a write may take: the panes still queued are dropped', async () => {
  const { clock, far, store } = await slowRig(800, 400)
  const shared = store.share(keyNumber(400), hour, true)
  const began = clock.elapsed()
  let closedAfter = Number.NaN
  far.close = () => {
    closedAfter = clock.elapsed() - began
  }
  void store.closeFar()
  await clock.advance(1000)
  assert.equal(closedAfter, 1000)
  assert.equal(store.farFigures().queuedBytes, 0)
  store.write(keyNumber(1), entryOf(1, hour, clock.now()))
  await clock.advance(1000)
  await store.idle()
  assert.deepEqual([await shared, store.far.written, store.far.dropped], [false, 16, 385])
})

test('a far store that hangs at writes is left alone after a while, and delays its closing no longer', async () => {
  const { clock, far, store } = rig({}, 100)
  far.write = () => new Promise(() => {})
  for (let n = 1; n <= 20; n++) {
    for (let i = 0; i < 2; i++) await look(store, keyNumber(n))
    store.write(keyNumber(n), entryOf(n, hour, clock.now()))
  }
  const closed = store.close()
  await clock.advance(2000)
  await closed
  assert.equal(store.far.dropped, 20)
  assert.equal(store.far.written, 0)
})

test('the trouble of a store tells the limit of the operation that failed', async () => {
  const { clock, far, store } = rig({}, 100)
  far.write = () => new Promise(() => {})
  far.read = async () => undefined
  for (let n = 1; n <= 3; n++) {
    for (let i = 0; i < 2; i++) await look(store, keyNumber(n))
    store.write(keyNumber(n), entryOf(n, hour, clock.now()))
  }
  await clock.advance(1000)
  assert.match(store.farFigures().health?.detail ?? '', /took longer than 1000 ms/)
  far.read = () => new Promise(() => {})
  await clock.advance(2000)
  const read = store.read(keyNumber(9), hour)
  await clock.advance(100)
  await read
  assert.match(store.farFigures().health?.detail ?? '', /took longer than 100 ms/)
})

test('a far store that throws or rejects on everything is not noticed', async () => {
  for (const fail of [() => Promise.reject(new Error('broken')), () => assert.fail('broken')]) {
    const clock = fakeClock()
    const broken = { ...remote(memory(clock)), read: fail, write: fail, remove: fail } as Store
    const store = tieredStore({ clock, near: memory(clock), far: broken })
    for (let i = 0; i < 4; i++) {
      store.seen!(keyNumber(1))
      await store.read(keyNumber(1), hour)
      assert.equal(await store.write(keyNumber(1), entryOf(1, { from: 0, to: 30 + i }, clock.now())), true)
      await store.idle()
    }
    assert.equal(buckets(1, await store.read(keyNumber(1), hour)), 33)
    assert.equal(await store.remove(keyNumber(1)), 33)
    assert.ok(store.far.errors >= 3)
    await store.close()
  }
})

test('the queue for the far store is bounded', async () => {
  const clock = fakeClock()
  const far = remote(memory(clock))
  let release = (_: boolean): void => {}
  far.write = () => new Promise((resolve) => (release = resolve))
  const store = tieredStore({ clock, near: memory(clock), far, maxQueuedBytes: 20_000 })
  for (let i = 0; i < 3; i++) await look(store, keyNumber(1))
  for (let i = 0; i < 50; i++) store.write(keyNumber(1), entryOf(1, hour, clock.now() + i))
  assert.ok(store.far.dropped > 20, `${store.far.dropped} were dropped`)
  release(true)
  await clock.advance(1000)
})

test('panes that do not fit into memory are answered all the same', async () => {
  const clock = fakeClock()
  const inner = memory(clock)
  inner.write(keyNumber(1), entryOf(1, hour, clock.now()))
  const store = tieredStore({ clock, near: memory(clock, 4000), far: remote(inner) })
  assert.equal(buckets(1, await store.read(keyNumber(1), hour)), 60)
})

test('a removal reaches both, counts every bucket once, and is not undone by a read that was under way', async () => {
  const { clock, inner, far, store } = rig()
  const key = keyNumber(1)
  inner.write(key, entryOf(1, { from: 0, to: 40 }, clock.now()))
  store.write(key, entryOf(1, { from: 30, to: 50 }, clock.now()))
  const { read } = far
  let answer = (): void => {}
  far.read = async (at, interval) => {
    const found = await read(at, interval)
    await new Promise<void>((resolve) => (answer = resolve))
    return found
  }
  const underWay = store.read(key, hour)
  await clock.advance(0)
  const late = answer
  far.read = read
  assert.equal(await store.remove(key, { from: 10, to: 45 }), 35)
  late()
  await underWay
  assert.equal(buckets(1, await store.read(key, hour)), 15)
  assert.equal(await store.remove(key), 15)
  assert.equal(await store.read(key, hour), undefined)
})

test('a removal also removes queued writes', async () => {
  const { clock, inner, store } = rig()
  const key = keyNumber(1)
  for (let i = 0; i < 2; i++) await look(store, key)
  store.write(key, entryOf(1, hour, clock.now()))
  await store.remove(key, { from: 0, to: 50 })
  await store.idle()
  assert.equal(buckets(1, inner.read(key, hour) as Found), 10)
})

test('a peek sees both, bucket by bucket the newer, and leaves no trace', async () => {
  const { clock, inner, far, store } = rig()
  const key = keyNumber(1)
  const now = clock.now()
  inner.write(key, entryOf(1, { from: 0, to: 40 }, now))
  store.write(key, entryOf(1, { from: 30, to: 50 }, now - 10))
  const { writes } = far.calls
  for (let i = 0; i < 5; i++) {
    const { panes = [] } = (await store.peek!(key, { from: 10, to: 60 })) ?? {}
    const clocks = panes.flatMap((pane) =>
      Array.from({ length: pane.to - pane.from }, (_, at) => clockOf(pane, pane.from + at)),
    )
    assert.equal(
      panes.reduce((sum, pane) => sum + checkPane(1, pane), 0),
      40,
    )
    assert.equal(clocks.filter((each) => each === now).length, 30, 'the far store has newer ones')
  }
  store.write(key, entryOf(1, { from: 30, to: 50 }, now - 10))
  await store.idle()
  assert.equal(far.calls.writes, writes, 'a look is no sighting')
  const { reads } = far.calls
  await store.read(key, { from: 0, to: 50 })
  assert.ok(far.calls.reads > reads, 'nothing was brought nearer')
  assert.equal(await store.peek!(keyNumber(9), hour), undefined)
})

test('a peek goes on without a far store that fails, is silent, or is left alone', async () => {
  const clock = fakeClock()
  const silent: Store = { ...remote(memory(clock)), read: () => new Promise(() => {}) }
  const guard = new StoreGuard({ clock, timeoutMs: 100 })
  const store = tieredStore({ clock, near: memory(clock), far: silent, guard })
  store.write(keyNumber(1), entryOf(1, { from: 0, to: 30 }, clock.now()))
  for (let i = 0; i < 3; i++) {
    const pending = store.peek!(keyNumber(1), hour)
    await clock.advance(100)
    assert.equal(buckets(1, await pending), 30)
  }
  const now = store.peek!(keyNumber(1), hour)
  assert.ok(!(now instanceof Promise))
  assert.equal(buckets(1, now), 30)
})

test('shapes of both are listed once', async () => {
  const { clock, inner, store } = rig()
  inner.write(keyNumber(1), entryOf(1, hour, clock.now()))
  inner.write(keyNumber(2), entryOf(2, hour, clock.now()))
  store.write(keyNumber(2), entryOf(2, hour, clock.now()))
  store.write(keyNumber(3), entryOf(3, hour, clock.now()))
  const keys: string[] = []
  for await (const [key] of store.shapes()) keys.push(key)
  assert.deepEqual(keys.sort(), [1, 2, 3].map(keyNumber).sort())
})

for (const reason of ['its reader stops', 'a page of it takes too long'])
  test(`a listing of the far store ends when ${reason}`, async () => {
    const { clock, far, store } = rig()
    const page = Promise.withResolvers<void>()
    let isOver = false
    far.shapes = async function* () {
      try {
        yield [keyNumber(1), entryOf(1, hour, 0).shape]
        await page.promise
        yield [keyNumber(2), entryOf(2, hour, 0).shape]
      } finally {
        isOver = true
      }
    }
    const listing = (async () => {
      for await (const _ of store.shapes()) if (reason === 'its reader stops') break
    })()
    await clock.advance(10_000)
    await listing
    page.resolve()
    await clock.advance(0)
    assert.ok(isOver)
  })

test('shapes go to the far store once, however many others are in use', async () => {
  const { clock, far, store } = rig()
  const shapes = 11_000
  const entry = entryOf(1, { from: 0, to: 2 }, clock.now())
  for (let n = 0; n < shapes; n++) {
    await look(store, keyNumber(n))
    await store.write(keyNumber(n), entry)
  }
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < shapes; n++) {
      await look(store, keyNumber(n))
      if (n % 100 === 0) await store.idle()
    }
  }
  await store.idle()
  assert.ok(far.calls.writes <= shapes, `${far.calls.writes} writes`)
  assert.ok(far.calls.writes >= 0.8 * shapes, `${far.calls.writes} writes`)
})

test('lookups of one shape at the same time are one read of the far store, but not across a removal', async () => {
  const { clock, inner, far, store } = rig()
  inner.write(keyNumber(1), entryOf(1, hour, clock.now()))
  const all = await Promise.all([1, 2, 3].map(() => store.read(keyNumber(1), hour)))
  for (const found of all) assert.equal(buckets(1, found), 60)
  assert.equal(far.calls.reads, 1)
  assert.equal(store.far.found, 1)
  const before = store.read(keyNumber(2), hour)
  const removing = store.remove(keyNumber(2))
  const after = store.read(keyNumber(2), hour)
  await Promise.all([before, removing, after])
  assert.ok(far.calls.reads >= 4, 'the removal and both lookups read for themselves')
})
