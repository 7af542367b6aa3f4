import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { testObjects } from '../../src/testing/test-objects.ts'
import { type CellLaws, testCells } from '../../src/testing/test-store.ts'
import { scratchDirectory, scratchStore } from './scratch.ts'

const cellLaws: CellLaws = {
  name: 'lmdb',
  async create({ clock }) {
    const store = await scratchStore({ clock })
    return { cells: store.cells, end: () => store.close() }
  },
}
testCells(cellLaws)
testObjects(cellLaws)

test('cells know whether another store has the file open, a moment later at the latest', async (t) => {
  const clock = fakeClock()
  const directory = scratchDirectory()
  const first = await scratchStore({ clock, directory })
  t.after(() => first.close())
  assert.equal(first.cells.isAlone!(), true)
  const second = await scratchStore({ clock, directory })
  await clock.advance(1000)
  assert.deepEqual([first.cells.isAlone!(), second.cells.isAlone!()], [false, false])
  await second.close()
  await clock.advance(1000)
  assert.equal(first.cells.isAlone!(), true)
})
