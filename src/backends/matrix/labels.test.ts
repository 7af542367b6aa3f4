import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examine } from '../prometheus/promql.ts'

function mayMerge(text: string): boolean {
  const examined = examine(text)
  assert.ok(!('bypass' in examined), `${text}: ${JSON.stringify(examined)}`)
  return examined.mayMergeSeries
}

const write = (argument: string, label = '"new"'): string =>
  `label_replace(${argument}, ${label}, "$1", "a", "(.*)")`

const closed = [
  'sum by (a, b) (x)',
  'sum(x)',
  'avg(rate(x[5m])) by (a)',
  'count_values("v", x)',
  'quantile by (a) (0.9, x)',
  'topk(5, sum by (a) (x))',
  'bottomk by (a) (5, sum by (a) (x))',
  'sum without (c) (sum by (a, c) (x))',
  '(-sum by (a) (x))',
  'histogram_quantile(0.9, sum by (le, a) (rate(x_bucket[5m])))',
  'clamp_max(sum by (a) (x), 1)',
  '100 * (1 - sum by (a) (x) / sum by (a) (y))',
  'sum by (a) (x) and y',
  'sum by (a) (x) unless on (a) y',
  'sum by (a) (x) or sum by (b) (y)',
  'x / on (a, b) y',
  'sum by (a) (x) * on (a) group_left (b) sum by (a, b) (y)',
  'sum by (a) (x) * on (a) group_right (b) sum by (a, c) (y)',
  'max_over_time(sum by (a) (x)[1h:1m])',
  'vector(1)',
  'sum by ("quoted name") (x)',
  'sum by (a) (rate(x[5m] offset 1h))',
]
for (const argument of closed) {
  test(`a label that no series of ${argument} has keeps its series apart`, () => {
    assert.equal(mayMerge(write(argument)), false)
    assert.equal(mayMerge(`label_join(${argument}, "new", "-", "a")`), false)
    assert.equal(mayMerge(write(write(argument), '"newer"')), false)
    assert.equal(mayMerge(write(write(argument))), true, 'the second one overwrites the first')
  })
}

const open = [
  'x',
  'rate(x[5m])',
  'topk(5, x)',
  'sum without (a) (x)',
  'x and sum by (a) (y)',
  'x or on (a) y',
  'sum by (a) (x) or y',
  'sum by (new) (x)',
  'count_values("new", x)',
  'x * on (a) group_left (b) y',
  'sum by (a) (x) * on (a) group_left (new) sum by (a, b) (y)',
  'sum by (a) (x) + fill(0) sum by (a) (y)',
  'absent(x{new="y"})',
  'sum by ("\\x61") (x)',
  'x / ignoring (b) y',
  // The grammar shifts `x unless y`, and multiplies it by `z`.
  'x unless y offset 5m * on (a) z',
]
for (const argument of open) {
  test(`a label that series of ${argument} may have can make them equal`, () => {
    assert.equal(mayMerge(write(argument)), true)
  })
}

test('a label whose name is not read, or the metric name, can be any', () => {
  assert.equal(mayMerge(write('sum by (a) (x)', '"\\x61"')), true)
  assert.equal(mayMerge(write('sum by (a) (x)', '"__name__"')), false)
  assert.equal(mayMerge(write('sum by (__name__) (x)', '"__name__"')), true)
})

test('without label functions nothing is made equal, however modifiers bind', () => {
  assert.equal(mayMerge('sum by (a) (x) / y offset 5m'), false)
  assert.equal(mayMerge(`${write('sum by (a) (x)')} + y offset 5m`), true)
  assert.equal(mayMerge(`${write('sum by (a) (x)')} + (y offset 5m)`), false)
})

test('long and deep expressions are open, not slow', () => {
  assert.equal(mayMerge(write(`${'sum by (a) (x) + '.repeat(200)}sum by (a) (x)`)), true)
  assert.equal(mayMerge(write(`${'abs('.repeat(60)}sum by (a) (x)${')'.repeat(60)}`)), true)
})
