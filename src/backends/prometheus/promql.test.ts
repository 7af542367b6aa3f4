import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemClock } from '../../core/clock.ts'
import type { PromqlBypass } from '../matrix/reasons.ts'
import { createExaminer, examine } from './promql.ts'

const reasonOf = (text: string): PromqlBypass['bypass'] | 'eligible' => {
  const examined = examine(text)
  return 'bypass' in examined ? examined.bypass : 'eligible'
}

function each(expected: PromqlBypass['bypass'] | 'eligible', queries: readonly string[]): void {
  for (const query of queries) {
    test(`${expected}: ${JSON.stringify(query)}`, () => assert.equal(reasonOf(query), expected))
  }
}

/** PromQL has no semicolons, so they separate queries here. */
const split = (queries: string): readonly string[] =>
  queries.split(/[;\n]/).flatMap((text) => text.trim() || [])

each(
  'eligible',
  split(`
  up; sum(rate(http_requests_total{job="a"}[5m])) by (code); SUM BY (a) (x); 1 + 1; time(); vector(1); hour()
  day_of_month(x); absent(x); absent_over_time(x[5m]); timestamp(x); x > bool 1; -x; -1 + x; scalar(x) * y
  topk(5, x); bottomk by ("a b") (5, x); limit_ratio(0.5, x); quantile(0.9, x); count_values("v", x)
  histogram_quantile(0.9, sum by (le) (rate(x_bucket[5m]))); label_replace(x, "a", "$1", "b", "(.*)")
  a or b; a and on (x) b; a unless b; {job="x"}; abs({job="x"}); sum by (__name__) ({job="x"}); start; step + range
  x offset 5m; x offset 300; x OFFSET 1h30m; rate(x[5m] offset 1h); a + b offset 5m; x offset 5m - 10m
  x @ 100; rate(x[5m] @ 100 offset 1h); x[5m:1m]; x # offset -5m; x{a="offset -5m"}; a + fill(0) b; a </ 5
  rate({__name__="x",job="y"}[5m]); rate({"x"}[5m]); rate({'my.metric', job='y'}[5m]); rate({"__name__"="x"}[5m])
  quantile_over_time(0.9, x[5m]); quantile_over_time(scalar(a), x[5m]); start_timestamp(x)`),
)
each('eligible', [
  'x # a comment\r\n + y',
  'rate({`x`}[5m])',
  'x\r',
  'x\r+\ry',
  'x{a="#\r"}',
  'x # comment\r',
])

// Sub-queries whose inner expression has one metric name, or none.
each(
  'eligible',
  split(`
  max_over_time(rate(x[5m])[1h:1m]); avg_over_time((a / b)[30m:1m]); max_over_time(sum by (job) (x)[10m:])
  min_over_time((a > b)[1h:]); max_over_time((a and b)[1h:]); max_over_time(topk(3, x)[1h:5m] offset 1h)
  max_over_time(deriv(rate(x[1m])[5m:1m])[10m:]); sum_over_time((1 - avg by (a) (x))[1h:1m])`),
)

each(
  'unparseable_query',
  split(`
  sum(; x{; rate(x[$__interval]); x[5m; a b; foo(x); holt_winters(x[5m], 0.5, 0.5); ); min_of(1, 2)`),
)
// Prometheus ends a comment at \r and sees the offset; the grammar does not.
each('unparseable_query', ['', '  ', 'x # comment\r offset -5m', 'x # \r\r offset -5m', '"#" # \r5'])

each(
  'depends_on_range',
  split(`
  x @ start(); x @ end(); x @ END (); rate(x[5m] @ start()); max_over_time(x[1h:1m] @ end())
  start(); end(); range(); step(); x + step(); vector(range()); max_over_time((x * step())[5m:])
  rate(x[step()]); rate(x[range()]); rate(x[5m * 2]); rate(x[5m + step()]); rate(x[(5m)]); rate(x[min_of(5m, step())])
  max_over_time(x[1h:step()]); max_over_time(x[max_of(range(), 1h):1m])
  topk(scalar(a), x); quantile(time() % 1, x); topk((2), x)`),
)

each(
  'eligible',
  split(`
  x offset -5m; x offset - 5m; x OFFSET -5m; rate(x[5m] offset -1m); max_over_time(x[1h:] offset -1h)
  x offset +5m; a + b offset -5m; increase(x[1m:] offset -1m); x @ 100 offset -5m; x offset -300; x offset -0s`),
)
each(
  'unsafe_offset',
  split(`
  x offset (5m - 10m); x offset (5m) - 10m; x offset (5m); x offset -(5m); x offset inf; x offset -inf
  x offset step(); x offset range(); x offset -step(); x offset max_of(5m, 1h); x offset -0x1f; x offset -0.0001
  x offset - -5m; x offset -(5m - 10m)`),
)

