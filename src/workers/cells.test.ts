/** The cells of the main thread keep their laws when a thread reaches them by messages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cells } from '../stores/cells.ts'
import { memoryCells } from '../stores/memory/cells.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { testCells } from '../testing/test-store.ts'
import { RemoteCells, runOnCells } from './cells.ts'

/** Messages are copies, and take a moment each way. */
function through(cells: Cells | undefined): Cells {
  const remote = new RemoteCells((message) => {
    void runOnCells(cells, structuredClone(message)).then((reply) => remote.receive(structuredClone(reply)))
  })
  const capabilities = { shared: true, durable: true, maxValueBytes: 64 * 1024 }
  return remote.of('shared', { name: 'remote', ...(cells ?? { capabilities }) })
}

testCells({ name: 'through messages', create: ({ clock }) => ({ cells: through(memoryCells({ clock })) }) })

test('a store without cells, or one that fails, is a failure of the operation', async () => {
  await assert.rejects(async () => through(undefined).get({ pk: 'a', sk: 'b' }, 1), /no cells/)
  const failing = Object.assign(memoryCells({ clock: fakeClock() }), {
    get(): never {
      throw new Error('the disk is gone')
    },
  })
  await assert.rejects(async () => through(failing).get({ pk: 'a', sk: 'b' }, 1), /the disk is gone/)
})
