import assert from 'node:assert/strict'
import test from 'node:test'
import { Budget } from '../../core/budget.ts'
import { allocateBody, type Pane, paneOf } from '../../core/pane.ts'
import { PackedAnswers } from './packed.ts'

const newPane = (): Pane =>
  paneOf(
    allocateBody({
      from: 0,
      buckets: 4,
      columns: 0,
      lanes: 1,
      tableLength: 0,
      rankBytes: 0,
      frame: Buffer.alloc(0),
      notes: [],
      slabBytes: 0,
    }),
  )

const bytesOf = (length: number, value: number) => async () => Buffer.alloc(length, value)

test('an answer of the same panes in the same packing is made once', async () => {
  const packed = new PackedAnswers(new Budget(1_000_000))
  const pane = newPane()
  assert.equal(packed.find([pane], 'gzip'), undefined)
  const made = await packed.make([pane], 'gzip', bytesOf(100, 1))
  assert.equal(packed.find([pane], 'gzip'), made)
  assert.equal(packed.find([pane], 'zstd'), undefined)
  assert.equal(packed.find([{ ...pane, to: 3 }], 'gzip'), undefined)
  assert.equal(
    packed.find(
      [
        { ...pane, to: 3 },
        { ...pane, from: 3 },
      ],
      'gzip',
    ),
    undefined,
  )
  assert.equal(packed.find([newPane()], 'gzip'), undefined)
})

test('a kept answer has memory of its own: a part of a pool or of a compressor’s output would hold all of it', async () => {
  const packed = new PackedAnswers(new Budget(1_000_000))
  const [made, offered] = [newPane(), newPane()]
  const partOfMore = Buffer.alloc(100_000, 1).subarray(0, 100)
  await packed.make([made], 'zstd', async () => partOfMore)
  for (let i = 0; i < 2; i++) packed.offer([offered], 'gzip', partOfMore)
  for (const kept of [packed.find([made], 'zstd'), packed.find([offered], 'gzip')]) {
    assert.ok(kept instanceof Buffer)
    assert.equal(kept.buffer.byteLength, 100)
    assert.ok(kept.equals(partOfMore))
  }
})

test('concurrent requests wait for the same result; a failure is not kept', async () => {
  const packed = new PackedAnswers(new Budget(1_000_000))
  const pane = newPane()
  const making = packed.make([pane], 'gzip', async () => {
    throw new Error('no')
  })
  const waiting = packed.find([pane], 'gzip')
  assert.ok(waiting instanceof Promise)
  await assert.rejects(making)
  await assert.rejects(waiting)
  assert.equal(packed.find([pane], 'gzip'), undefined)
})

test('they take an eighth of the budget at most, the least recently used are evicted', async () => {
  const budget = new Budget(80_000)
  const packed = new PackedAnswers(budget)
  const panes = Array.from({ length: 6 }, newPane)
  for (const [i, pane] of panes.entries()) {
    await packed.make([pane], 'gzip', bytesOf(2_500, i))
    assert.ok(packed.find([panes[0]!], 'gzip') instanceof Buffer, 'the first is used all the time')
    assert.ok(budget.used <= 10_000)
  }
  const kept = panes.map((pane) => packed.find([pane], 'gzip') !== undefined)
  assert.deepEqual(kept, [true, false, false, false, true, true])
  await packed.make([newPane()], 'gzip', bytesOf(20_000, 9))
  assert.ok(budget.used <= 10_000, 'an answer that is too big is not kept')
})

test('under pressure they give their memory back; they never push anything else out', async () => {
  const budget = new Budget(80_000)
  const packed = new PackedAnswers(budget)
  const pane = newPane()
  await packed.make([pane], 'gzip', bytesOf(5_000, 1))
  assert.ok(budget.reserve(79_000))
  assert.equal(packed.find([pane], 'gzip'), undefined)
  assert.equal(budget.used, 79_000)
  await packed.make([pane], 'gzip', bytesOf(5_000, 1))
  assert.equal(budget.used, 79_000)
})

test('an answer that is offered is kept, as a copy, from the second time on', () => {
  const packed = new PackedAnswers(new Budget(1_000_000))
  const [pane, other] = [newPane(), newPane()]
  const bytes = Buffer.alloc(100, 1)
  packed.offer([pane], 'gzip', bytes)
  packed.offer([other], 'gzip', bytes)
  assert.equal(packed.find([pane], 'gzip'), undefined)
  packed.offer([pane], 'gzip', bytes)
  bytes.fill(2)
  assert.deepEqual(packed.find([pane], 'gzip'), Buffer.alloc(100, 1))
  assert.equal(packed.find([other], 'gzip'), undefined)
})

test('an answer that was offered long ago is offered as for the first time', () => {
  const packed = new PackedAnswers(new Budget(1_000_000))
  const pane = newPane()
  packed.offer([pane], 'gzip', Buffer.alloc(100))
  for (let i = 0; i < 300; i++) packed.offer([newPane()], 'gzip', Buffer.alloc(1))
  packed.offer([pane], 'gzip', Buffer.alloc(100))
  assert.equal(packed.find([pane], 'gzip'), undefined)
})
