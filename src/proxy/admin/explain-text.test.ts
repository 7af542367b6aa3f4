import assert from 'node:assert/strict'
import test from 'node:test'
import { calendarGrid, type Grid, gridThrough } from '../../core/grid.ts'
import { explanationText } from './explain-text.ts'

const gridLine = (grid: Grid): string | undefined =>
  explanationText({ outcome: 'hit', now: 0, sentence: 'Hit.', grid }, undefined)
    .split('\n')
    .find((line) => line.startsWith('grid'))

test('an explanation says where buckets begin', () => {
  assert.equal(gridLine(gridThrough('point', 60_000, 65_000)), 'grid     point every 1 min, phase 5 s')
  const month = { unit: 'month', count: 1, zone: 'America/New_York', origin: 0 } as const
  assert.equal(gridLine(calendarGrid(month)!), 'grid     cell every 1 month in America/New_York')
})