each(
  'eligible',
  split(
    'sort(x); sort_desc(x); sort_by_label(x, "a"); sort_by_label_desc(x, "a", "b"); ((sort(sum by (a) (x))))',
  ),
)
each(
  'sorting',
  split(
    '1 + sort(x); sum(sort(x)); sort(sort_desc(x)); -sort(x); abs(sort(x)); sort(x) or y; sort(x) offset 5m',
  ),
)

test('says whether the outermost function sorts', () => {
  const isSorted = (text: string): unknown => (examine(text) as { isSorted?: boolean }).isSorted
  for (const text of ['sort(x)', '(sort_desc(x))']) assert.equal(isSorted(text), true, text)
  for (const text of ['x', 'topk(5, x)', 'x{a="sort(x)"}']) assert.equal(isSorted(text), false, text)
})

each(
  'unnamed_range_selector',
  split(String.raw`
  rate({job="x"}[5m]); rate({__name__=~"a|b"}[5m]); rate({__name__!="a"}[5m]); rate({"__name__"=~"a|b"}[5m])
  rate({"a b"="c"}[5m]); sum(rate({job="x"}[5m])); last_over_time({job="x"}[5m]); {job="x"}[5m:]
  max_over_time({job="x"}[1h:1m]); max_over_time(abs({job="x"})[1h:1m]); max_over_time((a or b)[1h:1m])
  max_over_time(label_replace(x, "__name__", "$1", "a", "(.*)")[1h:]); max_over_time(label_join(x, "a", "b")[1h:])
  max_over_time(sum by (__name__) (x)[1h:]); max_over_time(sum by ("__name__") (x)[1h:])
  max_over_time(sum by ("\x5f_name__") (x)[1h:]); max_over_time((a * on (x) group_left (__name__) b)[1h:])
  max_over_time(count_values("__name__", x)[1h:]); max_over_time((a > fill(0) b)[1h:])
  max_over_time(histogram_quantiles(x, "__name__", 0.5)[1h:]); rate({"\x5f_name__"="x"}[5m])`),
)
// Older versions look for equal label sets over the whole range after a unary minus, too.
each('unnamed_range_selector', ['-{job="x"}', '-(a or b)'])

each(
  'unsafe_function',
  split(`
  limitk(2, x); limitk by (a) (2, x); sum(limitk(1, x))
  info(x); info(rate(x[5m]), {a="b"}); x smoothed; rate(x[5m] smoothed); increase(x[5m] anchored)`),
)

each(
  'recent_at_modifier',
  split(`
  x @ -5; x @ +5; x @ 0x10; x @ 1_000; x @ 1e9; x @ inf; x @ nan; x @ 5m; x @ .5`),
)

test('collects metric names, sorted and once', () => {
  const text = 'b + a{x="y"} / {"c.d"} + {__name__="e"} + {__name__=~"f"} + b + {"g\\x41"} + sum(rate(h[5m]))'
  assert.deepEqual(examine(text), {
    metrics: ['a', 'b', 'c.d', 'e', 'h'],
    namesAll: false,
    reach: { instantMs: 0, rangeMs: 300_000, aheadMs: 0 },
    atTimes: [],
    mayMergeSeries: false,
    isSorted: false,
  })
})

test('knows whether it knows all names', () => {
  const namesAll = (text: string): unknown => (examine(text) as { namesAll?: boolean }).namesAll
  for (const text of ['x', 'x{a=~".*"}', '{"c.d"}', '{__name__="e"}', 'time()', 'sum(rate(h[5m])) / x'])
    assert.equal(namesAll(text), true, text)
  for (const text of [
    '{a="b"}',
    '{__name__=~"x"}',
    '{__name__!="x"}',
    'x + {a="b"}',
    '{"g\\x41"}',
    '{__name__=""}',
  ])
    assert.equal(namesAll(text), false, text)
})

test('collects the times of @ modifiers in milliseconds', () => {
  assert.deepEqual(examine('x @ 1609746000 + 3 * rate(y[5m] @ 100.5005) + 7'), {
    metrics: ['x', 'y'],
    namesAll: true,
    reach: { instantMs: Number.POSITIVE_INFINITY, rangeMs: Number.POSITIVE_INFINITY, aheadMs: 0 },
    atTimes: [1609746000000, 100501],
    mayMergeSeries: false,
    isSorted: false,
  })
})

