import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Budget } from '../../core/budget.ts'
import { clockOf, type Pane } from '../../core/pane.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { diceOf, modelOf, paneOfFetch, randomFetch, restrict, unite } from '../../testing/pane-model.ts'
import type { ShapeRecord, Store } from '../store.ts'
import { type MemoryStoreOptions, memoryStore } from './index.ts'

const shape: ShapeRecord = {
  backend: 'test',
  text: 'up',
  query: '',
  sources: [],
  knowsAllSources: true,
  lookbackMs: 0,
  grid: { kind: 'point', step: 1000, origin: 0 },
  identity: '',
  headers: [],
}
const always = { from: 0, to: 1e9 }
const hour = 3_600_000
const start = fakeClock().now()

interface Bench {
  readonly store: Store
  readonly budget: Budget
  readonly clock: FakeClock
}

function bench(limit: number, options: Partial<MemoryStoreOptions> = {}): Bench {
  const [clock, budget] = [fakeClock(), new Budget(limit)]
  const store = memoryStore({
    clock,
    budget,
    retentionMs: 24 * hour,
    maxBucketsPerShape: 100_000,
    ...options,
  })
  return { store, budget, clock }
}

/** A pane whose buffer is about this large. */
function paneOfBytes(bytes: number, from = 0, fetchedAt = start): Pane {
  const cells = new Map([[from, 'x'.repeat(bytes)]])
  const columns = [['a', { head: '{}', lanes: [cells, new Map()] }]] as const
  return paneOfFetch({ interval: { from, to: from + 1 }, fetchedAt, notes: [], columns })
}

/** `read` would count as a use. */
const keysOf = ({ store }: Bench): string[] =>
  [...(store.shapes() as Iterable<readonly [string, ShapeRecord]>)].map(([key]) => key)

const panesOf = (store: Store, key: string): readonly Pane[] => {
  const found = store.read(key, always)
  assert.ok(!(found instanceof Promise))
  return found?.panes ?? []
}

test('a flood of random writes never exceeds the budget, and everything is given back', () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    from: fc.nat(30),
    bytes: fc.oneof(fc.nat(3000), fc.nat(40_000)),
    kind: fc.constantFrom('write', 'write', 'write', 'remove', 'cut', 'other'),
  })
  fc.assert(
    fc.property(fc.integer({ min: 4000, max: 60_000 }), fc.array(step, { maxLength: 60 }), (limit, steps) => {
      const { store, budget } = bench(limit)
      let other = 0
      for (const { key, from, bytes, kind } of steps) {
        if (kind === 'write') store.write(key, { pane: paneOfBytes(bytes, from), shape })
        if (kind === 'remove') store.remove(key)
        if (kind === 'cut') store.remove(key, { from, to: from + 5 })
        // Another user of the budget makes the store evict.
        if (kind === 'other' && budget.reserve(bytes)) other += bytes
        assert.ok(budget.used <= limit)
        assert.ok(budget.used >= other)
      }
      store.close()
      assert.equal(budget.used, other)
    }),
    { numRuns: 200 },
  )
})

test('keys with repeated requests outlive later ones', () => {
  const used = bench(100_000)
  for (const key of ['a', 'b', 'c', 'd']) used.store.write(key, { pane: paneOfBytes(15_000), shape })
  for (const key of ['a', 'c']) for (let i = 0; i < 3; i++) used.store.read(key, always)
  for (const key of ['e', 'f', 'g', 'h', 'i', 'j']) {
    used.store.read(key, always)
    used.store.write(key, { pane: paneOfBytes(15_000), shape })
  }
  assert.deepEqual(
    keysOf(used).filter((key) => 'abcd'.includes(key)),
    ['a', 'c'],
  )
})

test('reading a record is no use of buckets', () => {
  const [looked, asked] = [bench(100_000), bench(100_000)]
  for (const { store } of [looked, asked]) store.write('a', { pane: paneOfBytes(15_000), shape })
  for (let i = 0; i < 9; i++) {
    looked.store.record('a')
    asked.store.read('a', always)
  }
  for (const { store } of [looked, asked]) {
    for (let i = 0; i < 50; i++) {
      for (const _ of [1, 2]) store.read(`twice ${i}`, always)
      store.write(`twice ${i}`, { pane: paneOfBytes(15_000), shape })
    }
  }
  assert.ok(!keysOf(looked).includes('a'))
  assert.ok(keysOf(asked).includes('a'))
})

test('a key that is read every time stays through a flood', () => {
  const used = bench(100_000)
  used.store.write('panel', { pane: paneOfBytes(10_000), shape })
  for (let i = 0; i < 500; i++) {
    used.store.write(`ad hoc ${i}`, { pane: paneOfBytes(9_000), shape })
    assert.equal(panesOf(used.store, 'panel').length, 1)
  }
})

test('only as much leaves as another holder needs', () => {
  const used = bench(100_000)
  for (const key of ['a', 'b', 'c', 'd']) used.store.write(key, { pane: paneOfBytes(20_000), shape })
  assert.ok(used.budget.reserve(30_000))
  assert.equal(keysOf(used).length, 3)
  assert.ok(used.budget.reserve(65_000))
  assert.deepEqual(keysOf(used), [])
  assert.ok(!used.budget.reserve(10_000))
})

