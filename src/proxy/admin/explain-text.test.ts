import assert from 'node:assert/strict'
import test from 'node:test'
import { calendarGrid, type Grid, gridThrough } from '../../core/grid.ts'
import type { ExplainedTtl } from '../../engine/explain/explain.ts'
import { explanationText } from './explain-text.ts'

const gridLine = (grid: Grid): string | undefined =>
  explanationText({ outcome: 'hit', now: 0, sentence: 'Hit.', grid }, undefined)
    .split('\n')
    .find((line) => line.startsWith('grid'))

test('an explanation shows where buckets begin', () => {
  assert.equal(gridLine(gridThrough('point', 60_000, 65_000)), 'grid     point every 1 min, phase 5 s')
  const month = { unit: 'month', count: 1, zone: 'America/New_York', origin: 0 } as const
  assert.equal(gridLine(calendarGrid(month)!), 'grid     cell every 1 month in America/New_York')
})

test('an explanation shows where buckets lapse before their TTLs are over', () => {
  const span = { from: 0, to: 60_000, buckets: 1 }
  const ttlMs = { min: 15_000, max: 40_000 }
  const lineOf = (ttl: Pick<ExplainedTtl, 'lapsesInMs'>) =>
    explanationText(
      { outcome: 'miss', now: 0, sentence: 'Miss.', ttls: [{ ...span, ttlMs, ...ttl }] },
      undefined,
    )
      .split('\n')
      .at(-1)
  const plain = 'gives    15 s … 40 s to 1970-01-01T00:00:00.000Z – 1970-01-01T00:01:00.000Z  1 bucket'
  assert.equal(lineOf({}), plain)
  assert.equal(lineOf({ lapsesInMs: ttlMs }), plain)
  assert.equal(lineOf({ lapsesInMs: { min: 10_000, max: 15_000 } }), `${plain}, lapsing in 10 s … 15 s`)
})
