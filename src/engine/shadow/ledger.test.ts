import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Budget } from '../../core/budget.ts'
import { slice } from '../../core/pane.ts'
import { diceOf, paneOfFetch, randomFetch } from '../../testing/pane-model.ts'
import { hashesOf, ShadowLedger } from './ledger.ts'

const dice = diceOf(Buffer.alloc(1000, 7))
const pane = (from: number, to: number, fetchedAt: number) =>
  paneOfFetch(randomFetch(dice, { interval: { from, to }, fetchedAt }))

test('equal bytes give equal numbers, wherever a pane begins', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 100, maxLength: 1000, size: 'max' }), (bytes) => {
      const whole = paneOfFetch(randomFetch(diceOf(bytes), { interval: { from: 10, to: 20 }, fetchedAt: 1 }))
      const all = hashesOf(whole, whole)
      assert.deepEqual(hashesOf(whole, { from: 13, to: 16 }), all.slice(3, 6))
      assert.deepEqual(hashesOf(slice(whole, { from: 13, to: 16 }), { from: 14, to: 15 }), all.slice(4, 5))
    }),
  )
})

test('the last stored version counts, and adjacent buckets stay', () => {
  const ledger = new ShadowLedger(new Budget(1e9))
  ledger.write('k', pane(10, 20, 1))
  ledger.write('k', pane(15, 25, 2))
  const known = (at: number) =>
    Array.from({ length: 20 }, (_, i) => 8 + i).filter(
      (bucket) => ledger.hashAt('k', bucket, at) !== undefined,
    )
  assert.deepEqual(known(1), [10, 11, 12, 13, 14])
  assert.deepEqual(known(2), [15, 16, 17, 18, 19, 20, 21, 22, 23, 24])
  assert.equal(ledger.hashAt('other', 12, 1), undefined)
})

test('it is bounded: by keys, by the span of one, and by the budget', () => {
  const budget = new Budget(1e9)
  const ledger = new ShadowLedger(budget)
  for (let i = 0; i < 3000; i++) ledger.write(`k${i}`, pane(0, 500, 1))
  assert.ok(ledger.bytes <= 8 * 2 ** 20 && ledger.bytes > 7 * 2 ** 20, String(ledger.bytes))
  assert.equal(budget.used, ledger.bytes)
  assert.deepEqual(
    [ledger.hashAt('k0', 1, 1), ledger.hashAt('k2999', 1, 1) === undefined],
    [undefined, false],
  )
  // Far apart: only the newer one.
  ledger.write('far', pane(0, 10, 1))
  ledger.write('far', pane(1e6, 1e6 + 10, 2))
  assert.deepEqual(
    [ledger.hashAt('far', 1, 1), ledger.hashAt('far', 1e6, 2) === undefined],
    [undefined, false],
  )
  const poor = new ShadowLedger(new Budget(100))
  poor.write('k', pane(0, 10, 1))
  assert.deepEqual([poor.hashAt('k', 1, 1), poor.bytes], [undefined, 0])
})