test('one key larger than a quarter of the budget is not kept and evicts no other', () => {
  const used = bench(100_000)
  assert.equal(used.store.write('small', { pane: paneOfBytes(20_000), shape }), true)
  assert.equal(used.store.write('large', { pane: paneOfBytes(26_000), shape }), false)
  assert.deepEqual(keysOf(used), ['small'])
  // Its further growth is refused; its current content stays.
  assert.equal(used.store.write('small', { pane: paneOfBytes(20_000, 5), shape }), false)
  assert.deepEqual(
    panesOf(used.store, 'small').map(({ from }) => from),
    [0],
  )
})

test('two parts of one body are counted once', () => {
  const { store, budget } = bench(2 ** 30)
  const dense = randomFetch(() => 1, { interval: { from: 0, to: 1000 }, fetchedAt: start })
  store.write('a', { pane: paneOfFetch(dense), shape })
  const before = budget.used
  assert.equal(store.remove('a', { from: 450, to: 550 }), 100)
  assert.equal(panesOf(store, 'a').length, 2)
  assert.equal(budget.used, before)
})

test('of one key at most so many buckets are kept, and the oldest are evicted first', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 60, maxLength: 300, size: 'max' }), (bytes) => {
      const dice = diceOf(bytes)
      const { store } = bench(2 ** 30, { maxBucketsPerShape: 20 })
      let written = unite([])
      for (let fetchedAt = start - 8; fetchedAt < start; fetchedAt++) {
        const from = dice(0, 50)
        const pane = paneOfFetch(randomFetch(dice, { interval: { from, to: from + dice(1, 15) }, fetchedAt }))
        store.write('a', { pane, shape })
        const rest = restrict(written, (bucket) => bucket < pane.from || bucket >= pane.to)
        const all = [...rest.clocks.keys(), ...modelOf(pane).clocks.keys()].sort((a, b) => a - b)
        const kept = new Set(all.slice(-20))
        written = restrict(unite([rest, modelOf(pane)]), (bucket) => kept.has(bucket))
        assert.deepEqual(unite(panesOf(store, 'a').map(modelOf)), written)
      }
    }),
    { numRuns: 200 },
  )
})

test('a window that rolls at the limit of buckets keeps all but the oldest, in bounded memory', () => {
  const { store, budget, clock } = bench(2 ** 30, { maxBucketsPerShape: 1000 })
  const write = (from: number, to: number) =>
    store.write('a', {
      pane: paneOfFetch({ interval: { from, to }, fetchedAt: clock.now(), notes: [], columns: [] }),
      shape,
    })
  write(0, 1000)
  const atFirst = budget.used
  for (let next = 1001; next <= 4000; next++) {
    write(next - 12, next)
    const panes = panesOf(store, 'a')
    assert.deepEqual([panes[0]!.from, panes.at(-1)!.to], [next - 1000, next])
    assert.ok(budget.used < 3 * atFirst, `${budget.used} bytes`)
  }
})

test('an unused key is removed when its retention is over, not before', async () => {
  const used = bench(2 ** 30, { retentionMs: hour })
  used.store.write('a', { pane: paneOfBytes(10), shape })
  await used.clock.advance(hour - 1)
  used.store.write('b', { pane: paneOfBytes(10), shape })
  assert.deepEqual(keysOf(used), ['a', 'b'])
  await used.clock.advance(1)
  used.store.write('c', { pane: paneOfBytes(10, 0, used.clock.now()), shape })
  assert.deepEqual(keysOf(used), ['b', 'c'])
})

test('panes of a key in use are removed when the retention of their newest bucket is over', async () => {
  const { store, clock } = bench(2 ** 30, { retentionMs: hour })
  const write = (from: number, to: number) =>
    store.write('a', {
      pane: paneOfFetch({ interval: { from, to }, fetchedAt: clock.now(), notes: [], columns: [] }),
      shape,
    })
  const begins = () => panesOf(store, 'a').map(({ from }) => from)
  write(100, 101)
  await clock.advance(hour / 2)
  write(90, 100)
  write(10, 20)
  await clock.advance(hour / 2)
  write(50, 51)
  assert.deepEqual(begins(), [10, 50, 90])
  await clock.advance(hour / 2)
  write(60, 61)
  assert.deepEqual(begins(), [50, 60])
})

test('a rolling window of 5 000 steps stays in few panes and equals the last writes', () => {
  const { store } = bench(2 ** 30)
  const expected = new Map<number, string>()
  for (let step = 0; step < 5000; step++) {
    const cells = new Map<number, string>()
    for (let bucket = step; bucket < step + 12; bucket++) cells.set(bucket, `${bucket}@${step},`)
    for (const [bucket, text] of cells) expected.set(bucket, text)
    const columns = [['a', { head: '{}', lanes: [cells, new Map()] }]] as const
    const interval = { from: step, to: step + 12 }
    store.write('a', { pane: paneOfFetch({ interval, fetchedAt: start + step, notes: [], columns }), shape })
  }
  const panes = panesOf(store, 'a')
  assert.ok(panes.length <= 5000 / 200, `${panes.length} panes`)
  assert.deepEqual(unite(panes.map(modelOf)).columns.get('a')?.lanes[0], expected)
  for (const pane of panes) {
    for (let bucket = pane.from; bucket < pane.to; bucket++) {
      assert.equal(clockOf(pane, bucket), start + Math.min(bucket, 4999))
    }
  }
})
