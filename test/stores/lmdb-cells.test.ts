import { testCells } from '../../src/testing/test-store.ts'
import { scratchStore } from './scratch.ts'

testCells({
  name: 'lmdb',
  async create({ clock }) {
    const store = await scratchStore({ clock })
    return { cells: store.cells, end: () => store.close() }
  },
})
