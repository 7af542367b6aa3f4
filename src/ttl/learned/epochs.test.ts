import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lapseAt, periodOf, phaseOf, roundedTtl } from './epochs.ts'

test('buckets lapse at the end of their period', () => {
  const vectors: [fetchedAt: number, ttl: number, quantumMs: number, phaseMs: number, lapse: number][] = [
    [1000, 35, 10, 0, 1020],
    [1000, 100, 10, 0, 1040],
    [1000, 100, 10, 7, 1047],
    [1279, 1300, 10, 0, 1280],
    [1281, 1300, 10, 0, 2560],
    [1000, 15, 10, 0, 1015],
    [1000, 1739.6, 13.59, 0, 1739.52],
  ]
  for (const [fetchedAt, ttl, quantumMs, phaseMs, lapse] of vectors) {
    const off = Math.abs(lapseAt(fetchedAt, ttl, { quantumMs, phaseMs }) - lapse)
    assert.ok(off < 1e-8, `${fetchedAt} + ${ttl}`)
  }
})

const instants = fc.integer({ min: 1.7e12, max: 1.8e12 })
const ttls = fc.integer({ min: 1, max: 100 * 86_400_000 })
const steps = fc.integer({ min: 1, max: 400 * 86_400_000 })
const grids = steps.chain((step) => fc.nat({ max: step - 1 }).map((origin) => ({ step, origin })))
const phases = fc.tuple(fc.string(), grids).map(([key, grid]) => phaseOf(key, grid))

test('a bucket lapses after its fetch and not after its TTL', () => {
  fc.assert(
    fc.property(instants, ttls, phases, (fetchedAt, ttl, phaseMs) => {
      const lapse = lapseAt(fetchedAt, ttl, { quantumMs: 10_000, phaseMs })
      assert.ok(lapse > fetchedAt && lapse <= fetchedAt + ttl)
    }),
  )
})

test('whenever a long period ends, all shorter ones end too', () => {
  fc.assert(
    fc.property(instants, ttls, ttls, phases, (fetchedAt, one, other, phaseMs) => {
      const epochs = { quantumMs: 10_000, phaseMs }
      const [short, long] = [Math.max(20_000, Math.min(one, other)), Math.max(20_000, one, other)]
      const end = lapseAt(fetchedAt, long, epochs)
      assert.equal(lapseAt(end - 1, short, epochs), end)
    }),
  )
})

test('a period that divides the step ends where buckets begin', () => {
  fc.assert(
    fc.property(instants, fc.string(), fc.nat({ max: 59_999 }), (fetchedAt, key, origin) => {
      const phaseMs = phaseOf(key, { step: 60_000, origin })
      const begin = Math.ceil((fetchedAt + 1 - origin) / 60_000) * 60_000 + origin
      assert.equal(lapseAt(begin - 1, 20_000, { quantumMs: 10_000, phaseMs }), begin)
    }),
  )
})

test('the phases of shapes on one grid are spread over the longest periods', () => {
  for (const step of [1000, 60_000, 3_600_000]) {
    const slots = new Set<number>()
    for (let i = 0; i < 1000; i++) {
      slots.add(Math.floor((phaseOf(`shape ${i}`, { step, origin: 0 }) % 81_920_000) / 8_192_000))
    }
    assert.equal(slots.size, 10, `step ${step}`)
  }
})

test('a period is the largest multiple by a power of two that fits', () => {
  fc.assert(
    fc.property(ttls, (ttl) => {
      const period = periodOf(ttl, 10_000)
      assert.ok(ttl < 20_000 ? period === ttl : period <= ttl && period * 2 > ttl)
    }),
  )
  for (let power = 1; power < 30; power++)
    assert.equal(periodOf(10_000 * 2 ** power, 10_000), 10_000 * 2 ** power)
})

test('TTLs that are too short for periods are rounded to the floor or a doubling of it', () => {
  const vectors: [ttl: number, floor: number, rounded: number][] = [
    [3000, 5000, 5000],
    [5000, 5000, 5000],
    [9999, 5000, 5000],
    [10_000, 5000, 5000],
    [10_020, 5000, 10_020],
    [19_999, 5000, 10_020],
    [20_000, 5000, 20_000],
    [19_999, 1000, 16_032],
    [15_000, 12_000, 12_000],
    [50_000, 30_000, 40_000],
  ]
  for (const [ttl, floor, rounded] of vectors)
    assert.equal(roundedTtl(ttl, floor), rounded, `${ttl} above ${floor}`)
})

test('a rounded TTL is not longer, and more than half as long or the floor', () => {
  fc.assert(
    fc.property(ttls, fc.integer({ min: 1, max: 60_000 }), (ttl, floor) => {
      const rounded = roundedTtl(Math.max(ttl, floor), floor)
      assert.ok(rounded <= Math.max(ttl, floor) && (rounded * 2.01 > ttl || rounded === floor))
    }),
  )
})
