import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { examine } from '../prometheus/promql.ts'
import { lookbackOf } from './reach.ts'

const [minute, hour] = [60_000, 3_600_000]
const infinity = Number.POSITIVE_INFINITY

function lookback(text: string, delta?: string): number {
  const examined = examine(text)
  assert.ok(!('bypass' in examined), `${text}: ${JSON.stringify(examined)}`)
  return lookbackOf(examined.reach, delta)
}

const cases: readonly (readonly [text: string, ms: number])[] = [
  ['x', 5 * minute],
  ['time()', 0],
  ['vector(1) + 2', 0],
  ['x offset 1h', hour + 5 * minute],
  ['x offset 1h30m', 1.5 * hour + 5 * minute],
  ['rate(x[1m])', minute],
  ['rate(x[90])', 90_000],
  ['rate(x[1m] offset 1h)', hour + minute],
  ['rate(x[1m]) + y', 5 * minute],
  ['rate(x[1h]) + y', hour],
  ['sum by (a) (rate(x[10m])) / on(a) y offset 1d', 24 * hour + 10 * minute],
  ['max_over_time(rate(x[5m])[1h:1m])', hour + 5 * minute],
  ['max_over_time(x[1h:1m])', hour + 5 * minute],
  ['max_over_time(max_over_time(x[30m:1m] offset 2h)[1h:5m] offset 1d)', 27.5 * hour + 5 * minute],
  ['max_over_time((x offset 5m)[10m:])', 20 * minute],
  // Too far, because the grammar shifts the whole sum; never too near.
  ['a + b offset 1h', hour + 5 * minute],
  ['rate(a[1d]) + b offset 1h', 25 * hour],
  ['x @ 100', infinity],
  ['x @ 100 offset 5m', infinity],
  ['rate(x[5m] @ 100) + y', infinity],
  ['max_over_time((x @ 100)[5m:1m])', infinity],
  // Durations that are read by the server alone.
  ['rate(x[0x1f])', infinity],
  ['rate(x[0.0001])', infinity],
]
for (const [text, ms] of cases) test(`${text} reaches ${ms} ms back`, () => assert.equal(lookback(text), ms))

test('a longer lookback delta counts, a shorter one does not, and an unreadable one is any', () => {
  assert.equal(lookback('x', '1h'), hour)
  assert.equal(lookback('x', '600'), 10 * minute)
  assert.equal(lookback('x', '1m'), 5 * minute)
  assert.equal(lookback('x', ''), 5 * minute)
  assert.equal(lookback('x', 'soon'), infinity)
  assert.equal(lookback('rate(x[1m])', 'soon'), minute, 'only instant selectors look back')
  assert.equal(lookback('time()', '1h'), 0)
  assert.equal(lookback('max_over_time(x[1h:1m] offset 1h)', '1h'), 3 * hour)
})

/** An expression and how far it truly looks back, with the default delta. */
interface Known {
  readonly text: string
  readonly ms: number
}

const span = fc.integer({ min: 1, max: 100_000 })
const offset = fc.option(span, { nil: 0, freq: 2 })
const shifted = (text: string, seconds: number): string =>
  seconds === 0 ? text : `${text} offset ${seconds}s`

/** `wrap` is put around operands: brackets keep a modifier where it belongs. */
const expressions = (wrap: (text: string) => string): fc.Arbitrary<Known> =>
  fc.letrec<{ tree: Known }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'expression' },
      offset.map((by) => ({ text: shifted('x', by), ms: 5 * minute + by * 1000 })),
      fc.tuple(span, offset).map(([range, by]) => ({
        text: `rate(x{a="b"}[${range}s${by === 0 ? ']' : `] offset ${by}s`})`,
        ms: (range + by) * 1000,
      })),
      fc.constant({ text: 'vector(2)', ms: 0 }),
      fc.tuple(tie('tree'), span, offset).map(([{ text, ms }, range, by]) => ({
        text: `max_over_time(${shifted(`(${text})[${range}s:${1 + (range % 60)}s]`, by)})`,
        // A constant reads no data, however often it is evaluated.
        ms: ms === 0 ? 0 : ms + (range + by) * 1000,
      })),
      tie('tree').map(({ text, ms }) => ({ text: `sum by (a) (abs(${text}))`, ms })),
      fc.tuple(tie('tree'), tie('tree')).map(([a, b]) => ({
        text: `${wrap(a.text)} + ${wrap(b.text)}`,
        ms: Math.max(a.ms, b.ms),
      })),
    ),
  })).tree

test('nested subqueries and offsets add up, and of several selectors the furthest counts', () => {
  fc.assert(
    fc.property(
      expressions((text) => `(${text})`),
      ({ text, ms }) => assert.equal(lookback(text), ms, text),
    ),
    { numRuns: 1000 },
  )
})

test('without brackets it may be too far, never too near', () => {
  fc.assert(
    fc.property(
      expressions((text) => text),
      ({ text, ms }) => assert.ok(lookback(text) >= ms, text),
    ),
    { numRuns: 1000 },
  )
})
