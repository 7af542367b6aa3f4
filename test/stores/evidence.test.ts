/** The evidence of nodes in the engines that need no server; the tests of the other engines are next to their other laws. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { until } from '../wait.ts'
import { assertSameCurve, LearningNode, testEvidence } from './evidence-laws.ts'
import { scratchDirectory, scratchStore } from './scratch.ts'

testEvidence({ name: 'memory', create: ({ clock }) => ({ cells: memoryCells({ clock }) }) })
testEvidence({
  name: 'lmdb',
  async create({ clock }) {
    const store = await scratchStore({ clock })
    return { cells: store.cells, end: () => store.close() }
  },
})

test('a single node on disk continues with its evidence, also where it was killed', async () => {
  const clock = fakeClock()
  const directory = scratchDirectory()
  let store = await scratchStore({ clock, directory })
  const first = new LearningNode(clock, store.cells)
  const learned = await first.learn(clock)
  await first.shared.load()
  // Three shapes, their source, and the backend.
  await until(() => first.shared.figures.own === 5)
  // Killed: nothing is saved from here on, and its lease has not run out when its successor starts.
  await store.close()
  await first.shared.close()
  await clock.advance(2 * 60_000)
  store = await scratchStore({ clock, directory })
  const second = new LearningNode(clock, store.cells)
  await second.shared.load()
  assertSameCurve(second.curve(), learned, 0.01)
  await second.shared.close()
  assert.deepEqual(second.shared.figures.foreign, 0, 'it has adopted all of it')
  await store.close()
})
