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
