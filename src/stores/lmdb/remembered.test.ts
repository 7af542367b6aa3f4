import assert from 'node:assert/strict'
import test from 'node:test'
import { PaneBody } from '../../core/pane.ts'
import type { RowRef } from '../rows/row-key.ts'
import { type KnownKey, knownRows, newRemembered } from './remembered.ts'

const refOf = (from: number, bytes: number): RowRef => ({
  ...{ from, to: from + 128, newest: 0, isSettled: true, bytes },
})

function keyWith(rows: number, bytes: number): KnownKey {
  const refs = Array.from({ length: rows }, (_, i) => refOf(128 * i, bytes))
  const record = {} as KnownKey['record']
  return { from: 0, to: 128 * rows, sealed: Buffer.alloc(10), record, rows: knownRows(refs, undefined, true) }
}

/** Of a key with two rows of 100 bytes each. */
const twoRows = 3 * 512 + 2 * 100 + 3 * 10

test('bodies, rows and keys are bounded: the least recently used are evicted first', () => {
  const remembered = newRemembered(4 * twoRows)
  for (const key of ['a', 'b', 'c', 'd']) remembered.set(key, keyWith(2, 100))
  assert.deepEqual([remembered.size, remembered.weight], [4, 4 * twoRows])
  remembered.use('a')
  remembered.set('e', keyWith(2, 100))
  assert.deepEqual([...remembered.keys()], ['c', 'd', 'a', 'e'])
  for (let i = 0; i < 1000; i++) remembered.set(`empty ${i}`, keyWith(0, 0))
  assert.equal(remembered.size, Math.floor((4 * twoRows) / (512 + 30)))
})

test('a key that is larger than the bound is not kept, nor its former version, and the others stay', () => {
  const remembered = newRemembered(4 * twoRows)
  for (const key of ['a', 'b', 'c']) remembered.set(key, keyWith(2, 100))
  remembered.set('large', keyWith(10, 200))
  remembered.set('c', keyWith(10, 2000))
  assert.deepEqual([...remembered.keys()], ['a', 'b'])
})

test('rows of a key that has changed are not taken for the former ones', () => {
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
