/**
 * Keys without reads are compressed, and every read returns the content that was written last, under any interleaving.
 */
import assert from 'node:assert/strict'
import test from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { SlowPacker } from '../../../test/rigs/slow-packer.ts'
import { Budget } from '../../core/budget.ts'
import type { Pane } from '../../core/pane.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { modelOf, type PaneModel, paneOfFetch, unite } from '../../testing/pane-model.ts'
import { shapeOf } from '../../testing/store-laws-panes.ts'
import { testStore } from '../../testing/test-store.ts'
import type { Found, Store } from '../store.ts'
import { memoryStore } from './index.ts'

const always = { from: 0, to: 1e9 }
const minute = 60_000
const limit = 64 * 2 ** 20
const shape = shapeOf('up')

interface Bench {
  readonly store: Store
  readonly budget: Budget
  readonly clock: FakeClock
  readonly packer: SlowPacker
}

/** More than half of the budget is taken from the beginning: it is worth compressing. */
function bench(bytes = limit, onChange = (_key: string): void => {}): Bench {
  const [clock, budget, packer] = [fakeClock(), new Budget(bytes), new SlowPacker()]
  assert.ok(budget.reserve(0.51 * bytes))
  const options = { clock, budget, packer, onChange, retentionMs: 86_400_000, maxBucketsPerShape: 100_000 }
  return { store: memoryStore(options), budget, clock, packer }
}

/** About this long; every bucket contains its own name. */
function paneOf(name: string, from: number, kilobytes = 20, fetchedAt = fakeClock().now()): Pane {
  const text = `${name},`.repeat(Math.ceil((51 * kilobytes) / (name.length + 1)))
  const cells = new Map(Array.from({ length: 20 }, (_, i) => [from + i, text]))
  const columns = [['a', { head: '{}', lanes: [cells, new Map()] }]] as const
  return paneOfFetch({ interval: { from, to: from + 20 }, fetchedAt, notes: [], columns })
}

/** Written, and read once: a key that is never read is not compressed. */
function writeWanted({ store }: Bench, key: string, pane: Pane): void {
  assert.equal(store.write(key, { pane, shape }), true)
  store.read(key, always)
}

const contentOf = (found: Found | undefined): PaneModel => unite((found?.panes ?? []).map(modelOf))

/** Without showing a difference: that could be megabytes long. */
function assertHas(found: Found | undefined, pane: Pane): void {
  assert.ok(isDeepStrictEqual(contentOf(found), modelOf(pane)), 'it is not the pane that was written')
}

const oneMinute = ({ clock }: Bench): Promise<void> => clock.advance(minute + 5000)

async function twoMinutes(stand: Bench): Promise<void> {
  await oneMinute(stand)
  await oneMinute(stand)
}

test('panes without reads take less memory after a while, and are read unchanged', async () => {
  for (const kilobytes of [20, 2000]) {
    const stand = bench()
    const { store, budget } = stand
    const pane = paneOf('a', 0, kilobytes)
    const others = budget.used
    writeWanted(stand, 'a', pane)
    const warm = budget.used - others
    await twoMinutes(stand)
    assert.ok(budget.used - others < warm / 3, `${warm} → ${budget.used - others}`)
    assertHas(await store.peek!('a', always), pane)
    assert.ok(budget.used - others < warm / 3, 'a look is no use')
    assertHas(await store.read('a', always), pane)
    assert.equal(budget.used - others, warm)
    assert.ok(!(store.read('a', always) instanceof Promise), 'it is warm')
    store.close()
    assert.equal(budget.used, others)
  }
})

test('panes in use stay uncompressed, and are answered at once', async () => {
  const stand = bench()
  writeWanted(stand, 'a', paneOf('a', 0, 2000))
  for (let i = 0; i < 60; i++) {
    await stand.clock.advance(5000)
    assert.ok(!(stand.store.read('a', always) instanceof Promise))
  }
  assert.equal(stand.packer.packed, 0)
})

