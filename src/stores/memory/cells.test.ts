import assert from 'node:assert/strict'
import test from 'node:test'
import { fakeClock } from '../../testing/fake-clock.ts'
import { testCells } from '../../testing/test-store.ts'
import { memoryCells } from './cells.ts'

testCells({ name: 'memory', rounds: 300, create: ({ clock }) => ({ cells: memoryCells({ clock }) }) })

test('rows are bounded: collected ones leave first, then those written longest ago', () => {
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
  const put = (sk: string, collectAt: number | 'never') =>
    cells.put(
      { pk: 'p', sk },
      { kind: 'k', v: 1, clocks: {}, collectAt, value: new Uint8Array(0) },
      { is: 'absent' },
    )
  const second = clock.now() / 1000
  for (const sk of ['a', 'b', 'c', 'd']) put(sk, 'never')
  put('e', second + 1)
  await clock.advance(1000)
  put('f', 'never')
  const names = () => (cells.list('p', 1) as [string, unknown][]).map(([sk]) => sk)
  assert.deepEqual(names(), ['c', 'd', 'f'], 'the collected one left, not the oldest')
})
