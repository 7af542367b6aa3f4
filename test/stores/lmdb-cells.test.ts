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

test('unread cells are removed once their collection clock has passed', async (t) => {
  const clock = fakeClock()
  const store = await scratchStore({ clock })
  t.after(() => store.close())
  const seconds = Math.floor(clock.now() / 1000)
  const value = new Uint8Array(60_000)
  const put = (sk: string, collectAt: number | 'never') =>
    store.cells.put({ pk: 'p', sk }, { kind: 'k', v: 1, clocks: {}, collectAt, value }, { is: 'absent' })
  await put('kept', 'never')
  const { liveBytes: before } = store.room()
  for (let i = 0; i < 250; i++) assert.ok((await put(`short-${i}`, seconds + 100)).ok)
  await put('longer', seconds + 1_000_000)
  assert.ok(store.room().liveBytes > before + 250 * value.length)
  await store.maintain()
  assert.equal((await store.cells.list('p', 1)).length, 252)
  clock.jump((seconds + 100) * 1000)
  await store.maintain()
  assert.ok(store.room().liveBytes < before + 10 * value.length)
  assert.deepEqual((await store.cells.list('p', 1)).map(([sk]) => sk).sort(), ['kept', 'longer'])
})

test('large cells take a quarter of the store at most; small ones are always written', async (t) => {
  const clock = fakeClock()
  const store = await scratchStore({ clock, maxBytes: 16 << 20 })
  t.after(() => store.close())
  const put = async (sk: string, bytes: number): Promise<boolean> => {
    const draft = { kind: 'k', v: 1, clocks: {}, collectAt: 'never' as const, value: new Uint8Array(bytes) }
    return (await store.cells.put({ pk: 'p', sk }, draft, { is: 'absent' })).ok
  }
  let written = 0
  while (written < 1000 && (await put(`large-${written}`, 60_000))) written++
  assert.ok(written * 60_000 > 3 << 20 && written * 60_000 < 4 << 20, `${written} were written`)
  assert.equal(await put('small', 1000), true)
  assert.equal((await store.cells.list('p', 1)).length, written + 1)
})
