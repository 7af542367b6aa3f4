import assert from 'node:assert/strict'
import test from 'node:test'
import { PaneBody } from '../../core/pane.ts'
import type { RowRef } from '../rows/row-key.ts'
import { type KnownKey, knownRows, Remembered } from './remembered.ts'

const refOf = (from: number, bytes: number): RowRef => ({
  ...{ from, to: from + 128, newest: 0, isSettled: true, bytes },
})

function keyWith(rows: number, bytes: number): KnownKey {
  const refs = Array.from({ length: rows }, (_, i) => refOf(128 * i, bytes))
  const record = {} as KnownKey['record']
  return { from: 0, to: 128 * rows, sealed: Buffer.alloc(10), record, rows: knownRows(refs, undefined, true) }
}

test('keys and rows are bounded: what was asked for longest ago leaves first', () => {
  const remembered = new Remembered({ maxRows: 12, maxBytes: 1e9 })
  for (const key of ['a', 'b', 'c', 'd']) remembered.set(key, keyWith(2, 100))
  assert.deepEqual(remembered.size, { keys: 4, rows: 12, bytes: 4 * 230 })
  remembered.get('a')
  remembered.set('e', keyWith(2, 100))
  assert.equal(remembered.get('b'), undefined)
  assert.ok(remembered.get('a') && remembered.get('c') && remembered.get('d') && remembered.get('e'))
  remembered.set('f', keyWith(5, 100))
  assert.equal(remembered.size.rows, 12)
  for (let i = 0; i < 1000; i++) remembered.set(`empty ${i}`, keyWith(0, 0))
  assert.deepEqual([remembered.size.keys, remembered.size.rows], [12, 12])
})

test('bytes are bounded, and a key that is larger than all there may be is not kept', () => {
  const remembered = new Remembered({ maxRows: 1e6, maxBytes: 1000 })
  for (let i = 0; i < 100; i++) {
    remembered.set(`${i}`, keyWith(1, 200))
    assert.ok(remembered.size.bytes <= 1000)
  }
  assert.equal(remembered.size.keys, 4)
  remembered.set('large', keyWith(10, 200))
  assert.equal(remembered.get('large'), undefined)
  assert.equal(remembered.size.keys, 4, 'the others stay')
  remembered.set('99', keyWith(10, 200))
  assert.deepEqual([remembered.get('99'), remembered.size.keys], [undefined, 3], 'nor what it was before')
})

test('a key that is set again or deleted is counted once or not at all', () => {
  const remembered = new Remembered({ maxRows: 100, maxBytes: 1e6 })
  for (const rows of [1, 5, 3]) remembered.set('a', keyWith(rows, 100))
  assert.deepEqual(remembered.size, { keys: 1, rows: 4, bytes: 330 })
  remembered.delete('a')
  remembered.delete('a')
  assert.deepEqual(remembered.size, { keys: 0, rows: 0, bytes: 0 })
})

test('rows of a key that has changed are not taken for what they were', () => {
  const before = keyWith(2, 100)
  const body = new PaneBody(Buffer.alloc(128))
  for (const row of before.rows) Object.assign(row, { body: new WeakRef(body), isCurrent: true })
  const refs = [refOf(0, 100), refOf(256, 100)]
  const same = knownRows(refs, before, false)
  assert.equal(same[0], before.rows[0])
  assert.deepEqual([same[1]!.body, same[1]!.isCurrent], [undefined, false])
  const [changed] = knownRows(refs, before, true)
  assert.deepEqual([changed!.body?.deref() === body, changed!.isCurrent], [true, false])
})