const hostile: readonly (readonly [string, string])[] = [
  ['open brackets', '('.repeat(30_000)],
  ['nested brackets', `${'('.repeat(1500)}x${')'.repeat(1500)}`],
  ['nested calls', `${'abs('.repeat(6000)}x${')'.repeat(6000)}`],
  ['signs', `${'-'.repeat(30_000)}x`],
  ['a long sum', `${'a + '.repeat(7000)}x offset -5m`],
  ['closing brackets', ')'.repeat(30_000)],
  ['more than the longest text', 'x'.repeat(32 * 1024 + 1)],
]

for (const [what, text] of hostile) {
  test(`refuses ${what} without a crash`, () => assert.equal(reasonOf(text), 'unparseable_query'))
}

const deep: readonly (readonly [string, string])[] = [
  ['aggregations', 'sum('.repeat(3000)],
  ['aggregations, two kinds', 'sum(max('.repeat(3000)],
  ['brackets', `${'('.repeat(900)}x${')'.repeat(900)}`],
  ['operators', `${'(a or '.repeat(4000)}b${')'.repeat(4000)}`],
  ['aggregations behind brackets in a comment', `# ${')'.repeat(3000)}\n${'sum('.repeat(3000)}`],
  ['aggregations, each with a bracket in a comment', 'sum( # )\n'.repeat(3000)],
  ['aggregations behind brackets in a string', `"${')'.repeat(3000)}" + ${'sum('.repeat(3000)}`],
]

/** The shortest of some runs, so that other load on the machine does not count. It ends early where the time is short enough. */
function quickest(text: string, runs: number, enough = 0): number {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs && best >= enough; run++) {
    const began = systemClock.elapsed()
    examine(text)
    best = Math.min(best, systemClock.elapsed() - began)
  }
  return best
}

test('deep nesting costs no more than a usual query', async (t) => {
  const usual =
    'sum by (code) (rate(http_requests_total{job="a"}[5m])) / on (code) group_left () sum(rate(b[5m]))'
  const most = 25 * quickest(usual, 50)
  for (const [what, text] of deep) {
    await t.test(what, () => {
      assert.equal(reasonOf(text), 'unparseable_query')
      const took = quickest(text, 500, most)
      assert.ok(took < most, `${took} ms, where a usual query takes ${most / 25}`)
    })
  }
})

test('nesting as deep as people write it is read', () => {
  assert.equal(reasonOf(`${'abs('.repeat(50)}x${')'.repeat(50)}`), 'eligible')
})

test('reads a long list of matchers and a long regular expression', () => {
  assert.equal(reasonOf(`rate(x{${'a="b",'.repeat(4000)}}[5m])`), 'eligible')
  assert.equal(reasonOf(`x{a=~"${'foo|'.repeat(7000)}"}`), 'eligible')
})

test('never throws', () => {
  const token = fc.constantFrom(
    ...[
      'x',
      '(',
      ')',
      '{',
      '}',
      '[',
      ']',
      ':',
      '5m',
      '@',
      'offset',
      '-',
      'sum',
      'by',
      'rate',
      '"a"',
      '=',
      ',',
      '#',
      '\n',
    ],
  )
  fc.assert(fc.property(fc.array(token), (tokens) => void examine(tokens.join(' '))))
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void examine(text)))
})

test('an examiner returns the result of examine, and repeats it from memory', () => {
  const remembering = createExaminer()
  for (const text of ['rate(x[5m])', '1 + sort(x)', 'x{']) {
    assert.deepEqual(remembering(text), examine(text))
    assert.equal(remembering(text), remembering(text))
  }
})

test('an examiner evicts texts without recent use, by number and by size', () => {
  const remembering = createExaminer({ maxTexts: 4, maxCharacters: 1000 })
  const first = remembering('x0')
  for (let i = 1; i < 10; i++) {
    remembering(`x${i}`)
    assert.equal(remembering('x0'), first)
  }
  for (let i = 1; i < 10; i++) remembering(`x${i}`)
  assert.notEqual(remembering('x0'), first)
  const long = remembering(`x # ${'long'.repeat(100)}`)
  remembering(`y # ${'long'.repeat(100)}`)
  remembering(`z # ${'long'.repeat(100)}`)
  assert.notEqual(remembering(`x # ${'long'.repeat(100)}`), long)
})
