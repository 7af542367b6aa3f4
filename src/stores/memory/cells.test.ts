import assert from 'node:assert/strict'
import test from 'node:test'
import { fakeClock } from '../../testing/fake-clock.ts'
import { testCells } from '../../testing/test-store.ts'
import { memoryCells } from './cells.ts'

testCells({ name: 'memory', rounds: 300, create: ({ clock }) => ({ cells: memoryCells({ clock }) }) })

test('rows are bounded: collected ones are evicted first, then the oldest ones', () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock, maxRows: 3 })
  const put = (sk: string, collectAt: number | 'never') =>
    cells.put(
      { pk: 'p', sk },
      { kind: 'k', v: 1, clocks: {}, collectAt, value: new Uint8Array(0) },
      { is: 'absent' },
    )
  put('a', 'never')
  put('b', 1)
  put('c', 'never')
  put('d', 'never')
  const names = () => (cells.list('p', 1) as [string, unknown][]).map(([sk]) => sk)
  assert.deepEqual(names(), ['a', 'c', 'd'])
  put('e', 'never')
  assert.deepEqual(names(), ['c', 'd', 'e'])
})

test('collected rows are looked for once a second at most, however many new ones there are', async () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock, maxRows: 3 })
  const put = (sk: string, collectAt: number) =>
    cells.put(
      { pk: 'p', sk },
      { kind: 'k', v: 1, clocks: {}, collectAt, value: new Uint8Array(0) },
      { is: 'absent' },
    )
  const second = clock.now() / 1000
  for (const sk of ['a', 'b', 'c', 'd']) put(sk, second + 1000)
  put('e', second + 1)
  await clock.advance(1000)
  put('f', second + 1000)
  const names = () => (cells.list('p', 1) as [string, unknown][]).map(([sk]) => sk)
  assert.deepEqual(names(), ['c', 'd', 'f'], 'the collected one left, not the oldest')
})

test('rows that are never collected are not evicted by any number of others', () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock, maxRows: 3 })
  const put = (sk: string, collectAt: number | 'never') =>
    cells.put(
      { pk: 'p', sk },
      { kind: 'k', v: 1, clocks: {}, collectAt, value: new Uint8Array(0) },
      { is: 'expired', deadline: 'freshUntil' },
    )
  const later = clock.now() / 1000 + 60
  const names = () => (cells.list('p', 1) as [string, unknown][]).map(([sk]) => sk)
  put('kept', 'never')
  for (let i = 0; i < 100; i++) put(`n${i}`, later)
  assert.deepEqual(names(), ['kept', 'n97', 'n98', 'n99'])
  // A row is in one place, whichever it was in before.
  put('kept', later)
  put('n99', 'never')
  assert.deepEqual(names(), ['kept', 'n98', 'n99'])
  assert.equal(cells.remove({ pk: 'p', sk: 'n99' }, { is: 'expired', deadline: 'freshUntil' }), true)
  assert.deepEqual(names(), ['kept', 'n98'])
})

test('rows with large values are bounded by their bytes, and evict no small ones', () => {
  const clock = fakeClock()
  const cells = memoryCells({ clock, maxBytes: 50_000 })
  const put = (sk: string, bytes: number) =>
    cells.put(
      { pk: 'p', sk },
      { kind: 'k', v: 1, clocks: {}, collectAt: clock.now() / 1000 + 60, value: new Uint8Array(bytes) },
      { is: 'expired', deadline: 'freshUntil' },
    )
  const names = () => (cells.list('p', 1) as [string, unknown][]).map(([sk]) => sk)
  put('small', 100)
  for (let i = 0; i < 9; i++) put(`n${i}`, 20_000)
  assert.deepEqual(names(), ['n7', 'n8', 'small'])
  // A row is in one place, whatever its length was before.
  put('n8', 100)
  put('small', 20_000)
  assert.deepEqual(names(), ['n7', 'n8', 'small'])
})
