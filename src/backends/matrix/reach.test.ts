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

const ahead = (text: string): number => {
  const examined = examine(text)
  assert.ok(!('bypass' in examined), `${text}: ${JSON.stringify(examined)}`)
  return examined.reach.aheadMs
}

const aheadCases: readonly (readonly [text: string, aheadMs: number, lookbackMs: number])[] = [
  ['x', 0, 5 * minute],
  ['time()', 0, 0],
  ['x offset -5m', 5 * minute, 0],
  ['x offset - 1m', minute, 4 * minute],
  ['x offset -1h', hour, 0],
  ['x offset -90', 90_000, 3.5 * minute],
  ['rate(x[10m] offset -1m)', minute, 9 * minute],
  ['increase(x[1m:] offset -1m)', minute, 5 * minute],
  ['max_over_time((x offset -10m)[5m:])', 10 * minute, 0],
  ['max_over_time(max_over_time(x[30m:1m] offset -2h)[1h:5m] offset 1h)', hour, 35 * minute],
  ['max_over_time((x offset 1h)[5m:] offset -1h)', 0, 10 * minute],
  ['x offset -5m + y offset 1h', 5 * minute, hour + 5 * minute],
  ['(x offset -5m) + (y offset 1h)', 5 * minute, hour + 5 * minute],
  ['x @ 100 offset -5m', 5 * minute, infinity],
  // The grammar shifts the sum: `a` may be shifted or not.
  ['a + b offset -1h', hour, 5 * minute],
  ['rate(a[1d]) + b offset -1h', hour, 24 * hour],
]
for (const [text, aheadMs, lookbackMs] of aheadCases) {
  test(`${text} reaches ${aheadMs} ms ahead and ${lookbackMs} ms back`, () => {
    assert.deepEqual([ahead(text), lookback(text)], [aheadMs, lookbackMs])
  })
}

/** An expression, and which data it truly reads at an instant, with the default delta: every interval, found by evaluating it. */
interface Known {
  readonly text: string
  /** Milliseconds from the instant. */
  readonly reads: readonly (readonly [from: number, to: number])[]
}

const span = fc.integer({ min: 1, max: 100_000 })
/** Positive ones look back. */
const offset = fc.option(
  fc.oneof(
    span,
    span.map((seconds) => -seconds),
  ),
  { nil: 0, freq: 2 },
)
const shifted = (text: string, seconds: number): string =>
  seconds === 0 ? text : `${text} offset ${seconds}s`
const moved = (reads: Known['reads'], ms: number): Known['reads'] =>
  reads.map(([from, to]) => [from + ms, to + ms])

/** `wrap` is put around operands: brackets keep a modifier where it belongs. */
const expressions = (wrap: (text: string) => string): fc.Arbitrary<Known> =>
  fc.letrec<{ tree: Known }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'expression' },
      offset.map((by): Known => ({ text: shifted('x', by), reads: moved([[-5 * minute, 0]], -by * 1000) })),
      fc.tuple(span, offset).map(
        ([range, by]): Known => ({
          text: `rate(x{a="b"}[${range}s${by === 0 ? ']' : `] offset ${by}s`})`,
          reads: moved([[-range * 1000, 0]], -by * 1000),
        }),
      ),
      fc.constant<Known>({ text: 'vector(2)', reads: [] }),
      fc.tuple(tie('tree'), span, offset).map(
        ([{ text, reads }, range, by]): Known => ({
          text: `max_over_time(${shifted(`(${text})[${range}s:${1 + (range % 60)}s]`, by)})`,
          // It is evaluated at instants from the beginning of the range to its end.
          reads: [...moved(reads, (-range - by) * 1000), ...moved(reads, -by * 1000)],
        }),
      ),
      tie('tree').map(({ text, reads }): Known => ({ text: `sum by (a) (abs(${text}))`, reads })),
      fc.tuple(tie('tree'), tie('tree')).map(
        ([a, b]): Known => ({
          text: `${wrap(a.text)} + ${wrap(b.text)}`,
          reads: [...a.reads, ...b.reads],
        }),
      ),
    ),
  })).tree

const furthest = ({ reads }: Known): { back: number; ahead: number } => ({
  back: Math.max(0, ...reads.map(([from]) => -from)),
  ahead: Math.max(0, ...reads.map(([, to]) => to)),
})

test('nested subqueries and offsets add up, and of several selectors the furthest counts', () => {
  fc.assert(
    fc.property(
      expressions((text) => `(${text})`),
      (known) => {
        const found = { back: lookback(known.text), ahead: ahead(known.text) }
        assert.deepEqual(found, furthest(known), known.text)
      },
    ),
    { numRuns: 1000 },
  )
})

test('without brackets it may be too far, never too near', () => {
  fc.assert(
    fc.property(
      expressions((text) => text),
      (known) => {
        const truth = furthest(known)
        assert.ok(lookback(known.text) >= truth.back, known.text)
        assert.ok(ahead(known.text) >= truth.ahead, known.text)
      },
    ),
    { numRuns: 1000 },
  )
})