test('a pane that was never read again stays uncompressed', async () => {
  const stand = bench()
  stand.store.write('a', { pane: paneOf('a', 0), shape })
  for (let i = 0; i < 5; i++) await oneMinute(stand)
  assert.equal(stand.packer.packed, 0)
  stand.store.write('a', { pane: paneOf('a', 30), shape })
  for (let i = 0; i < 5; i++) await oneMinute(stand)
  assert.ok(stand.packer.packed > 0)
})

test('short panes are answered at once also when they are cold', async () => {
  const stand = bench()
  writeWanted(stand, 'a', paneOf('a', 0))
  await twoMinutes(stand)
  assert.equal(stand.packer.packed, 1)
  assert.ok(!(stand.store.read('a', always) instanceof Promise))
})

test('while memory is less than half full nothing is compressed, and no timer runs', async () => {
  const [clock, budget, packer] = [fakeClock(), new Budget(64 * 2 ** 20), new SlowPacker()]
  const store = memoryStore({ clock, budget, packer, retentionMs: 86_400_000, maxBucketsPerShape: 1000 })
  store.write('a', { pane: paneOf('a', 0), shape })
  assert.equal(clock.pending, 0)
  await clock.advance(10 * minute)
  assert.equal(packer.packed, 0)
})

test('a pane that does not become shorter is tried once', async () => {
  const stand = bench()
  stand.packer.pack = async (bytes) => {
    stand.packer.packed++
    return bytes
  }
  writeWanted(stand, 'a', paneOf('a', 0))
  const before = stand.budget.used
  for (let i = 0; i < 5; i++) await oneMinute(stand)
  assert.equal(stand.packer.packed, 1)
  assert.equal(stand.budget.used, before)
})

test('no more than about 16 MiB are begun at once', async () => {
  const stand = bench(512 * 2 ** 20)
  for (let i = 0; i < 30; i++) writeWanted(stand, `key ${i}`, paneOf(`key ${i}`, 0, 2000))
  await stand.clock.advance(minute)
  const begun: number[] = []
  for (let i = 0; i < 60; i++) {
    const before = stand.packer.packed
    await stand.clock.advance(5000)
    begun.push(stand.packer.packed - before)
  }
  assert.equal(stand.packer.packed, 30)
  assert.ok(Math.max(...begun) <= 9, begun.join(' '))
})

test('a pane that cannot be decompressed is absent, short or long, and its memory is free', async () => {
  for (const kilobytes of [20, 2000]) {
    const stand = bench()
    const others = stand.budget.used
    writeWanted(stand, 'a', paneOf('a', 0, kilobytes))
    await twoMinutes(stand)
    stand.packer.isBroken = true
    assert.equal(await stand.store.read('a', always), undefined)
    assert.equal(stand.budget.used, others)
    assert.ok(stand.store.write('a', { pane: paneOf('a', 0, kilobytes), shape }))
  }
})

test('a pane without room for decompression is absent for now, is not overwritten, and stays', async () => {
  for (const kilobytes of [20, 2000]) {
    const stand = bench()
    const { store, budget, packer } = stand
    const pane = paneOf('a', 0, kilobytes)
    writeWanted(stand, 'a', pane)
    await twoMinutes(stand)
    // Evicting all there is would not make enough room: so nothing is evicted.
    const others = budget.limit - budget.used - 100
    assert.ok(budget.reserve(others))
    assert.equal(await store.read('a', always), undefined)
    assert.equal(await store.peek!('a', always), undefined)
    assert.equal(await store.write('a', { pane: paneOf('b', 5, kilobytes), shape }), false)
    assert.equal(packer.unpacked, 0)
    budget.release(others)
    assertHas(await store.read('a', always), pane)
  }
})

test('the memory of work on a pane is counted', async () => {
  const stand = bench()
  const { store, budget, packer } = stand
  const pane = paneOf('a', 0, 2000)
  const { length } = pane.body.bytes
  writeWanted(stand, 'a', pane)
  const [warm, seen] = [budget.used, [] as number[]]
  packer.onWork = () => seen.push(budget.used)
  await twoMinutes(stand)
  assert.ok(seen.length > 0 && Math.min(...seen) >= warm + 2 * length)
  const cold = budget.used
  seen.length = 0
  await store.read('a', always)
  assert.ok(seen.length > 0 && Math.min(...seen) >= cold + 2 * length)
  assert.equal(budget.used, warm)
})

