import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readInstant } from './rows-time.ts'

const read = (text: string): number => {
  const bytes = Buffer.from(`x${text}x`)
  return readInstant(bytes, 1, bytes.length - 1)
}

const known: Record<string, number> = {
  '2026-01-01T08:00:00.000Z': Date.UTC(2026, 0, 1, 8),
  '"2026-01-01T08:00:00.000Z"': Date.UTC(2026, 0, 1, 8),
  '2026-01-01T08:00:00Z': Date.UTC(2026, 0, 1, 8),
  '2026-01-01T05:00:00.000+05:30': Date.UTC(2025, 11, 31, 23, 30),
  '"2025-12-31T00:00:00.000-05:00"': Date.UTC(2025, 11, 31, 5),
  '1850-01-01T00:00:00.000-04:56:02': Date.UTC(1850, 0, 1, 4, 56, 2),
  '1969-12-31T23:59:59.999Z': -1,
  '1767254400000': 1_767_254_400_000,
  '"1767254400000"': 1_767_254_400_000,
  '-1': -1,
  '0': 0,
}
for (const [text, instant] of Object.entries(known)) {
  test(`${text} is read`, () => assert.equal(read(text), instant))
}

const unknown = [
  '',
  '"',
  '""',
  'null',
  '-',
  '1.5',
  '1e12',
  '1767254400000000',
  '2026-01-01',
  '2026-01-01T08:00:00.000',
  '2026-01-01T08:00:00.00Z',
  '2026-01-01T08:00:00.0000Z',
  '2026-01-01 08:00:00.000Z',
  '2026-01-01T08.00.00.000Z',
  '2026-13-01T08:00:00.000Z',
  '2026-02-29T08:00:00.000Z',
  '2026-00-01T08:00:00.000Z',
  '2026-01-32T08:00:00.000Z',
  '2026-01-01T24:00:00.000Z',
  '2026-01-01T08:60:00.000Z',
  '2026-01-01T08:00:60.000Z',
  '2026-01-01T08:00:00.000Zx',
  '2026-01-01T08:00:00.000+0530',
  '2026-01-01T08:00:00.000+05:3',
  '2026-01-01T08:00:00.000*05:30',
  '2026-01-01T08:00:00.000+05:30:1',
  'x026-01-01T08:00:00.000Z',
]
for (const text of unknown) {
  test(`${text} is no instant`, () => assert.ok(Number.isNaN(read(text))))
}

const instants = fc.integer({ min: Date.UTC(0, 0, 1) - 1900 * 365 * 86_400_000, max: Date.UTC(9999, 11, 31) })

test('every instant is read as it is printed, in whatever offset', () => {
  fc.assert(
    fc.property(instants, fc.integer({ min: -18 * 60, max: 18 * 60 }), (instant, minutes) => {
      assert.equal(read(String(instant)), instant)
      assert.equal(read(new Date(instant).toISOString()), instant)
      const local = new Date(instant + minutes * 60_000).toISOString()
      if (local.length > 24) return
      const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
      const offset = `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`
      assert.equal(read(local.replace('Z', offset)), instant)
    }),
  )
})

test('a short number is read whatever stands behind it', () => {
  assert.equal(readInstant(Buffer.from('[0,1,-2,-3]'), 1, 2), 0)
})

test('damaged text is never read past its end', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const whole = readInstant(bytes, 0, bytes.length)
      const followed = readInstant(Buffer.concat([bytes, Buffer.from('00:00')]), 0, bytes.length)
      assert.ok(Object.is(whole, followed))
    }),
  )
})
