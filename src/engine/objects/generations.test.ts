import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failingCells } from '../../../test/rigs/failing-cells.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { everythingSk, Generations } from './generations.ts'

test('an invalidation that could not be stored holds, also when many other tenants come meanwhile', async () => {
  const clock = fakeClock()
  const cells = failingCells(memoryCells({ clock }), () => true)
  const generations = new Generations({ cells, clock, noticeMs: 1000 })
  const before = clock.now()
  await clock.advance(60_000)
  await assert.rejects(generations.invalidate('a', everythingSk))
  for (let i = 0; i < 10_001; i++) await generations.look(`tenant ${i}`)
  assert.ok(generations.newest('a') > before)
})