test('keys are compressed one after the other, and two at most are decompressed at the same time', async () => {
  const stand = bench(512 * 2 ** 20)
  const { store, packer } = stand
  const keys = ['a', 'b', 'c', 'd', 'e']
  for (const key of keys) writeWanted(stand, key, paneOf(key, 0, 2000))
  packer.isLetting = false
  await twoMinutes(stand)
  for (const key of keys) {
    assert.equal(packer.waiting, 1, `before ${key}`)
    packer.letGo()
    await stand.clock.advance(5000)
  }
  assert.equal(packer.packed, 5)
  const reading = keys.flatMap((key) => [store.read(key, always), store.peek!(key, always)])
  for (const expected of [2, 2, 1]) {
    await stand.clock.advance(0)
    assert.equal(packer.waiting, expected)
    packer.letGo()
  }
  const found = await Promise.all(reading)
  found.forEach((each, i) => {
    assertHas(each, paneOf(keys[i >> 1]!, 0, 2000))
  })
  assert.equal(packer.unpacked, 5)
})

test('of short panes a turn decompresses 1 MiB; the others wait for another thread', async () => {
  const stand = bench()
  const keys = Array.from({ length: 10 }, (_, i) => `key ${i}`)
  for (const key of keys) writeWanted(stand, key, paneOf(key, 0, 200))
  await twoMinutes(stand)
  const found = keys.map((key) => stand.store.read(key, always))
  assert.equal(found.filter((each) => !(each instanceof Promise)).length, 5)
  assert.ok((await Promise.all(found)).every((each) => each?.panes.length === 1))
})

test('a key longer than a sixteenth of the budget is left as it is', async () => {
  const stand = bench(16 * 2 ** 20)
  writeWanted(stand, 'long', paneOf('long', 0, 1100))
  writeWanted(stand, 'short', paneOf('short', 0, 900))
  for (let i = 0; i < 5; i++) await oneMinute(stand)
  assert.equal(stand.packer.packed, 1)
})

test('a read of absent buckets causes no work', async () => {
  const stand = bench()
  writeWanted(stand, 'a', paneOf('a', 100))
  await twoMinutes(stand)
  for (const interval of [
    { from: 0, to: 100 },
    { from: 120, to: 200 },
    { from: 5, to: 5 },
  ])
    assert.deepEqual(stand.store.read('a', interval), { panes: [], shape })
  assert.equal(stand.packer.unpacked, 0)
})

test('a compressed pane is not held; its owner is notified when it is compressed, and when it is decompressed', async () => {
  const told: string[] = []
  const stand = bench(undefined, (key) => told.push(key))
  const { store } = stand
  const pane = paneOf('a', 0, 2000)
  writeWanted(stand, 'a', pane)
  assertHas(store.held!('a'), pane)
  told.length = 0
  await twoMinutes(stand)
  assert.deepEqual(told, ['a'])
  assert.equal(store.held!('a'), undefined)
  await store.peek!('a', always)
  assert.deepEqual(told, ['a'])
  await store.read('a', always)
  assert.deepEqual(told, ['a', 'a'])
  assertHas(store.held!('a'), pane)
})

test('a write to a long cold pane waits for it; later reads and removals come after it', async () => {
  for (const then of ['read', 'remove']) {
    const stand = bench()
    const { store, packer, budget } = stand
    const others = budget.used
    writeWanted(stand, 'a', paneOf('a', 0, 2000))
    await twoMinutes(stand)
    packer.isLetting = false
    const writing = store.write('a', { pane: paneOf('b', 10, 2000), shape })
    const after = then === 'read' ? store.read('a', always) : store.remove('a')
    await stand.clock.advance(0)
    packer.letGo()
    assert.equal(await writing, true)
    if (then === 'remove') {
      assert.equal(await after, 30)
      assert.equal(await store.read('a', always), undefined)
      assert.equal(budget.used, others)
      continue
    }
    const cells = contentOf((await after) as Found).columns.get('a')!.lanes[0]!
    assert.deepEqual([cells.get(9)![0], cells.get(10)![0], cells.get(29)![0]], ['a', 'b', 'b'])
  }
})

