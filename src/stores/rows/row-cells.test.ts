import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryCellEngine } from '../../../test/rigs/memory-engines.ts'
import { meteredCells, noTraffic } from '../../../test/rigs/store-traffic.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { CellDraft } from '../cells.ts'
import { RowCells } from './row-cells.ts'

const id = { pk: 'claims', sk: 'one' }
const draft = (text: string): CellDraft => ({
  ...{ kind: 'test', v: 1, clocks: {}, collectAt: 'never' },
  value: Buffer.from(text),
})

function rig() {
  const clock = fakeClock()
  const traffic = noTraffic()
  const engine = meteredCells(new MemoryCellEngine(), traffic, (operation) => operation())
  return { traffic, one: new RowCells(engine, clock), other: new RowCells(engine, clock) }
}

test('a row that was read, or written, is changed at its revision without another read', async () => {
  const { traffic, one } = rig()
  const created = await one.put(id, draft('a'), { is: 'absent' })
  assert.ok(created.ok)
  Object.assign(traffic, noTraffic())
  const changed = await one.put(id, draft('b'), { is: 'revision', rev: created.rev })
  assert.ok(changed.ok)
  assert.deepEqual([traffic.cellReads, traffic.cellWrites], [0, 1])
  assert.deepEqual(Buffer.from((await one.get(id, 1))!.value).toString(), 'b')
})

test('where another node was faster the change is refused, with the row that stands in the way', async () => {
  const { one, other } = rig()
  const created = await one.put(id, draft('a'), { is: 'absent' })
  assert.ok(created.ok)
  const seen = await other.get(id, 1)
  assert.ok((await other.put(id, draft('b'), { is: 'revision', rev: seen!.rev })).ok)
  const refused = await one.put(id, draft('c'), { is: 'revision', rev: created.rev })
  assert.ok(!refused.ok && refused.reason === 'condition')
  assert.equal(Buffer.from(refused.current!.value).toString(), 'b')
})

const bucket = { name: 'a', capacity: 17, unitsPerToken: 1000, creditPerMs: 1, cost: 1 }
const take = { kind: 'take', limits: [bucket], keepMs: 'forever' } as const

test('takes from one row that are made at once are one read and one write', async () => {
  const { traffic, one } = rig()
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => one.take(id, take)))
  assert.equal(outcomes.filter(({ ok }) => ok).length, 17)
  assert.deepEqual([traffic.cellReads, traffic.cellWrites], [1, 1])
})

test('concurrent takes of several nodes admit exactly the content of the bucket', async () => {
  const { one, other } = rig()
  const takers = Array.from({ length: 20 }, async (_, i) => {
    for (let turns = i % 7; turns > 0; turns--) await Promise.resolve()
    return (i % 2 === 0 ? one : other).take(id, take)
  })
  const outcomes = await Promise.all(takers)
  assert.equal(outcomes.filter(({ ok }) => ok).length, 17)
})

test('takes whose read fails all fail, and those after them do not', async () => {
  const clock = fakeClock()
  const engine = new MemoryCellEngine()
  let isDown = true
  const loadStored = engine.load.bind(engine)
  const load: typeof engine.load = (pk, sks) =>
    isDown ? Promise.reject(new Error('down')) : loadStored(pk, sks)
  const cells = new RowCells(Object.assign(engine, { load }), clock)
  const failed = await Promise.allSettled([cells.take(id, take), cells.take(id, take)])
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  isDown = false
  assert.ok((await cells.take(id, take)).ok)
})
