import { sharedRows } from '../../../test/rigs/memory-engines.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { asynchronous } from '../../testing/asynchronous.ts'
import { testObjects } from '../../testing/test-objects.ts'

testObjects({ name: 'memory', create: ({ clock }) => ({ cells: memoryCells({ clock }) }) })

testObjects({ name: 'rows', create: ({ clock }) => ({ cells: sharedRows(86_400_000)(clock).cells! }) })

testObjects({
  name: 'rows behind a network',
  endsByClock: true,
  create: ({ clock }) => ({
    cells: asynchronous(sharedRows(86_400_000)(clock), { clock, maxDelayMs: 20 }).cells!,
  }),
})