test('writes that wait for the same pane come one after the other', async () => {
  const stand = bench()
  const { store, packer } = stand
  writeWanted(stand, 'a', paneOf('a', 0, 2000))
  await twoMinutes(stand)
  packer.isLetting = false
  const writing = ['b', 'c'].map((name, i) =>
    store.write('a', { pane: paneOf(name, 10 * (i + 1), 2000), shape }),
  )
  await stand.clock.advance(0)
  packer.letGo()
  assert.deepEqual(await Promise.all(writing), [true, true])
  const cells = contentOf(await store.read('a', always)).columns.get('a')!.lanes[0]!
  assert.deepEqual(
    [0, 10, 20, 39].map((bucket) => cells.get(bucket)![0]),
    ['a', 'b', 'c', 'c'],
  )
})

test('a pane that is read while it is compressed stays uncompressed', async () => {
  const stand = bench()
  const { store, packer, clock } = stand
  writeWanted(stand, 'a', paneOf('a', 0, 2000))
  packer.isLetting = false
  await oneMinute(stand)
  assert.equal(packer.waiting, 1)
  await clock.advance(1)
  store.read('a', always)
  packer.letGo()
  await clock.advance(1)
  assert.ok(store.held!('a') !== undefined)
})

test('memory that another thread takes while a pane is decompressed costs the pane, not the count', async () => {
  const [clock, packer] = [fakeClock(), new SlowPacker()]
  let [own, others, more] = [0, 0.51 * limit, 0]
  const meter = {
    get used() {
      return own + others
    },
    add(bytes: number) {
      own += bytes
      if (packer.unpacked > 0 && bytes < 0) others = limit - more - 1
    },
  }
  const budget = new Budget(limit, { meter })
  const store = memoryStore({ clock, budget, packer, retentionMs: 86_400_000, maxBucketsPerShape: 1000 })
  const pane = paneOf('a', 0)
  store.write('a', { pane, shape })
  store.read('a', always)
  const warm = own
  await clock.advance(2 * minute)
  more = warm - own
  assertHas(await store.read('a', always), pane)
  assert.deepEqual([store.figures!().entries, own], [0, 0])
})

/** One key that lies compressed, or is held while it is being compressed; whatever comes next is held, too. */
async function coolAndHold(stand: Bench, isHeldAtOnce: boolean): Promise<void> {
  writeWanted(stand, 'a', paneOf('a', 0, 2000))
  if (isHeldAtOnce) stand.packer.isLetting = false
  await twoMinutes(stand)
  stand.packer.isLetting = false
}

test('work in progress when the store is closed frees its memory', async () => {
  for (const when of ['packing', 'reading', 'writing']) {
    const stand = bench()
    const { store, packer, budget } = stand
    const others = budget.used
    await coolAndHold(stand, when === 'packing')
    if (when === 'reading') void store.read('a', always)
    if (when === 'writing') void store.write('a', { pane: paneOf('b', 10), shape })
    await stand.clock.advance(0)
    assert.equal(packer.waiting, 1)
    store.close()
    packer.letGo()
    await oneMinute(stand)
    assert.equal(budget.used, others, when)
    assert.equal(stand.clock.pending, 0)
  }
})

test('a removal during compression or decompression is final', async () => {
  for (const when of ['packing', 'unpacking']) {
    const stand = bench()
    const { store, packer, budget } = stand
    const others = budget.used
    await coolAndHold(stand, when === 'packing')
    const reading = when === 'unpacking' ? store.read('a', always) : undefined
    const removing = store.remove('a')
    packer.letGo()
    await reading
    assert.equal(await removing, 20)
    await oneMinute(stand)
    assert.equal(await store.read('a', always), undefined)
    assert.equal(budget.used, others)
  }
})

