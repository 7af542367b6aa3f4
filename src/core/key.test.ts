import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { Calendar } from './calendar.ts'
import { calendarGrid, type Grid } from './grid.ts'
import { type KeyParts, keyOf } from './key.ts'

/** Digits, spaces and separators, so that parts look like the lengths and borders between them. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('1', '2', ' ', 'a', '\u0000', 'é', '😀'), maxLength: 4 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
)
const parts: fc.Arbitrary<KeyParts> = fc.record({
  backend: text,
  identity: text,
  shape: text,
  grid: fc.record({
    kind: fc.constantFrom<'point' | 'cell'>('point', 'cell'),
    step: fc.constantFrom(1, 11, 12, 1000),
    origin: fc.constantFrom(0, 1, 2, 12),
  }),
})

test('keys are equal iff all parts are', () => {
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const isSame = JSON.stringify(a) === JSON.stringify(b)
      assert.equal(keyOf(a) === keyOf(b), isSame)
      assert.equal(keyOf(a), keyOf(structuredClone(a)))
    }),
    { numRuns: 2000 },
  )
})

test('text that moves from one part to its neighbour makes another key', () => {
  fc.assert(
    fc.property(parts, text, fc.nat(8), (base, text, at) => {
      const border = Math.min(at, text.length)
      const [left, right] = [text.slice(0, border), text.slice(border)]
      // Halves of a surrogate pair are no text that a request can carry.
      fc.pre(left.isWellFormed() && right.isWellFormed() && right.length > 0)
      const moved = (a: keyof KeyParts, b: keyof KeyParts) => [
        keyOf({ ...base, [a]: text, [b]: base.shape }),
        keyOf({ ...base, [a]: left, [b]: right + base.shape }),
      ]
      for (const [one, other] of [moved('backend', 'identity'), moved('identity', 'shape')]) {
        assert.notEqual(one, other)
      }
    }),
  )
})

test('every part of the grid is part of the key, its phase included', () => {
  const grid = { kind: 'point', step: 1000, origin: 0 } as const
  const base = { backend: 'prometheus', identity: '', shape: 'up', grid }
  const grids = [grid, { ...grid, origin: 1 }, { ...grid, step: 1001 }, { ...grid, kind: 'cell' as const }]
  const keys = grids.map((grid) => keyOf({ ...base, grid }))
  assert.equal(new Set(keys).size, grids.length)
  for (const key of keys) assert.match(key, /^[\w-]{43}$/)
})

test('keys of fixed grids never change: stored buckets are found again', () => {
  const grid = { kind: 'point', step: 60_000, origin: 5 } as const
  assert.equal(
    keyOf({ backend: 'main', identity: 'team a', shape: 'up', grid }),
    '_KwWOLypwJ1Ukfi7CAe6WGshGzo4cPM1JZGcvHLjBzI',
  )
})

test('every part of a calendar is part of the key', () => {
  const calendar = { unit: 'day', count: 7, zone: 'Europe/Berlin', origin: 0 } as const
  const calendars: Calendar[] = [
    calendar,
    { ...calendar, unit: 'month' },
    { ...calendar, count: 1 },
    { ...calendar, zone: 'Europe/Paris' },
    { ...calendar, origin: 86_400_000 },
  ]
  const grids: Grid[] = calendars.map((each) => calendarGrid(each)!)
  grids.push({ kind: 'cell', step: grids[0]!.step, origin: 0 })
  const keys = grids.map((grid) => keyOf({ backend: 'druid', identity: '', shape: '{}', grid }))
  assert.equal(new Set(keys).size, grids.length)
})