test('under any interleaving, a read returns the content that was written and not removed', async () => {
  const step = fc.record({
    kind: fc.constantFrom(
      'write',
      'write',
      'read',
      'read',
      'remove',
      'cut',
      'minute',
      'minute',
      'hold',
      'let',
    ),
    key: fc.constantFrom('a', 'b', 'c'),
    from: fc.nat(40),
    kilobytes: fc.constantFrom(5, 400),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
      const stand = bench()
      const { store, packer, budget, clock } = stand
      const others = budget.used
      const model = new Map<string, Map<number, string>>()
      const checks: Promise<void>[] = []
      const expect = (said: unknown, expected: unknown): void => {
        checks.push(Promise.resolve(said).then((value) => assert.equal(value, expected)))
      }
      let writes = 0
      for (const { kind, key, from, kilobytes } of steps) {
        const cells = model.get(key) ?? new Map<number, string>()
        model.set(key, cells)
        if (kind === 'write') {
          const name = `${key}${writes++}`
          clock.jump(clock.now() + 1)
          const pane = paneOf(name, from, kilobytes, clock.now())
          expect(store.write(key, { pane, shape }), true)
          for (let bucket = from; bucket < from + 20; bucket++) cells.set(bucket, name)
        }
        if (kind === 'remove') {
          expect(store.remove(key), cells.size)
          cells.clear()
        }
        if (kind === 'cut') {
          const inside = [...cells.keys()].filter((bucket) => bucket >= from && bucket < from + 7)
          expect(store.remove(key, { from, to: from + 7 }), inside.length)
          for (const bucket of inside) cells.delete(bucket)
        }
        if (kind === 'read') {
          const expected = new Map(cells)
          checks.push(Promise.resolve(store.read(key, always)).then((found) => same(found, expected)))
        }
        if (kind === 'minute') await oneMinute(stand)
        if (kind === 'hold') packer.isLetting = false
        if (kind === 'let') {
          packer.isLetting = true
          packer.letGo()
        }
      }
      packer.isLetting = true
      packer.letGo()
      await Promise.all(checks)
      for (const [key, cells] of model) same(await store.read(key, always), cells)
      store.close()
      // Work in progress releases its memory when it ends.
      await clock.advance(0)
      assert.equal(budget.used, others)
    }),
    { numRuns: 150 },
  )
})

function same(found: Found | undefined, expected: ReadonlyMap<number, string>): void {
  const cells = contentOf(found).columns.get('a')?.lanes[0] ?? new Map<number, string>()
  const names = new Map([...cells].map(([bucket, text]) => [bucket, text.slice(0, text.indexOf(','))]))
  assert.deepEqual(
    [...names].sort(([a], [b]) => a - b),
    [...expected].sort(([a], [b]) => a - b),
  )
}

/** Everything is compressed before the first read. */
function hurried(clock: FakeClock, packer: SlowPacker): Store {
  const budget = new Budget(64 * 2 ** 20)
  assert.ok(budget.reserve(33 * 2 ** 20))
  const bounds = { retentionMs: 3_600_000, maxBucketsPerShape: 10_000 }
  const store = memoryStore({ clock, budget, packer, coldAfterMs: 1, ...bounds })
  return {
    name: 'cold',
    record: (key) => store.record(key),
    read: (key, interval) => store.read(key, interval),
    peek: (key, interval) => store.peek!(key, interval),
    async write(key, entry) {
      const kept = await store.write(key, entry)
      await store.read(key, always)
      const [now, before] = [clock.now(), packer.packed]
      await clock.advance(10_000)
      clock.jump(now)
      assert.ok(packer.packed > before, 'it is not cold')
      return kept
    },
    remove: (key, interval, fetchedUntil) => store.remove(key, interval, fetchedUntil),
    shapes: () => store.shapes(),
    close: () => store.close(),
  }
}

for (const [name, longestNow] of [
  ['at once', 2 ** 30],
  ['by another thread', 0],
] as const) {
  testStore({
    name: `memory, cold, decompressed ${name}`,
    capabilities: { rounds: 20 },
    create: ({ clock }) => hurried(clock, new SlowPacker(longestNow)),
  })
}
